"""The `compiled` and `skip` engines: whole runs as Numba kernels, spread over threads.

`compiled` makes exactly the choices of the reference: same policy seeds, same reward streams, same
tape. `skip` has the same distribution and simulates individually only the pulls that can change a
decision.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from pickle import UnpicklingError
from shutil import rmtree
from threading import RLock
from typing import Any

import numpy as np

from handful.compiling.jit import CompileError, cache_folder, is_cached, is_cold
from handful.core.rng import generator_from
from handful.errors import EngineError
from handful.policies.given import seed_word
from handful.policies.phased import PhasedPolicy
from handful.policies.schedule import rounds, schedule
from handful.rules.monotonicity import check_monotone
from handful.simulation import reference
from handful.simulation.engines import as_run
from handful.simulation.kernels.block import Block
from handful.simulation.kernels.lanes import WIDTH
from handful.simulation.kernels.world import Batch
from handful.simulation.kinds import forget_kernels, kind_for, round_shape
from handful.simulation.mistakes import not_compiled
from handful.simulation.outcome import Outcome, Stays, joined
from handful.simulation.plan import FEW_ARMS, Cell
from handful.simulation.seeds import (
    churn_stream,
    delay_stream,
    drift_stream,
    policy_seed,
    reward_stream,
    tape_key,
    world_key,
)

_BATCH = 256
"""Runs whose arrays exist at the same time."""
_QUICK = 10**5
"""Pulls that are done before anyone could interrupt them; more run in threads."""
_CHECKED_PULLS = 300
_CHECKED_LOOKS = 30_000
_CHECKED_MEMORY = 4096
_warming = RLock()
"""Kernels are made by one thread at a time: the functions that Numba knows are global."""
_WORTH_A_VECTOR = 6
"""Fewer runs than this are faster one by one than in a block with lanes to spare."""


def warm_up(cell: Cell, skipping: bool = False) -> None:
    """Compile the cell's kernel, or load it, and check its first pulls against a slow twin.

    The check costs milliseconds, some hundred at most. It is there because a wrong kernel is
    silent: a rule of one's own may mean something else in Numba than in Python. The twin is the
    policy itself or, for a skipping kernel, which makes other choices, its own source run by
    Python. A block of runs is compared with a run alone. Only the first pulls are seen; what
    differs later, such as an integer that overflows, is for `--engine python` to find.
    """
    with _warming:
        _warm_up(cell, skipping)


def _warm_up(cell: Cell, skipping: bool) -> None:
    cell = as_run(cell)
    if issubclass(cell.policy, PhasedPolicy) and cell.policy.rule.monotone:
        check_monotone(cell.policy.rule)
    pulls = min(_CHECKED_PULLS, max(10, _CHECKED_LOOKS // kind_for(cell).slots(cell)))
    tiny = replace(cell, horizon=min(cell.horizon, pulls), runs=1, first_run=0, record=False)
    if tiny.traffic is not None:
        tiny = replace(tiny, traffic=tiny.traffic.shortened(tiny.horizon))
    # A skipping kernel skips only between two times of the grid.
    every = tiny.horizon if skipping else 1
    grid = sorted({*range(every, tiny.horizon + 1, every), max(1, tiny.horizon // 10)})
    slow = None
    if cell.memory <= _CHECKED_MEMORY or cell.policy.unbounded:
        slow = _interpreted(tiny, grid) if skipping else reference.simulate_run(tiny, 0, grid)
    try:
        fast = _loaded(tiny, grid, skipping)
    except CompileError as error:
        raise EngineError(not_compiled(cell.policy.name, str(error))) from error
    right = slow is None or _same(fast, slow)
    if not skipping and kind_for(cell).most_lanes(cell, skipping) > 1:
        # In a block of runs and without stops, other loops do the work.
        block = simulate_runs(replace(tiny, runs=WIDTH), [tiny.horizon], n_jobs=1)
        right = right and block.regret[0, -1] == fast.regret[0, -1]
    if not right:
        raise EngineError(
            f"the compiled kernel of {cell.policy.name} does not make the choices of the policy "
            "itself. Either the rule means something else in Numba than in Python (integers "
            "overflow, names outside the function are frozen when it is first compiled), and "
            "engine='python' runs it as it is; or a cached kernel is damaged: delete "
            f"{cache_folder()}"
        )


def _same(fast: Outcome, slow: Outcome) -> bool:
    if fast.pulls is not None and slow.pulls is not None:
        if fast.pulls.tolist() != slow.pulls.tolist():
            return False
    return bool((fast.regret == slow.regret).all())


def must_compile(cell: Cell, skipping: bool = False) -> bool:
    """Return whether the cell's kernel has to be compiled, which takes seconds."""
    return is_cold(_kernel(as_run(cell), skipping))


