from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from handful.errors import SettingError
from handful.instances import instance
from handful.plots.panels import draw
from handful.plots.stays import Rows, means_of, phase_starts, recommended_last, stays_of
from handful.plots.style import figure, save
from handful.plots.timeline import plot_memory
from handful.simulation import Result, read_parquet, simulate, write_parquet
from handful.simulation.plan import cell
from handful.simulation.seeds import policy_seed, reward_stream, world_key

pytestmark = pytest.mark.usefixtures("auto_is_python")

CASES: list[tuple[str, str, int | None, int]] = [
    ("ucb-m", "linear:10", 2, 5000),
    ("moss-m", "linear:1000", 8, 5000),
    ("ts-m", "linear:4", 9, 50),
    ("qucb-m", "I2", 2, 5000),
    ("qrm2", "I2", None, 300),
    ("sqrt-run", "I1", None, 400),
    ("k-failure", "I2", None, 300),
    ("robbins", "linear:7", None, 300),
]


def recorded(policy: str, world: str, memory: int | None, horizon: int, **more: Any) -> Result:
    return simulate(policy, world, memory=memory, horizon=horizon, runs=2, record=True, **more)


def drawn(result: Result, run: int = 0, **options: Any) -> Any:
    _, ax = figure(1, 1, 8, 4)
    return plot_memory(result, run, ax, **options)


def by_gid(ax: Any, gid: str) -> Any:
    (found,) = [artist for artist in (*ax.collections, *ax.lines) if artist.get_gid() == gid]
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def test_a_bar_for_each_stay_where_and_as_dark_as_it_should_be(
    case: tuple[str, str, int | None, int], tmp_path: Path
) -> None:
    result = recorded(*case)
    stays = stays_of(result, 1)
    ax = drawn(result, 1, x="linear")
    bars = by_gid(ax, "handful-stays")
    rows = Rows(result, 1, stays)
    wanted = []
    ends = [*stays.start[1:].tolist(), case[3]]
    for i, end in enumerate(ends):
        for arm, pulls in zip(stays.arms[i].tolist(), stays.pulls[i].tolist(), strict=True):
            if arm >= 0:
                row = rows.arms.tolist().index(arm)
                wanted.append(
                    (float(stays.start[i]), float(end), float(row), pulls / stays.pulls[i].sum())
                )
    found = []
    for path, share in zip(bars.get_paths(), bars.get_array(), strict=True):
        x, y = path.vertices[:4].T
        found.append((x.min(), x.max(), (y.min() + y.max()) / 2, float(share)))
    assert np.array(sorted(found)) == pytest.approx(np.array(sorted(wanted)))
    assert (ax.get_xlim()[1], ax.get_ylim()[0] > ax.get_ylim()[1]) == (case[3], True)
    save(ax.figure, str(tmp_path / "x.png"))
    assert (tmp_path / "x.png").stat().st_size > 5000


def test_arms_are_sorted_by_their_true_means() -> None:
    finite = recorded("ucb-m", "bernoulli:0.2,0.9,0.5", 2, 200)
    assert Rows(finite, 0, stays_of(finite, 0)).arms.tolist() == [1, 2, 0]
    ax = drawn(finite)
    assert [t.get_text() for t in ax.get_yticklabels()] == [
        "arm 1   0.90",
        "arm 2   0.50",
        "arm 0   0.20",
    ]


@pytest.mark.parametrize("policy", ["qucb-m", "sqrt-run"])
@pytest.mark.parametrize("tape", [False, True])
def test_means_of_a_reservoir_are_those_that_gave_the_regret(policy: str, tape: bool) -> None:
    memory = 2 if policy == "qucb-m" else None
    result = recorded(policy, "I2", memory, 700, tape=tape)
    for run in range(2):
        stays = stays_of(result, run)
        rows = Rows(result, run, stays)
        assert rows.means is not None
        in_memory = stays.arms >= 0
        gaps = 1.0 - rows.means[rows.of(np.where(in_memory, stays.arms, rows.arms[0]))]
        assert (gaps * stays.pulls * in_memory).sum() == pytest.approx(result.regret.per_run[run])


