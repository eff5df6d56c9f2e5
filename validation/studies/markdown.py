"""Markdown: tables, and the generated parts of a page that is otherwise written by hand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from nht_theory.errors import InputError

BEGIN, END = "<!-- generated: {name} -->", "<!-- end of generated -->"


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table.

    Example:
        >>> print(table(("a", "b"), [(1, "x|y")]))
        | a | b |
        | --- | --- |
        | 1 | x\\|y |
    """
    lines = [[str(cell) for cell in header], ["---"] * len(header)]
    lines += [[_cell(cell) for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(value: object) -> str:
    return "" if value is None else str(value).replace("|", "\\|").replace("\n", " ")


def block(name: str, content: str) -> str:
    """A generated part, between its marks."""
    return f"{BEGIN.format(name=name)}\n\n{content.strip()}\n\n{END}"


def with_blocks(page: str, blocks: Mapping[str, str], source: object) -> str:
    """The page with each of its generated parts replaced.

    Raises:
        InputError: the page lacks a part, or has one that nothing generates.

    Example:
        >>> with_blocks(block("a", "old"), {"a": "new"}, "page") == block("a", "new")
        True
    """
    found = re.findall(r"<!-- generated: (\w+) -->", page)
    if sorted(found) != sorted(blocks):
        raise InputError(
            f"has the generated parts {sorted(found)}, not {sorted(blocks)}",
            source=source,
            remedy="add or take away the marks by hand, or delete the page to begin anew",
        )
    for name, content in blocks.items():
        pattern = re.escape(BEGIN.format(name=name)) + r".*?" + re.escape(END)
        page = re.sub(pattern, lambda _, n=name, c=content: block(n, c), page, flags=re.DOTALL)
    return page


def number(value: float | None, digits: int = 4) -> str:
    """A number for people: thousands separated, ``digits`` significant ones.

    Example:
        >>> [number(value) for value in (13419.2, 0.123456, 0.0000123456, None)]
        ['13,419', '0.1235', '1.235e-05', '']
    """
    if value is None:
        return ""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"