def compiles_once(cell: Cell) -> bool:
    """Return whether the cell's kernel is cached; one of functions without a source is not."""
    return is_cached(_kernel(as_run(cell), skipping=False))


def _kernel(cell: Cell, skipping: bool) -> Any:
    kind = kind_for(cell)
    return kind.kernel(cell, kind.build(cell, skipping))


def _interpreted(tiny: Cell, grid: list[int]) -> Outcome:
    """Simulate a run by the source of a skipping kernel."""
    batch = _batch(tiny, grid, range(1))
    with np.errstate(over="ignore"):  # 64-bit words wrap around
        plain = _kernel(tiny, skipping=True).py_func
        kind_for(tiny).start(tiny, plain, 1)(Block(0, 1, 1), batch)
    return _outcome(tiny, batch, 1)


def _loaded(tiny: Cell, grid: list[int], skipping: bool) -> Outcome:
    """Return a first run; a cached kernel that cannot be loaded is deleted and compiled again."""
    try:
        return simulate_runs(tiny, grid, n_jobs=1, skipping=skipping)
    except (UnpicklingError, EOFError, OSError, ValueError, LookupError, AttributeError):
        rmtree(cache_folder(), ignore_errors=True)
        forget_kernels()
        return simulate_runs(tiny, grid, n_jobs=1, skipping=skipping)


def simulate_runs(
    cell: Cell,
    grid: list[int],
    n_jobs: int | None = None,
    progress: Callable[[int], None] | None = None,
    skipping: bool = False,
) -> Outcome:
    """Simulate all runs of a cell; call `progress` now and then with the pulls done so far."""
    cell = as_run(cell)
    workers = min(n_jobs or os.cpu_count() or 1, cell.runs)

    def batches() -> Iterator[Outcome]:
        for first in range(0, cell.runs, _BATCH):
            runs = cell.run_numbers[first : first + _BATCH]
            batch = _batch(cell, grid, runs)
            done = first * cell.horizon
            _run_batch(cell, batch, len(runs), workers, progress, done, skipping)
            yield _outcome(cell, batch, len(runs))

    return joined(batches())


def _run_batch(
    cell: Cell,
    batch: Batch,
    runs: int,
    workers: int,
    progress: Callable[[int], None] | None,
    done: int,
    skipping: bool,
) -> None:
    counters = np.zeros((workers, 1), dtype=np.int64)
    kind = kind_for(cell)
    kernel = _kernel(cell, skipping)
    blocks = _blocks(runs, workers, kind.most_lanes(cell, skipping))
    lanes = max(block.lanes for block in blocks)

    def work(worker: int, todo: Iterator[Block]) -> None:
        run = kind.start(cell, kernel, lanes)
        mine = batch._replace(progress=counters[worker])
        for block in todo:
            run(block, mine)

    if cell.horizon * runs <= _QUICK and progress is None:
        work(0, iter(blocks))
        return
    # Threads take the next block from one shared iterator; `next` on a list iterator is atomic.
    todo = iter(blocks)
    with ThreadPoolExecutor(workers) as pool:
        futures: set[Future[None]] = {pool.submit(work, w, todo) for w in range(workers)}
        try:
            while futures:
                finished, futures = wait(futures, timeout=0.1, return_when=FIRST_COMPLETED)
                for future in finished:
                    future.result()
                if progress is not None:
                    progress(done + int(counters.sum()))
        except BaseException:
            # An interrupt or an error: tell the kernels, drain the queue, then let it through.
            batch.stop[0] = 1
            for _ in todo:
                pass
            raise


