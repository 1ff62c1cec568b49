"""Thinning: takes some of many records, evenly spread over all of them."""

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")

MOST_RECORDS = 5_000
"""How many records of a file `init` looks at, from its beginning and from all over it."""


def evenly(records: Iterable[T], n: int) -> list[T]:
    """Return every k-th record, the first included: all if there are fewer than 2n, else n to 2n of them.

    Which ones depends on how many records there are, and on nothing in them.

    Args:
        records: They are gone through once, and few are held.
        n: At least so many are taken, if there are as many.
    """
    kept: list[T] = []
    step = 1
    for number, one in enumerate(records):
        if number % step == 0:
            kept.append(one)
            if len(kept) == 2 * n:
                kept, step = kept[::2], 2 * step
    return kept
