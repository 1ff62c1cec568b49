"""Whether the fields of an entry are of the types that they must have."""

import datetime as dt
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from dpmath.core.currency import currency_of


def first_of_another_type(stated: dict[str, Any], types: Iterable[tuple[Sequence[str], type]]) -> str | None:
    """Return the first of some fields that is missing or not exactly of its type; None if there is none."""
    return next((name for names, kind in types for name in names if type(stated.get(name)) is not kind), None)


def is_canonical_date(text: str) -> bool:
    """Return whether a text is a date as this program writes it."""
    try:
        return dt.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def problem_with_currency(stated: dict[str, Any]) -> str | None:
    """Return the first field about the account's currency that cannot be read; None if all can."""
    try:
        delta = None if stated["delta"] is None else Decimal(stated["delta"])
        currency = currency_of(stated["definition"], delta)
        if delta is not None and not 0 < delta < 1:
            return "delta"
    except (KeyError, TypeError, ValueError, ArithmeticError):
        return "definition or delta"
    if stated.get("loss_unit") != f"2^-{currency.unit_bits}":
        return "loss_unit"
    names = ("loss", "loss_total_after", "loss_total_limit", "loss_left")
    return next((name for name in names if not str(stated.get(name)).isdecimal()), None)
