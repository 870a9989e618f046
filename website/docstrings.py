"""Docstrings as the tree writes them, and as Markdown or reStructuredText.

They are plain text: paragraphs with code in single backticks, formulas and tables that are
indented, names and what they mean in two columns, lists, examples.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

_ITEM = re.compile(r"(\S+(?: \S+)*?) {2,}(\S.*)")
_ARGUMENT = re.compile(r"(\w+): (.*)")
_SPAN = re.compile(r"(`[^`]+`|\*\*[^*\n]+\*\*|\*[^*\s]+\*)")


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Code:
    """Lines that are shown as they are: a formula, a table, an example."""

    text: str
    language: str = "text"


@dataclass(frozen=True)
class Items:
    """Names and what they mean, or, without names, a list."""

    items: tuple[tuple[str, str], ...]


Part = Text | Code | Items


def parts(docstring: str) -> list[Part]:
    """Return the parts of a docstring, in order."""
    found: list[Part] = []
    for paragraph in filter(None, re.split(r"\n\s*\n", inspect.cleandoc(docstring))):
        part = _part(paragraph)
        last = found[-1] if found else None
        if isinstance(part, Code) and isinstance(last, Code) and part.language == last.language:
            found[-1] = Code(f"{last.text}\n\n{part.text}", part.language)
        else:
            found.append(part)
    return found


def _part(paragraph: str) -> Part:
    lines = paragraph.splitlines()
    if lines[0].lstrip().startswith(">>>"):
        return Code(inspect.cleandoc(paragraph), "pycon")
    if all(line.startswith("    ") for line in lines):
        return Code(_unindented(lines))
    if lines[0] in ("Args:", "Attributes:"):
        return _arguments(lines[1:])
    if lines[0].startswith("- "):
        return Items(tuple(("", each) for each in _joined(lines, "- ")))
    return _columns(lines) or _with_code(lines)


def _with_code(lines: list[str]) -> Part:
    """Return a paragraph; one that has a table in it is shown as it is."""
    if any(line.startswith("    ") for line in lines):
        return Code("\n".join(lines))
    return Text(" ".join(line.strip() for line in lines))


def _unindented(lines: list[str]) -> str:
    least = min(len(line) - len(line.lstrip()) for line in lines)
    return "\n".join(line[least:] for line in lines)


def _joined(lines: list[str], bullet: str) -> list[str]:
    found: list[str] = []
    for line in lines:
        if line.startswith(bullet):
            found.append(line.removeprefix(bullet))
        else:
            found[-1] += " " + line.strip()
    return found


def _arguments(lines: list[str]) -> Items:
    items: list[tuple[str, str]] = []
    indent = len(lines[0]) - len(lines[0].lstrip())
    for line in lines:
        named = _ARGUMENT.fullmatch(line[indent:])
        if named:
            items.append((named[1], named[2]))
        else:
            items[-1] = (items[-1][0], f"{items[-1][1]} {line.strip()}")
    return Items(tuple(items))


def _columns(lines: list[str]) -> Items | None:
    items: list[tuple[str, str]] = []
    for line in lines:
        named = _ITEM.fullmatch(line)
        if line.startswith("  ") and items:
            items[-1] = (items[-1][0], f"{items[-1][1]} {line.strip()}")
        elif named and not line.startswith(" "):
            items.append((named[1], named[2]))
        else:
            return None
    return Items(tuple(items))


def as_markdown(these: Iterable[Part]) -> str:
    """Return parts of a docstring as Markdown."""

    def shown(part: Part) -> str:
        if isinstance(part, Code):
            return f"```{part.language}\n{part.text}\n```"
        if isinstance(part, Items):
            return "\n".join(
                f"- `{name}`: {_inline(text, _MD)}" if name else f"- {_inline(text, _MD)}"
                for name, text in part.items
            )
        return _inline(part.text, _MD)

    return "\n\n".join(map(shown, these))


def restructured(docstring: str, names: Mapping[str, str]) -> str:
    """Return a docstring as reStructuredText; `names` are the public names and their full names."""

    def linked(code: str) -> str:
        bare = code.removesuffix("()")
        return f":py:obj:`{code} <{names[bare]}>`" if bare in names else f"``{code}``"

    def shown(part: Part) -> str:
        if isinstance(part, Code):
            body = "\n".join("   " + line for line in part.text.splitlines())
            return f".. code-block:: {part.language}\n\n{body}\n"
        if isinstance(part, Items):
            return "\n".join(
                f"``{name}``\n   {_inline(text, _RST, linked)}"
                if name
                else f"- {_inline(text, _RST, linked)}"
                for name, text in part.items
            )
        return _inline(part.text, _RST, linked)

    return "\n\n".join(map(shown, parts(docstring)))


_MD = re.compile(r"([\\*_<>\[\]$#|])")
_RST = re.compile(r"([\\*_|`])")


def _inline(text: str, special: re.Pattern[str], code: Callable[[str], str] = "`{}`".format) -> str:
    """Return a line of text with its code in the right form and special characters escaped."""
    shown = ""
    was_code = False
    for place, piece in enumerate(_SPAN.split(text)):
        is_code = piece.startswith("`")
        if special is _RST and piece and shown:
            # reStructuredText sees markup only if it begins and ends at the edge of a word.
            if (is_code and shown[-1].isalnum()) or (was_code and piece[0].isalnum()):
                shown += "\\ "
        if place % 2 == 0:
            shown += special.sub(r"\\\1", piece)
        else:
            shown += code(piece.strip("`")) if is_code else piece
        if piece:
            was_code = is_code
    return shown