def test_without_means_arms_come_in_the_order_of_appearance() -> None:
    result = recorded("qucb-m", "I2", 2, 300)
    old = replace(result, settings={k: v for k, v in result.settings.items() if k != "id"})
    rows = Rows(old, 0, stays_of(old, 0))
    assert rows.means is None
    assert rows.arms[:2].tolist() == stays_of(old, 0).arms[0].tolist()
    assert "first on top" in drawn(old).get_ylabel()


@pytest.mark.parametrize("case", [CASES[0], CASES[1], CASES[3]], ids=lambda case: str(case[0]))
def test_the_line_runs_through_the_arms_recommended(case: tuple[str, str, int, int]) -> None:
    result = recorded(*case)
    stays = stays_of(result, 0)
    rows = Rows(result, 0, stays)
    line = by_gid(drawn(result, x="linear"), "handful-recommended")
    segments = np.array(line.get_segments())
    ends = np.append(stays.start[1:], case[3])
    for i in range(len(ends) - 1):
        middle = (ends[i] + ends[i + 1]) / 2
        (there,) = segments[(segments[:, 0, 0] <= middle) & (middle <= segments[:, 1, 0])]
        assert there[0, 1] == there[1, 1] == rows.arms.tolist().index(stays.recommended[i])


@pytest.mark.parametrize("case", [CASES[0], CASES[1], CASES[3]], ids=lambda case: str(case[0]))
def test_phases_begin_where_stays_begin_and_double(case: tuple[str, str, int, int]) -> None:
    result = recorded(*case)
    stays = stays_of(result, 0)
    lengths = dict(
        zip(stays.start.tolist(), np.diff(stays.start, append=case[3]).tolist(), strict=True)
    )
    marks = phase_starts(result)
    assert marks[0] == (0, 1, 1)
    M = result.settings["memory"]
    rounds = {at for at, _, w in marks if w == 1}
    for at, _, w in marks[:-1]:
        # The end of a round cuts a stay short.
        assert lengths[at] == M * (M + 2) * 2 ** (w - 1) or at + lengths[at] in rounds
    assert [at for at, *_ in phase_starts(recorded("herschkorn", "I2", None, 50))] == []


@pytest.mark.parametrize("horizon", [71, 72, 73, 79, 80, 81, 140, 141, 500])
@pytest.mark.parametrize(("policy", "world"), [("ucb-m", "linear:10"), ("qucb-m", "I2")])
def test_the_last_arm_is_what_the_last_finished_stay_recommended(
    policy: str, world: str, horizon: int
) -> None:
    """A shorter run is the beginning of a longer one, which says what was finished by then."""
    result, longer = recorded(policy, world, 2, horizon), recorded(policy, world, 2, 2000)
    for run in range(2):
        stays = stays_of(longer, run)
        finished = stays.recommended[:-1][stays.start[1:] <= horizon]
        assert recommended_last(result, stays_of(result, run)) == finished[-1]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def test_what_was_recorded_survives_a_file(
    case: tuple[str, str, int | None, int], tmp_path: Path
) -> None:
    result = recorded(*case)
    bare = simulate("ucb-m", "linear:9", memory=2, horizon=9, runs=1)
    write_parquet([bare, result], tmp_path / "x.parquet")
    first, second = read_parquet(tmp_path / "x.parquet")
    assert first.stays is None
    assert second.settings == result.settings
    for run in range(2):
        for name, array in vars(stays_of(result, run)).items():
            read = vars(stays_of(second, run))[name]
            assert (read.dtype, read.shape) == (array.dtype, array.shape)
            assert (read == array).all()


def test_axes_are_log_where_the_memory_changes() -> None:
    assert drawn(recorded("ucb-m", "linear:10", 2, 500)).get_xscale() == "log"
    assert drawn(recorded("ucb1", "linear:10", None, 500)).get_xscale() == "linear"
    assert drawn(recorded("ucb1", "linear:10", None, 500), x="log").get_xlim() == (0.5, 500)


def test_thousands_of_stays_make_a_small_file(tmp_path: Path) -> None:
    result = recorded("ucb-m", "linear:3000", 2, 50_000)
    assert (stays_of(result, 0).arms >= 0).sum() > 8000
    for ending in ("svg", "pdf"):
        save(drawn(result).figure, str(tmp_path / f"x.{ending}"))
        assert 5_000 < (tmp_path / f"x.{ending}").stat().st_size < 500_000


