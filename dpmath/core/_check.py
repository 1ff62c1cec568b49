"""Argument checks: each raises ``ValueError`` saying what the argument must be."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # devices import this module, and have no numpy
    import numpy as np

Number = int | float | Fraction


def positive(**arguments: Number) -> None:
    """Refuse any argument that is not a finite number above 0."""
    for name, value in arguments.items():
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{name}={value} must be a finite number above 0")


def at_least(least: int, **arguments: int) -> None:
    """Refuse any argument below ``least``."""
    for name, value in arguments.items():
        if value < least:
            raise ValueError(f"{name}={value} must be at least {least}")


def same_length(**arguments: "np.ndarray[Any, Any]") -> None:
    """Refuse one-dimensional arrays of different lengths."""
    lengths = {name: array.shape for name, array in arguments.items()}
    if len(set(lengths.values())) > 1 or any(len(shape) != 1 for shape in lengths.values()):
        raise ValueError(f"shapes {lengths} must be one-dimensional and equal")


def all_at_least(least: int, **arguments: "np.ndarray[Any, Any]") -> None:
    """Refuse an array with an element below ``least``."""
    for name, array in arguments.items():
        if array.size and array.min() < least:
            raise ValueError(f"{name} must be at least {least} in every element, not {array.min()}")


def user_totals(records: "np.ndarray[Any, Any]", private_totals: Sequence[int], value_range: int) -> list[int]:
    """Return the users' totals as Python integers, refusing any that its records cannot add up to."""
    at_least(1, value_range=value_range, n_users=records.size)
    all_at_least(1, records=records)
    totals = [int(total) for total in private_totals]
    if len(totals) != records.size or any(
        not 0 <= total <= value_range * m for total, m in zip(totals, records.tolist(), strict=True)
    ):
        raise ValueError("private_totals must be one a user, each from 0 to value_range records")
    return totals
