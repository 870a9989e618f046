"""For all tests: fixed Hypothesis examples, and the markers that `make test-fast` selects by.

`selection.py` lists the tests that run compiled kernels, open a browser or take seconds. A test
that compiles a kernel and is not listed fails here, so that the fast selection stays fast. Listed
tests run last: until then no kernel is compiled in this process, and an unlisted one is noticed.

What was collected stays until the end, so the garbage collector need not look through it again. It
also looks for garbage less often: where kernels are compiled, that took a twentieth of the time.
"""

from __future__ import annotations

import gc
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from numba.core.dispatcher import Dispatcher

from tests.selection import COMPILES, LONGEST, markers

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import Scheduling

settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")

_running: list[pytest.Item] = []
_compile = Dispatcher.compile


def _guarded_compile(self: Any, signature: Any) -> Any:
    if _running and not _running[-1].get_closest_marker(COMPILES):
        pytest.fail(
            f"{_running[-1].nodeid} runs a compiled kernel: add it to {COMPILES!r} in "
            "tests/selection.py, so that `make test-fast` leaves it out",
            pytrace=False,
        )
    return _compile(self, signature)


pytest.MonkeyPatch().setattr(Dispatcher, "compile", _guarded_compile)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the folder into which `make page-pictures` writes pictures of the service's page."""
    parser.addoption("--pictures", metavar="FOLDER", help="write pictures of the service's page")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the listed tests, and move those that compile kernels to the end.

    Of a file whose tests compile kernels, one worker runs all: side by side, two workers would
    compile the same kernel at once. Groups that one worker runs come first, the longest before all
    others, so that it does not run alone at the end.
    """
    for item in items:
        for name in markers(item.nodeid):
            item.add_marker(name)
        compiles = item.get_closest_marker(COMPILES) is not None
        if compiles and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))
    items.sort(key=_place)


def _place(item: pytest.Item) -> tuple[bool, bool, int]:
    group = item.get_closest_marker("xdist_group")
    name = group.args[0] if group else ""
    return (
        item.get_closest_marker(COMPILES) is not None,
        group is None,
        LONGEST.index(name) if name in LONGEST else len(LONGEST),
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling | None:
    """Hand out all cases of a test at once, where groups are handed out whole."""
    if config.getvalue("dist") != "loadgroup":
        return None
    from tests.scheduling import CasesTogether  # xdist is not installed by `make test-lowest`

    return CasesTogether(config, log)


@pytest.fixture(scope="module")
def one_browser() -> Iterator[None]:
    """One browser for the tests of a file. Each page has a context, so a memory, of its own."""
    from tests.browser import launched  # Playwright is of use to few tests

    with launched():
        yield


@contextmanager
def _auto_is_python() -> Iterator[None]:
    from handful.simulation import execution
    from handful.simulation.engines import choose
    from handful.simulation.plan import Cell

    def chosen(planned: Cell, engine: str) -> str:
        return choose(planned, "python" if engine == "auto" else engine)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execution, "choose", chosen)
        yield


@pytest.fixture(scope="module")
def auto_is_python() -> Iterator[None]:
    """The python engine where none is asked for, from here to the end of the file.

    Nothing has to be compiled where no kernel is tested.
    """
    with _auto_is_python():
        yield


@pytest.fixture
def auto_is_python_here() -> Iterator[None]:
    """The same for one test."""
    with _auto_is_python():
        yield


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Leave more than ten thousand tests out of every later collection of garbage."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Remember which test is running, from its set-up to its end."""
    _running.append(item)
    try:
        return (yield)
    finally:
        _running.pop()