def test_what_cannot_be_drawn_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = simulate("ucb-m", "linear:9", memory=2, horizon=9, runs=2)
    result = recorded("ucb-m", "linear:9", 2, 900)
    with pytest.raises(SettingError, match="--record"):
        plot_memory(bare)
    for run in (2, -1):
        with pytest.raises(SettingError, match="give 0 to 1"):
            plot_memory(result, run)
    with pytest.raises(SettingError, match="not an integer"):
        plot_memory(result, 0.5)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="5 timelines"):
        draw("memory", [result] * 5)
    with pytest.raises(SettingError, match="y cannot be given"):
        draw("memory", [result], y="log")
    monkeypatch.setattr("handful.plots.stays.MOST_BARS", 10)
    with pytest.raises(SettingError, match="more than can be drawn"):
        plot_memory(result)


def test_a_result_draws_its_own_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib.pyplot as plt

    monkeypatch.setenv("MPLBACKEND", "agg")
    result = recorded("ucb-m", "linear:9", 2, 900)
    ax = result.plot_memory(run=1)
    assert "run 1" in ax.get_title(loc="left")
    plt.close("all")


def test_the_title_says_which_arm_it_ends_with() -> None:
    result = recorded("ucb-m", "linear:10", 2, 5000)
    last = recommended_last(result, stays_of(result, 0))
    mean = instance("linear:10").mean(last)
    assert f"ends with arm {last} (mean {mean:.3f}, " in drawn(result).get_title(loc="left")


def test_several_timelines_share_one_caption_that_covers_all() -> None:
    made = draw(
        "memory", [recorded("ucb-m", "linear:9", 2, 99), recorded("robbins", "linear:9", None, 99)]
    )
    captions = [
        t.get_text() for ax in made.axes for t in ax.texts if t.get_text().startswith("Bar:")
    ]
    assert len(captions) == 1
    assert "Orange" in captions[0]
    assert "new phase" in captions[0]


@pytest.mark.parametrize(
    ("name", "world"), [("cover", "linear:2"), ("constant-space", "linear:6"), ("sqrt-run", "I3")]
)
def test_a_policy_that_changes_its_mind_in_a_stay_is_seen_to(name: str, world: str) -> None:
    result = simulate(name, world, horizon=3000, runs=1, record=True)
    assert result.stays is not None
    stays = result.stays[0]
    again = cell(name, world, None, 3000)
    policy = again.policy(
        again.instance.n_arms if not again.policy.endless else (lambda i: i),
        seed=policy_seed(0, again.id, 0),
        **again.policy_settings(),
    )
    key = world_key(0, again.id, 0, False)
    rng = reward_stream(0, again.id, 0)
    recommended = []
    for _ in range(3000):
        arm = policy.select()
        policy.update(arm, again.instance.draw(arm, rng, key))
        recommended.append(policy.recommend())
    ends = [*stays.start[1:].tolist(), 3000]
    assert [recommended[end - 1] for end in ends] == stays.recommended.tolist()
    for start, end in zip([0, *ends], ends, strict=False):
        held = recommended[start : end - 1]
        assert len(set(held)) <= 1, "what is recommended changes only where an entry ends"


def test_a_run_of_a_range_has_its_own_arms_and_number() -> None:
    def simulated(runs: int | range) -> Result:
        return simulate("qucb-m", "I1", memory=2, horizon=300, runs=runs, record=True,
                        engine="python")  # fmt: skip

    whole, part = simulated(5), simulated(range(3, 5))
    titles = [
        plot_memory(result, run, figure(1, 1, 5, 3)[1]).get_title("left")
        for result, run in ((whole, 4), (part, 1))
    ]
    assert titles[0] == titles[1]
    assert "run 4:" in titles[0]
    means = [means_of(result, run, np.arange(20)) for result, run in ((whole, 4), (part, 1))]
    assert means[0] is not None
    assert means[1] is not None
    assert means[0].tolist() == means[1].tolist()


def test_means_at_click_rates_differ_in_print() -> None:
    few, many = (recorded("race", f"linear:{arms}:0.05", 4, 300) for arms in (10, 50))
    for result in (few, many):
        texts = [text.get_text() for text in drawn(result).get_yticklabels()]
        means = [text.split()[-1] for text in texts]
        assert len(set(means)) == len(means) > 8
