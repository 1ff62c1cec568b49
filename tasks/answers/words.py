"""The rows of an answer in words: intervals in one column, numbers with the digits that matter."""

from typing import Any


def in_words(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row as it is shown."""
    shown: dict[str, Any] = {}
    for name, value in row.items():
        if name.endswith("_ci95_low"):
            about = name.removesuffix("_ci95_low")
            ends = (_number(about, one) for one in interval_of(row, about))
            shown["95 %" if about in ("mean", "n_users") else f"{about.replace('_', ' ')} 95 %"] = " to ".join(ends)
        elif name.endswith("_ci95_high"):
            continue
        elif name == "share_with_records":
            shown["with records"] = f"{value:.0%}"
        elif isinstance(value, float):
            shown[name.replace("_", " ")] = f"{value:,.0f}" if name.startswith("n_") else f"{value:.3g}"
        else:
            shown[name.replace("_", " ")] = value
    return shown


def interval_of(row: dict[str, Any], about: str) -> tuple[float, float]:
    """Return the ends of the interval of a number."""
    return row[f"{about}_ci95_low"], row[f"{about}_ci95_high"]


def _number(about: str, value: float) -> str:
    digits = 0 if about.startswith("n_") else 3 if about.startswith("share_above") else 1
    return f"{value:,.{digits}f}"
