"""Markdown for the scheduler's pages: tables, and texts that may hold anything."""

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

_MARKUP = re.compile(r"[\\`*_{}\[\]<>()#+!|~&]")


def table(names: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> str:
    """Return a table in Markdown; its first column is text."""
    lines = [names, ("---", *["---:"] * (len(names) - 1)), *rows]
    return "\n".join("| " + " | ".join(text(cell) for cell in line) + " |" for line in lines)


def text(value: Any) -> str:
    """Return a value as text for a table cell, escaped: names come from a configuration and may hold anything."""
    if isinstance(value, float | Decimal):
        return f"{value:.4g}" if isinstance(value, float) else f"{value:.6f}"
    if isinstance(value, int):
        return f"{value:,}"
    return _MARKUP.sub(r"\\\g<0>", str(value)).replace("\n", " ")
