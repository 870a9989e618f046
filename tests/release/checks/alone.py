"""An extra alone: its packages are there, and every module can be imported or says what it lacks.

Given the packages that the extra declares. A module of handful that cannot be imported must name a
package that is not installed here.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import warnings
from importlib.metadata import distribution, packages_distributions
from importlib.util import find_spec
from pathlib import Path

PARTLY = "benchmarks"
"""What `handful bench` imports where the repository is."""


def installed_handful() -> Path:
    """Return the folder of handful; it must be that of this environment, not a source tree."""
    import handful

    folder = Path(handful.__file__).parent
    assert folder.is_relative_to(sys.prefix), f"{folder} is not in the environment {sys.prefix}"
    assert handful.__version__ == distribution("handful").version
    return folder


def lacks_by(name: str) -> str | None:
    """Return the package for want of which a module cannot be imported; None if it can."""
    lacking = None
    try:
        importlib.import_module(name)
    except ImportError as error:
        lacking = error
    return None if lacking is None else package_of(name, lacking)


def package_of(name: str, lacking: ImportError) -> str:
    """Return the package that an error is about; it must be one that is not there."""
    package = str(lacking.name or "")
    if not package:  # MissingExtraError names it in its message alone
        package = str(lacking).partition(" needs ")[2].partition(",")[0]
    package = package.partition(".")[0]
    assert package not in ("", "handful"), f"{name}: {lacking}"
    is_there = package != PARTLY and find_spec(package) is not None
    assert not is_there, f"{name}, although {package} is there: {lacking}"
    return package


def main() -> None:
    """Check this environment."""
    packages = sys.argv[1:]
    warnings.simplefilter("error")
    folder = installed_handful()
    warnings.simplefilter("default")
    warnings.filterwarnings("error", module=r"handful(\.|$)")
    for package in packages:
        distribution(package)
    names = [info.name for info in pkgutil.walk_packages([str(folder)], "handful.", _ignore)]
    lacking = {name: lack for name in names if (lack := lacks_by(name)) is not None}
    if not packages:
        third = set(packages_distributions()) - {"handful", "pip", "setuptools", "_distutils_hack"}
        third -= {"pkg_resources"}  # Python 3.11 puts it beside pip
        assert not third, f"installed with handful: {sorted(third)}"
    print(f"{len(names) - len(lacking)} of {len(names)} modules; {len(set(lacking.values()))} lack")


def _ignore(name: str) -> None:
    """Go on where a package cannot be imported: `lacks_by` says why."""


if __name__ == "__main__":
    main()