def _blocks(runs: int, workers: int, most: int) -> list[Block]:
    """Return all runs in blocks of whole vectors, none beyond a fair share; few runs one by one.

    What a run gives does not depend on the block that it is in.
    """
    share = -(-runs // workers)
    if most == 1 or share < _WORTH_A_VECTOR:
        return [Block(run, 1, 1) for run in range(runs)]
    size = min(most, -(-share // WIDTH) * WIDTH)
    blocks = []
    for first in range(0, runs, size):
        used = min(size, runs - first)
        blocks.append(Block(first, used, -(-used // WIDTH) * WIDTH))
    return blocks


def _batch(cell: Cell, grid: list[int], runs: range) -> Batch:
    world = cell.instance
    n = len(runs)
    keys = [seed_word(policy_seed(cell.seed, cell.id, run)) for run in runs]
    stays = _stays(cell) if cell.record else 0
    slots = kind_for(cell).slots(cell)
    return Batch(
        choices=np.array([generator_from(key) for key in keys], dtype=np.uint64),
        rewards=np.array([reward_stream(cell.seed, cell.id, run) for run in runs], dtype=np.uint64),
        order=np.array(keys, dtype=np.uint64),
        arms=np.array(
            [world_key(cell.seed, cell.id, run, cell.tape) for run in runs], dtype=np.uint64
        ),
        tape=np.array([tape_key(cell.seed, run) for run in runs], dtype=np.uint64),
        on_tape=cell.tape,
        grid=np.array(grid, dtype=np.int64),
        regret=np.zeros((n, len(grid))),
        pulls=np.zeros((n, world.n_arms if world.n_arms <= FEW_ARMS else 0), dtype=np.int64),
        stay_arms=np.full((n, stays, slots), -1, dtype=np.int64),
        stay_pulls=np.zeros((n, stays, slots), dtype=np.int64),
        stay_start=np.zeros((n, stays), dtype=np.int64),
        stay_recommended=np.zeros((n, stays), dtype=np.int64),
        progress=np.zeros(1, dtype=np.int64),
        stop=np.zeros(1, dtype=np.int64),
        delays=_streams(cell, delay_stream, runs),
        drifts=_streams(cell, drift_stream, runs),
        churns=_streams(cell, churn_stream, runs),
    )


def _streams(cell: Cell, stream: Callable[[int, str, int, bool], list[int]], runs: range) -> Any:
    """Return a generator of traffic for each run; none without traffic."""
    numbers = runs if cell.traffic is not None else range(0)
    found = [stream(cell.seed, cell.id, run, cell.tape) for run in numbers]
    return np.array(found, dtype=np.uint64).reshape(len(numbers), 2)


def _stays(cell: Cell) -> int:
    """Return how many sub-phases fit into the horizon, cut ones included."""
    pulls = count = 0
    for lap in rounds(cell.instance.n_arms, *round_shape(cell)):
        end = min(cell.horizon, pulls + lap.pulls)
        for now in schedule(lap.arms, cell.memory):
            pulls = min(end, pulls + now.b)
            count += 1
            if pulls == end:
                break
        if pulls == cell.horizon:
            return count
    raise AssertionError("the rounds never end before the horizon")


def _outcome(cell: Cell, batch: Batch, runs: int) -> Outcome:
    stays = None
    if cell.record:
        stays = [
            Stays(
                batch.stay_start[r],
                batch.stay_arms[r],
                batch.stay_pulls[r],
                batch.stay_recommended[r],
            )
            for r in range(runs)
        ]
    return Outcome(batch.regret, batch.pulls if batch.pulls.shape[1] else None, stays)
