"""Every extra together: the checks of single extras, and every example of the README."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.pages import ROOT, blocks, run_python
from tests.release.checks import client, cluster, pandas, serve
from tests.release.checks.sim import handful_says


def main() -> None:
    """Check this environment."""
    examples = blocks((ROOT / "README.md").read_text("utf-8"), "python")
    for block in examples:
        with tempfile.TemporaryDirectory() as folder:
            printed = run_python(block.text, Path(folder))
        assert block.shows(printed), f"README.md:{block.line} prints:\n{printed}"
    for check in (pandas, serve, client, cluster):
        check.main()
    assert "all is well" in handful_says("doctor")
    print(f"{len(examples)} examples of README.md, doctor, and what single extras do")


if __name__ == "__main__":
    main()
