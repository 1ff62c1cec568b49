"""What a reader of a release must know before its numbers."""

from collections.abc import Mapping
from typing import Any

from tasks.account.in_words import paid_in_part_in_words

WHOLE_DAY = "whole_day"
"""The field with the mean over all records of an estimated day, how unsure it is, and how far cells are from it."""


def said_first(stated: Mapping[str, Any]) -> str | None:
    """Return what the fields of an entry say that must be known first, in sentences; None if nothing."""
    return " ".join(filter(None, (paid_in_part_in_words(stated), guess_in_words(stated)))) or None


def guess_in_words(stated: Mapping[str, Any]) -> str | None:
    """Return that a map is a guess, in a sentence; None if it is none, or nothing is known of that.

    The square of its expected error is that of the best single number, less what cells are told apart by, and more by
    what its mean is unsure by.
    """
    day = stated.get(WHOLE_DAY) or {}
    if "spread" not in day or float(day["spread"]) > float(day["mean_sd"]):
        return None
    unit = stated["settings"]["value"]["unit"]
    return (
        f"This map is a guess: its mean is unsure by {day['mean_sd']} {unit}, and its cells differ from that by "
        f"{day['spread']} {unit}, no more. One right number "
        "for the whole day would be expected to be nearer to the truth."
    )
