"""The choice of the engine for a cell. `kinds.py` says what engines can do for a kind of policy."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

from handful.errors import MissingExtraError, SettingError
from handful.simulation.plan import Cell, check_engine


def choose(planned: Cell, engine: str) -> str:
    """Return the engine that runs the cell: the one asked for, if it can."""
    check_engine(engine)
    if engine == "python":
        return engine
    try:
        import_module("handful.simulation.compiled")
    except ImportError as error:
        raise MissingExtraError(
            f"engine={engine!r} (engine='python' runs without it)", str(error.name), "sim"
        ) from None
    if engine == "skip" and (why := cannot_skip(planned)):
        raise SettingError(
            f"the skipping engine cannot run {planned.policy.name} on {planned.world}: "
            f"{why}; engine 'auto' takes the fastest that can"
        )
    if engine == "compiled" and not supports(planned):
        raise SettingError(
            f"the compiled engine cannot run {planned.policy.name} on {planned.world}: "
            "use engine='python'"
        )
    if engine != "auto":
        return engine
    if gains_by_skipping(planned):
        return "skip"
    return "compiled" if supports(planned) else "python"


def as_run(cell: Cell) -> Cell:
    """Return the cell with the policy that makes its choices: IMED for Race with M >= K."""
    policy = cell.policy.stands_for(cell.memory, cell.instance.n_arms)
    return cell if policy is cell.policy else replace(cell, policy=policy, known_as=cell.id)


def supports(cell: Cell) -> bool:
    """Return whether the compiled engine can run the cell."""
    from handful.simulation.kinds import is_its_functions, kind_for

    if not is_its_functions(cell.policy):
        return False
    cell = as_run(cell)
    return kind_for(cell).supports(cell)


def cannot_skip(cell: Cell) -> str:
    """Return why the skipping engine cannot run the cell; empty if it can."""
    from handful.simulation.kinds import kind_for

    if cell.tape:
        return "a tape has a reward for every pull"
    if not supports(cell):
        return "only the python engine can"
    cell = as_run(cell)
    return kind_for(cell).cannot_skip(cell)


def supports_skipping(cell: Cell) -> bool:
    """Return whether the skipping engine can run the cell."""
    return not cannot_skip(cell)


def gains_by_skipping(cell: Cell) -> bool:
    """Return whether the skipping engine can run the cell and is the faster one."""
    from handful.simulation.kinds import kind_for

    if not supports_skipping(cell):
        return False
    cell = as_run(cell)
    return kind_for(cell).gains_by_skipping(cell)
