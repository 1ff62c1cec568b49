"""The rows of an answer in words: intervals in one column, numbers with the digits that matter."""

import math
import re
from collections.abc import Sequence
from typing import Any

MOST_NAMES = 5
"""So many are named in a sentence."""
_MOST_DIGITS = 12
_LIMIT = re.compile(r"(?<=share_above_)(minus_)?(\d+)(?:_(\d+))?")


def some_of(names: Sequence[str]) -> str:
    """Return the first of many names."""
    return ", ".join(names[:MOST_NAMES]) + (" and others" if len(names) > MOST_NAMES else "")


def in_words(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row as it is shown."""
    shown: dict[str, Any] = {}
    for name, value in row.items():
        if name.endswith("_ci95_low"):
            about = name.removesuffix("_ci95_low")
            shown["95 %" if about in ("mean", "n_users") else f"{_words(about)} 95 %"] = interval_in_words(row, about)
        elif name.endswith("_ci95_high"):
            continue
        elif name == "share_with_records":
            shown["with records"] = f"{value:.0%}"
        elif isinstance(value, bool):
            shown[_words(name)] = "yes" if value else "no"
        elif isinstance(value, float):
            shown[_words(name)] = number_in_words(row, name, value)
        else:
            shown[_words(name)] = value
    return shown


def interval_of(row: dict[str, Any], about: str) -> tuple[float, float]:
    """Return the ends of the interval of a number."""
    return row[f"{about}_ci95_low"], row[f"{about}_ci95_high"]


def interval_in_words(row: dict[str, Any], about: str) -> str:
    """Return the interval of a number."""
    return " to ".join(number_in_words(row, about, end) for end in interval_of(row, about))


def number_in_words(row: dict[str, Any], about: str, value: float) -> str:
    """Return a number with the digits that its deviation leaves it; with a few that are not 0 if it has none."""
    if about.startswith("n_"):
        return f"{value:,.0f}"
    deviation = row.get(f"{about}_sd")
    if deviation is None:
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    least = 3 if any(name.startswith("share_above") for name in row) else 1
    needed = math.ceil(-math.log10(deviation)) if 0 < deviation < math.inf else 0
    said = f"{value:,.{min(max(least, needed), _MOST_DIGITS)}f}"
    return said.removeprefix("-") if float(said.replace(",", "")) == 0 else said


def _words(name: str) -> str:
    """Return the name of a column in words, with its limit as a number."""
    return _LIMIT.sub(lambda of: "-" * bool(of[1]) + of[2] + (f".{of[3]}" if of[3] else ""), name).replace("_", " ")
