"""Results as frames of pandas."""

from __future__ import annotations

import warnings

import handful


def main() -> None:
    """Check this environment."""
    warnings.filterwarnings("error", module=r"handful(\.|$)")
    result = handful.simulate("ucb-m", "linear:10", memory=2, horizon=500, runs=3, engine="python")
    frame = result.to_pandas()
    assert list(frame.columns) == result.to_polars().columns
    assert frame["regret"].tolist() == result.to_polars()["regret"].to_list()
    print(f"a frame of {len(frame)} rows")


if __name__ == "__main__":
    main()
