"""A flag of the service, and its reward."""

from __future__ import annotations

import tempfile
from pathlib import Path

from openfeature import api
from openfeature.evaluation_context import EvaluationContext
from openfeature.track import TrackingEventDetails

from handful.adapters.openfeature import HandfulProvider
from handful.client import Client
from tests.release.checks.serve import served


def main() -> None:
    """Check this environment."""
    with (
        tempfile.TemporaryDirectory() as folder,
        served(str(Path(folder, "store.db"))) as address,
        Client(address) as service,
    ):
        service.create_bandit("front", memory=2, arms=["true", "false"])
        api.set_provider_and_wait(HandfulProvider(service))
        flags, visitor = api.get_client(), EvaluationContext(targeting_key="a")
        details = flags.get_boolean_details("front", True, visitor)
        assert details.error_code is None, details
        flags.track("front", visitor, TrackingEventDetails(1.0))
        assert service.bandit("front").rewards == 1
        api.shutdown()
    print("a flag and its reward")


if __name__ == "__main__":
    main()
