"""A page for each policy of the catalogue: definition, settings, memory, picture, example."""

from __future__ import annotations

import io
import random
import re
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

import handful
from handful.cli.policies import arms_in_words
from handful.policies import PhasedPolicy, Policy, schedule
from website import HERE
from website.docstrings import Code, Part, as_markdown, parts
from website.links import Links
from website.signatures import GENERIC, default_of, setting_of

EXAMPLE_PULLS = 1_000
MEMORY = 4
"""Of the example and the picture, if the policy lets it be chosen."""
ARMS = 20
"""Of the example and the picture on a finite set."""
HORIZON = 10_000
RUNS = 20
ENDLESS = "beta:1:1:1"
BESIDE = ("race", "random")
"""Drawn on every picture, for comparison."""
THE_PAPER = "Roy Chaudhuri and Kalyanakrishnan, AAAI 2020: docs/mathematics.md"


def group_of(cls: type[Policy]) -> str:
    """Return under which heading a policy is listed."""
    if cls.unbounded:
        return "References that remember every arm they meet"
    if cls.any_arms:
        return "For finite sets and endless arms"
    return "For endless arms" if cls.endless else "For finite sets"


def memory_of(cls: type[Policy]) -> str:
    """Return which arms a policy has statistics of, in words."""
    if cls.unbounded:
        return "every arm it meets"
    if cls.own_memory is None:
        return "at most M arms, M >= 2"
    return "1 arm" if cls.own_memory == 1 else f"at most {cls.own_memory} arms"


def memory_given(cls: type[Policy], memory: int = MEMORY) -> int | None:
    """Return the memory to give to a policy, None if it has its own."""
    return memory if cls.own_memory is None and not cls.unbounded else None


def call(cls: type[Policy]) -> str:
    """Return a call with all arguments and their defaults."""
    given = ["arms", *(["memory"] if memory_given(cls) else [])]
    given += [setting_of(cls, name) for name in cls.settings]
    given += [f"{name}=None" for name in GENERIC]
    lines, line = [], f'handful.policy("{cls.name}"'
    for each in given:
        if len(line) + len(each) > 76:
            lines.append(line + ",")
            line = "    " + each
        else:
            line += f", {each}"
    return "\n".join([*lines, line + ")"])


def example(cls: type[Policy]) -> str:
    """Return a program that uses the policy."""
    options = [f"memory={MEMORY}"] if memory_given(cls) else []
    options += [f"horizon={EXAMPLE_PULLS}"] if "horizon" in cls.settings else []
    options += ["seed=1"]
    arms = cls.own_arms or ARMS
    if cls.endless:
        about, mean = "endless arms, numbered from 0", "random.Random(arm).random()"
        given = "lambda index: index"
    else:
        about, mean = f"{arms} arms, of which the last is the best", f"(arm + 1) / {arms + 1}"
        given = str(arms)
    reveal = "policy.reveal(mean_of)  # it needs the true means\n" if cls.clairvoyant else ""
    return f"""\
import random
import handful

def mean_of(arm):  # {about}
    return {mean}

policy = handful.policy("{cls.name}", arms={given}, {", ".join(options)})
{reveal}world = random.Random(1)
rewards = 0
for _ in range({EXAMPLE_PULLS:_}):
    arm = policy.select()
    reward = world.random() < mean_of(arm)
    policy.update(arm, reward)
    rewards += reward

print(rewards, "rewards; recommended:", policy.recommend())
"""


def printed(program: str) -> str:
    """Run a program; return what it prints."""
    with redirect_stdout(io.StringIO()) as output:
        exec(compile(program, "<example>", "exec"), {"__name__": "__main__"})
    return output.getvalue()


def sizes(cls: type[Policy]) -> list[tuple[str, int]]:
    """Return measured sizes of saved states, in bytes, and what they are of."""
    if cls.unbounded and not cls.endless and not cls.any_arms:
        return [(f"{n:,} arms", _size(cls, n, None, 10)) for n in (100, 10_000)]
    if cls.unbounded:
        return [(f"after {n:,} decisions", _size(cls, _label, None, n)) for n in (100, 2_000)]
    arms: Any = _label if cls.endless else cls.own_arms or 10_000
    if cls.own_memory is None:
        return [(f"M = {m}", _size(cls, arms, m, 200)) for m in (2, 8, 50)]
    return [(f"M = {cls.own_memory}", _size(cls, arms, None, 200))]


def _label(index: int) -> int:
    return index


def _size(cls: type[Policy], arms: Any, memory: int | None, decisions: int) -> int:
    horizon: dict[str, Any] = {"horizon": 10_000} if "horizon" in cls.settings else {}
    policy = cls(arms, memory, seed=1, **horizon)
    if cls.clairvoyant:
        policy.reveal(lambda arm: random.Random(arm).random())
    world = random.Random(1)
    for _ in range(decisions):
        policy.update(policy.select(), float(world.random() < 0.5))
    return len(policy.to_bytes())


