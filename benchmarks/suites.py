"""The jobs that are measured.

textbook   UCB-M on linear:100 at M = 2, 10, 50 and UCB1, beside the loops; other rules beside UCB-M
growth     the time of a run as T, M and K grow
peers      UCB1 on ten arms beside other packages (`peers.py`)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from benchmarks.contest import OURS, Contestant, Job, Row, contest, ours, theirs
from benchmarks.loops import CLoop, Loop, NoCompilerError, build_c_loop, numba_loop

TEXTBOOK = "textbook"
BY_HORIZON, BY_MEMORY, BY_ARMS = "growth by T", "growth by M", "growth by K"
GROWTH = (BY_HORIZON, BY_MEMORY, BY_ARMS)
PEERS = "peers"
DEFAULT = ("textbook", "growth")

C, NUMBA = "C loop", "Numba loop"
LINEAR, POWER = "linear:100", "power:100:0.3"
MANY_ARMS = (("ucb-m", 2), ("ucb-m", 10), ("ts-m", 2), ("ts-m", 10))
"""Policies and memories whose time is looked at as K grows; the first beside the C loop."""
MOST_STORED = 10**7
"""The C loop stores the means and the order of the arms: 16 bytes an arm."""


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    horizon: int = 10**6
    runs: int = 64
    """Of a turn of handful; of a loop, a sixteenth of it."""
    rounds: int = 5
    enough: float = 4.0
    """Seconds after which a contestant has had its turns."""
    patience: float = 30.0
    """A series ends where its next point would take longer, in seconds."""
    memories: tuple[int, ...] = (2, 10, 50)
    growing_runs: int = 32
    horizons: tuple[int, ...] = tuple(10**k for k in range(4, 10))
    growing_memories: tuple[int, ...] = (2, 5, 10, 20, 50, 100)
    arms: tuple[int, ...] = (10**2, 10**3, 10**6, 10**9)
    peer_pulls: float = 1.0
    """A share of the pulls that peers make otherwise."""

    def up_to(self, horizon: int) -> Sizes:
        """The same with no longer horizon in the growth by T."""
        horizons = tuple(each for each in self.horizons if each <= horizon)
        return replace(self, horizons=horizons or (horizon,))


QUICK = Sizes(
    horizon=10**4, runs=16, rounds=2, enough=0.2, patience=2.0, memories=(2, 10), growing_runs=8,
    horizons=tuple(10**k for k in range(2, 6)), growing_memories=(2, 10, 100),
    arms=(10**2, 10**6, 10**9), peer_pulls=0.01,
)  # fmt: skip


@dataclass
class Bench:
    """A run of some suites: the sizes, the loops available, and the results so far."""

    sizes: Sizes
    show: Callable[[float, str], None]
    """Called with the number of contests done and what comes next."""
    rows: list[Row] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    c_loop: CLoop | None = None
    done: int = 0

    def build_c_loop(self) -> None:
        """Build the C loop, before the suites that use it; if that fails, record why."""
        try:
            self.c_loop = build_c_loop()
        except NoCompilerError as error:
            self.left_out.append(f"{C}: {error}")

    def contest(self, contestants: Sequence[Contestant]) -> list[Row]:
        """Let the contestants take turns, and add their rows."""
        if not contestants:
            return []
        job = contestants[0].job
        self.show(self.done, f"{job.group}: {job.instance}, M = {job.memory}, T = {job.horizon:g}")
        rows = contest(contestants, self.sizes.rounds, self.sizes.enough)
        self.rows += rows
        return rows

    def in_c(self, job: Job, runs: int) -> list[Contestant]:
        """Return the C loop, if there is one and the arms fit."""
        if self.c_loop is None or job.n_arms > MOST_STORED:
            return []
        return [theirs(job, max(1, runs // 16), C, self.c_loop.command, self.c_loop.run)]


def contests(suites: Sequence[str], sizes: Sizes) -> int:
    """Return the number of contests in these suites, for a progress bar; peers count as one."""
    counts = {
        "textbook": len(sizes.memories) + 2,
        "growth": len(sizes.horizons) * 2 + len(sizes.growing_memories) + len(MANY_ARMS),
        "peers": 1,
    }
    return sum(counts[suite] for suite in suites)


def textbook(bench: Bench) -> None:
    """Measure UCB-M and UCB1 beside the loops, and the other rules beside UCB-M."""
    sizes = bench.sizes
    loop: Loop = numba_loop()

    def beside_loops(policy: str, world: str, memory: int) -> list[Contestant]:
        job = Job(TEXTBOOK, policy, world, memory, sizes.horizon)
        in_numba = theirs(job, max(1, sizes.runs // 16), NUMBA, "njit(nogil=True)", loop)
        return [ours(job, sizes.runs), *bench.in_c(job, sizes.runs), in_numba]

    for memory in sizes.memories:
        others = ["ucb-m:eta=0.2", "moss-m", *(["ts-m"] if memory <= 10 else [])]
        jobs = [Job(TEXTBOOK, policy, LINEAR, memory, sizes.horizon) for policy in others]
        bench.contest(
            beside_loops("ucb-m", LINEAR, memory) + [ours(job, sizes.runs) for job in jobs]
        )
        bench.done += 1
    for world in (LINEAR, POWER):
        bench.contest(beside_loops("ucb1", world, 100))
        bench.done += 1


Line = tuple[str, Callable[[int], Job]]
"""A line of a figure: who does the job, and the job at a size."""


def growth(bench: Bench) -> None:
    """Measure the time of a run as T, M and K grow, in handful and in the C loop."""
    sizes = bench.sizes

    def by_horizon(policy: str, memory: int) -> Callable[[int], Job]:
        return lambda T: Job(BY_HORIZON, policy, POWER, memory, T)

    def by_memory(policy: str) -> Callable[[int], Job]:
        return lambda M: Job(BY_MEMORY, policy, LINEAR, M, sizes.horizon)

    for policy, memory in (("ucb1", 100), ("ucb-m", 2)):
        job = by_horizon(policy, memory)
        _grow(bench, "T", sizes.horizons, [(OURS, job), (C, job)])
    rules = [(OURS, by_memory(policy)) for policy in ("ucb-m", "moss-m", "ts-m")]
    _grow(bench, "M", sizes.growing_memories, [*rules, (C, by_memory("ucb-m"))])
    for policy, memory in MANY_ARMS:
        # All sizes in one contest: what is asked is how they compare.
        jobs = [Job(BY_ARMS, policy, f"linear:{K}", memory, sizes.horizon) for K in sizes.arms]
        rivals = [ours(job, sizes.growing_runs) for job in jobs]
        if (policy, memory) == MANY_ARMS[0]:
            rivals += [rival for job in jobs for rival in bench.in_c(job, sizes.growing_runs)]
        bench.contest(rivals)
        bench.done += 1
    if bench.c_loop is not None and max(sizes.arms) > MOST_STORED:
        bench.left_out.append(f"{C}: K over {MOST_STORED:g}, since it stores 16 bytes an arm")


def _grow(bench: Bench, symbol: str, sizes: Sequence[int], lines: Sequence[Line]) -> None:
    """Measure the lines at each size in turn; one whose next point would take too long ends."""
    runs, patience = bench.sizes.growing_runs, bench.sizes.patience
    going: dict[Line, list[float]] = {line: [] for line in lines}
    for size in sizes:
        points: dict[Line, Contestant] = {}
        for line, seconds in list(going.items()):
            by, job_at = line
            job, expected = job_at(size), _next(seconds)
            if expected > patience:
                del going[line]
                bench.left_out.append(
                    f"{by}, {job.policy}: {symbol} = {size:g} and more on {job.instance}, since it "
                    f"would take about {expected:.0f} s (--patience {patience:g})"
                )
                continue
            for contestant in [ours(job, runs)] if by == OURS else bench.in_c(job, runs):
                points[line] = contestant
        for line, row in zip(points, bench.contest(list(points.values())), strict=True):
            going[line].append(row.seconds)
        bench.done += 1


def _next(seconds: Sequence[float]) -> float:
    """Return the seconds that the next point will take, if it grows as the last two did."""
    if len(seconds) < 2:
        return 0.0
    before, last = seconds[-2:]
    return last * max(1.0, last / before)
