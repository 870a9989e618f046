"""The pages of the API reference, whose contents are signatures and docstrings."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import handful
from handful import errors
from website.signatures import setting_of


class Entry(NamedTuple):
    """A public name, and which members are shown; all that have a docstring unless given."""

    name: str
    members: str = ""


class Page(NamedTuple):
    """A page of the reference."""

    name: str
    title: str
    intro: str
    entries: tuple[Entry, ...]
    outro: str = ""


POLICY_METHODS = (
    "select update decide reward drop recommend stats arms arms_in_memory n_arms memory "
    "memory_words pulls decisions add_arms remove_arms new_arms_within lock clone reset "
    "reveal to_bytes from_bytes with_record"
)
RESULT = (
    "pulls stays mean_pulls regret regret_at quantile_regret label traffic world to_dict to_polars "
    "to_pandas run_numbers to_parquet to_csv plot plot_memory"
)
"""What users ask of a result; it is made by `simulate`."""
NONE = "-"
"""No members are shown."""


def _of(module: str, *, members: str = "", leave_out: tuple[str, ...] = ()) -> tuple[Entry, ...]:
    names = import_module(module).__all__
    return tuple(Entry(f"{module}.{name}", members) for name in names if name not in leave_out)


def pages() -> list[Page]:
    """Return the pages of the reference, in order."""
    policies = ("Race", "UCBM", "TSM", "MOSSM", "QUCBM", "QTSM", "QMOSSM")
    return [
        Page(
            "policies",
            "Policies and arms",
            "A policy is made by its class or, all of them, by `handful.policy`. "
            "The settings of each are on [its own page](../policies/index.md).",
            (
                Entry("handful.policy"),
                Entry("handful.from_bytes"),
                Entry("handful.Policy", POLICY_METHODS),
                *(Entry(f"handful.{name}", NONE) for name in policies),
                Entry("handful.Decision"),
                Entry("handful.Receipt"),
                Entry("handful.ArmStats"),
                Entry("handful.FiniteArms", "label listed"),
                Entry("handful.Reservoir", "label"),
                Entry("handful.Proposed", "labels waiting proposed repeated"),
                Entry("handful.PostedArms", "post"),
                Entry("handful.POLICIES"),
            ),
            _all_settings(),
        ),
        Page(
            "simulation",
            "Simulation",
            "Needs `pip install '.[sim]'`. [How runs are simulated](../simulation.md)",
            (
                Entry("handful.simulate"),
                Entry("handful.compare"),
                Entry("handful.from_data"),
                Entry("handful.simulation.read_parquet"),
                Entry("handful.Result", RESULT),
                Entry("handful.Comparison"),
                Entry("handful.simulation.result.Estimate"),
                Entry("handful.simulation.result.Curve"),
                Entry("handful.simulation.outcome.Stays"),
                Entry("handful.instances.base.Instance"),
                Entry("handful.instances.base.Origin"),
            ),
        ),
        Page(
            "sweeps",
            "Sweeps",
            "Many cells, on many machines: [Sweeps](../sweeps.md).",
            tuple(Entry(f"handful.{name}") for name in ("sweep", "read_sweep", "Sweep")),
        ),
        Page(
            "evaluation",
            "Logs",
            "What a log of decisions tells about other policies: [Logs and replay](../replay.md).",
            (
                *(
                    Entry(f"handful.{name}")
                    for name in ("read_log", "evaluate", "replay", "Log", "Evaluation", "Replay")
                ),
                Entry("handful.evaluation.intervals.ValueEstimate"),
            ),
        ),
        Page(
            "fleets",
            "Fleets",
            "Millions of policies at once: [Fleets](../fleets.md), "
            "[fleets past one machine](../sharded-fleets.md).",
            (
                Entry("handful.Fleet"),
                Entry("handful.ShardedFleet"),
                Entry("handful.fleet.stats.FleetStats"),
                Entry("handful.fleet.stats.Totals"),
            ),
        ),
        Page(
            "client",
            "Client of the service",
            "Needs `pip install '.[client]'`. [The client](../client.md)",
            (
                *_of("handful.client"),
                *(
                    Entry(f"handful.client.options.{name}")
                    for name in ("BanditOptions", "OneDecision", "ManyDecisions")
                ),
            ),
        ),
        Page(
            "own",
            "Rules and policies of your own",
            "The parts that rules and policies are made of: [Your own rule](../own-rule.md).",
            (
                *(Entry(f"handful.{name}") for name in ("Rule", "Moment", "State")),
                Entry("handful.core.rng.Generator"),
                *(
                    Entry(f"handful.{name}", "rule settings")
                    for name in ("PhasedPolicy", "PooledPolicy")
                ),
                *_of(
                    "handful.own",
                    leave_out=("Rule", "Moment", "State", "PhasedPolicy", "PooledPolicy", "Policy"),
                ),
            ),
        ),
        Page(
            "testing",
            "Checks of policies and stores",
            "What every policy must do, as tests to run on yours.",
            _of("handful.testing"),
        ),
        Page(
            "adapters",
            "Adapters",
            "Policies inside other packages: [Adapters](../adapters.md).",
            (
                Entry("handful.adapters.river.HandfulPolicy"),
                Entry("handful.adapters.optuna.HandfulSampler"),
                Entry("handful.adapters.gymnasium.BanditEnv"),
                Entry("handful.adapters.openfeature.HandfulProvider"),
                Entry("handful.adapters.estimator.BanditEstimator"),
                *(
                    Entry(f"handful.adapters.streaming.{name}")
                    for name in ("Step", "Decide", "Reward", "Drop", "Add", "Remove")
                ),
            ),
        ),
        Page(
            "errors",
            "Errors",
            "Every error is a `HandfulError`, and an error of Python, too.\n\n"
            f"```text\n{_tree()}\n```",
            tuple(
                Entry(f"handful.errors.{name}", NONE)
                for name, value in vars(errors).items()
                if isinstance(value, type) and issubclass(value, Exception)
            ),
        ),
    ]


def _all_settings() -> str:
    """Return a table of the settings of every policy that has some."""
    lines = [
        "## Settings of all policies",
        "",
        "What `handful.policy` takes as `settings` depends on the policy. A setting can also be "
        'written into the name: `handful.policy("ucb-m:eta=0.5", ...)`.',
        "",
        "| policy | settings and their defaults |",
        "|---|---|",
    ]
    for name, cls in handful.POLICIES.items():
        settings = ", ".join(f"`{setting_of(cls, key)}`" for key in cls.settings)
        lines.append(f"| [`{name}`](../policies/{name}.md) | {settings or 'none'} |")
    return "\n".join(["", *lines, ""])


def _tree() -> str:
    """Return the tree of errors, from the docstring of their module."""
    lines = (errors.__doc__ or "").splitlines()
    return "\n".join(line.removeprefix("    ") for line in lines if line.startswith("    "))


def text(page: Page) -> str:
    """Return a page as Markdown."""
    shown = "\n".join(map(_directive, page.entries))
    return f"# {page.title}\n\n{page.intro}\n\n```{{eval-rst}}\n{shown}```\n{page.outro}"


def found(name: str) -> Any:
    """Return the object of a public name."""
    module, _, last = name.rpartition(".")
    return getattr(import_module(module), last)


def _directive(entry: Entry) -> str:
    what = found(entry.name)
    if isinstance(what, type):
        members = {NONE: "", "": "   :members:\n"}.get(entry.members)
        if members is None:
            members = f"   :members: {', '.join(entry.members.split())}\n"
        shown = "   :show-inheritance:\n" if issubclass(what, Exception) else ""
        return f".. autoclass:: {entry.name}\n{members}{shown}"
    return f".. {'autofunction' if callable(what) else 'autodata'}:: {entry.name}\n"


def index() -> str:
    """Return the page that lists all others."""
    lines = [
        "# API reference",
        "",
        "Every public name, from its signature and docstring. "
        "What may change from version to version is in [Compatibility](../compatibility.md); "
        "the same over HTTP is in [HTTP API](../http-api.md), on the command line in "
        "[Command line](../cli.md).",
        "",
    ]
    for page in pages():
        names = [f"{{py:obj}}`~{e.name}`" for e in page.entries]
        lines += [f"**[{page.title}]({page.name}.md)**: {', '.join(names)}", ""]
    toctree = "\n".join(page.name for page in pages())
    return "\n".join([*lines, "```{toctree}", ":hidden:", "", toctree, "```", ""])


def all_written() -> dict[str, str]:
    """Return the text of every page of the reference by its name."""
    written = {f"api/{page.name}": text(page) for page in pages()}
    return {"api/index": index(), **written}