def definition(cls: type[Policy]) -> str:
    """Return what docstrings say of a policy: its class, its file, its rule, its schedule."""
    said: set[Part] = set()

    def told(docstring: str | None, change: Callable[[str], str] = str) -> str:
        shown = []
        for part in parts(docstring or ""):
            is_example = isinstance(part, Code) and part.language == "pycon"
            if part not in said and not is_example:
                said.add(part)
                shown.append(part)
        return change(as_markdown(shown))

    lines = [told(cls.__doc__)]
    module = sys.modules[cls.__module__]
    if not (issubclass(cls, PhasedPolicy) and module.__name__.endswith(("bounded", "modern"))):
        lines += ["", told(module.__doc__)]
    rule = getattr(cls, "rule", None)
    if rule is not None:
        where = sys.modules[(rule.score or rule.growth).__module__]
        lines += ["", f"### The rule: {rule.name}", "", told(where.__doc__)]
        if not cls.unbounded:
            lines += ["", "### The schedule", "", told(schedule.__doc__)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def instance_for(cls: type[Policy]) -> str:
    """Return the instance that a policy is shown on."""
    if cls.own_arms is not None:
        return "bernoulli:" + ",".join(
            f"{(i + 1) / (cls.own_arms + 1):.2g}" for i in range(cls.own_arms)
        )
    return ENDLESS if cls.endless else f"linear:{ARMS}"


def caption(cls: type[Policy]) -> str:
    """Return what the picture of a policy shows."""
    memory = memory_given(cls)
    race = f"`race` with M = {min(MEMORY, cls.own_arms or MEMORY)}"
    beside = [race if name == "race" else f"`{name}`" for name in BESIDE if name != cls.name]
    whose = f"`{cls.name}` with M = {memory}" if memory else f"`{cls.name}`"
    where = instance_for(cls)
    worlds = {
        ENDLESS: "endless arms whose means are uniform on [0, 1]",
        f"linear:{ARMS}": f"{ARMS} arms with evenly spaced means",
    }
    what = worlds.get(where, "two arms")
    return (
        f"Mean regret of {whose}, beside {' and '.join(beside)}, on `{where}`, {what}: "
        f"{RUNS} runs of {HORIZON:,} pulls, with 95% bands. One instance says little about "
        "others: see [Which policy?](../choosing.md)"
    )


def _linked(text: str) -> str:
    """Return the text with the pages that it names as links."""
    return re.sub(r"docs/([\w-]+)\.md", r"[\1](../\1.md)", text)


def page(cls: type[Policy], links: Links, with_picture: bool) -> str:
    """Return the page of a policy as Markdown."""
    name = f"policies/{cls.name}"
    program = example(cls)
    file = "src/" + cls.__module__.replace(".", "/") + ".py"
    citation = cls.citation or THE_PAPER
    lines = [
        f"# `{cls.name}`",
        "",
        f"**{cls.title}**: {cls.summary}.",
        "",
        f"- Arms: {arms_in_words(cls)}",
        f"- Statistics of: {memory_of(cls)}",
        "- Saved state: " + ", ".join(f"{size:,} bytes ({what})" for what, size in sizes(cls)),
        f"- Source: {_linked(citation)}",
        f"- Code: [`{file.removeprefix('src/handful/')}`]({links.to(file, name)})",
        "",
        "```python",
        call(cls),
        "```",
        "",
    ]
    if cls.settings:
        lines += ["## Settings", "", "| setting | default | allowed | |", "|---|---|---|---|"]
        for key, setting in cls.settings.items():
            default = default_of(cls, key) or "must be given"
            lines.append(f"| `{key}` | {default} | {setting.allowed} | {setting.summary} |")
        lines.append("")
    lines += ["## Definition", "", _linked(definition(cls)), ""]
    if with_picture:
        lines += [
            "## Regret",
            "",
            f"![Mean regret of {cls.name} over time]({cls.name}.svg)",
            "",
            f"*{caption(cls)}*",
            "",
        ]
    lines += [
        "## Example",
        "",
        f"```python\n{program}```",
        "",
        f"```text\n{printed(program)}```",
        "",
        "What all policies can do, such as late rewards, several decisions at once and saved "
        "states, is in the [tutorial](../tutorial.md) and in {py:class}`handful.Policy`. "
        "[Which policy?](../choosing.md) helps to choose.",
        "",
    ]
    return "\n".join(lines)


def index() -> str:
    """Return the page that lists all policies."""
    groups: dict[str, list[type[Policy]]] = {}
    for cls in handful.POLICIES.values():
        groups.setdefault(group_of(cls), []).append(cls)
    intro = (HERE / "policies.md").read_text(encoding="utf-8")
    lines = [intro.format(count=len(handful.POLICIES)).rstrip()]
    for title, classes in groups.items():
        lines += ["", f"## {title}", "", "| policy | statistics of | what it is |", "|---|---|---|"]
        lines += [
            f"| [`{cls.name}`]({cls.name}.md) | {memory_of(cls)} | {cls.summary} |"
            for cls in classes
        ]
    toctree = "\n".join(handful.POLICIES)
    return "\n".join([*lines, "", "```{toctree}", ":hidden:", "", toctree, "```", ""])


def all_pages(links: Links, with_pictures: bool) -> dict[str, str]:
    """Return the text of every page by its name."""
    written = {
        f"policies/{name}": page(cls, links, with_pictures)
        for name, cls in handful.POLICIES.items()
    }
    return {"policies/index": index(), **written}
