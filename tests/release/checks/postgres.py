"""The service on PostgreSQL, at the address that is given; without one, its imports."""

from __future__ import annotations

import sys

from tests.release.checks.serve import use


def main() -> None:
    """Check this environment."""
    from handful.storage.postgres import PostgresStorage

    if not sys.argv[1:]:
        print(f"{PostgresStorage.__name__} is there; no PostgreSQL to try it with")
        return
    use(sys.argv[1])
    print("decided, rewarded after a restart, examined, in PostgreSQL")


if __name__ == "__main__":
    main()
