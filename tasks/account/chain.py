"""The chain: how an entry of the ledger is numbered and hashed, and how a changed line is found."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tasks.account.entry import Charge, Entry, Release, Spending, Stated
from tasks.base.durable import canonical_json, sha256
from tasks.base.errors import LedgerBroken

NO_PREVIOUS = "0" * 64
"""The previous hash of the first entry."""


def releases(entries: Iterable[Entry]) -> list[Release]:
    """Return the releases among the ledger's entries, in order."""
    return [entry for entry in entries if isinstance(entry, Release)]


def charges(entries: Iterable[Entry]) -> list[Charge]:
    """Return the entries that cost users, each its own, in order: releases and stopped days."""
    return [entry for entry in entries if isinstance(entry, Charge)]


def spendings(entries: Iterable[Entry]) -> list[Spending]:
    """Return the entries that cost anybody, in order."""
    return [entry for entry in entries if isinstance(entry, Spending)]


def chained(entry: Stated, previous: Stated | None) -> Stated:
    """Return an entry with its number, the hash of the entry before it, and its own hash.

    Args:
        entry: Its other fields.
        previous: The last entry of the ledger; None if there is none.
    """
    number, previous_hash = (1, NO_PREVIOUS) if previous is None else (previous["number"] + 1, previous["hash"])
    entry = {**entry, "number": number, "previous_hash": previous_hash}
    return {**entry, "hash": entry_hash(entry)}


def read_lines(path: Path, lines: Iterable[bytes], number: int, previous_hash: str) -> Iterator[Stated]:
    """Yield the entries of the ledger's lines, given without their line ends, after checking each.

    Args:
        path: The ledger, for the message.
        lines: The lines.
        number: The place of the first of them in the ledger, from 1.
        previous_hash: The hash of the entry before them.

    Raises:
        LedgerBroken: A line was changed after it was written. The message names the first such line.
    """
    for place, line in enumerate(lines, start=number):
        problem = problem_of(line, place, previous_hash)
        if problem:
            raise LedgerBroken(f"{path}: line {place} {problem}; restore the file from backup")
        entry: Stated = json.loads(line)
        previous_hash = entry["hash"]
        yield entry


def last_hash(entries: Sequence[Entry]) -> str:
    """Return the previous hash of the next entry."""
    return entries[-1].hash if entries else NO_PREVIOUS


def entry_hash(entry: Stated) -> str:
    """Return the SHA-256 of an entry's canonical form without its own hash."""
    return sha256(canonical_json({key: value for key, value in entry.items() if key != "hash"}))


def problem_of(line: bytes, number: int, previous_hash: str) -> str | None:
    """Return what is wrong with a line of the ledger, given without its line end; None if nothing.

    Args:
        line: The line.
        number: Its place in the ledger, from 1.
        previous_hash: The hash of the entry before it.
    """
    try:
        entry = json.loads(line, parse_float=_no_float)
        if canonical_json(entry) != line:
            return "is not in canonical form"
        if entry["hash"] != entry_hash(entry):
            return "was changed: its hash does not match"
        if entry["previous_hash"] != previous_hash or entry["number"] != number:
            return "does not follow the line before it"
    except (ValueError, TypeError, KeyError):
        return "is not a ledger entry"
    return None


def _no_float(text: str) -> None:
    raise ValueError(text)
