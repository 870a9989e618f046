"""Without the package that an adapter is for: a message that says what to install."""

from __future__ import annotations

import subprocess
import sys

from tests.pages import install_lines

PACKAGES = {
    "gymnasium": "gymnasium", "openfeature": "openfeature-sdk", "optuna": "optuna",
    "river": "river",
}  # fmt: skip
CODE = """
import importlib, sys
import handful.adapters
print(sorted(n for n in sys.modules if n.partition(".")[0] not in {*sys.stdlib_module_names, *B}))
class Gone:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in PACKAGES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Gone)
for name in PACKAGES:
    try:
        importlib.import_module("handful.adapters." + name)
    except handful.errors.MissingExtraError as error:
        print(error)
"""


def test_an_adapter_without_its_package_says_what_to_install() -> None:
    code = "import sys\nB = {n.partition('.')[0] for n in sys.modules} | {'handful'}\n"
    ran = subprocess.run(
        [sys.executable, "-c", f"{code}PACKAGES = {list(PACKAGES)}{CODE}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded, *messages = ran.stdout.splitlines()
    assert loaded == "[]"
    assert len(messages) == 4
    for (module, package), message in zip(PACKAGES.items(), messages, strict=True):
        assert f" needs {package}, which is not installed: " in message
        assert f"pip install 'handful[{module}]'" in message
        assert f"pip install '.[{module}]'" in install_lines()
