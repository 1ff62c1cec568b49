"""The ledger: what was released and what it cost, one line a release, chained by hash. Appending is releasing."""

import fcntl
import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

from dpmath.accounting import LOSS_UNIT_BITS
from tasks.config import Config
from tasks.durable import canonical_json, flush_folder, sha256, write_whole
from tasks.errors import LedgerBroken, contained
from tasks.locks import turn
from tasks.logs import warn

Entry = dict[str, Any]

NO_PREVIOUS = "0" * 64

_checked: dict[Path, tuple[bytes, list[Entry]]] = {}
"""The bytes of each ledger that this process has found in order, and their entries. Bytes are compared, not times or
sizes, so that whatever was done to the file since is seen, and only what is new is checked."""

log = logging.getLogger("hexveil.ledger")


def ledger_path(config: Config) -> Path:
    """Return where the ledger is."""
    return config.storage_path / "ledger.jsonl"


@contextmanager
def locked(config: Config) -> Iterator[None]:
    """Hold the ledger alone: only one process at a time may look for a release, draw noise and append."""
    config.storage_path.mkdir(parents=True, exist_ok=True)
    with turn(config.storage_path / "ledger.lock", "the ledger"):
        _cut_unfinished_line(config)
        yield


def read_entries(config: Config) -> list[Entry]:
    """Return every entry, oldest first, after checking the chain; entries are shared and not to be changed.

    Raises:
        LedgerBroken: Names the first line that is not what it was when it was written.
    """
    path = ledger_path(config)
    head = _read_head(config)  # before the ledger: another process may append meanwhile
    content = _content(path)
    known, entries = _in_order(path, content)
    lines = content[len(known) :].split(b"\n")
    if lines.pop():
        n_whole = len(entries) + len(lines)
        unfinished = f"{path}: line {n_whole + 1} is not finished"
        if n_whole < head["number"]:
            raise LedgerBroken(f"{unfinished}, though it was once written whole; restore the file from backup")
        raise LedgerBroken(f"{unfinished}: its release was not made. Run a day again, which takes the line away")
    for number, line in enumerate(lines, start=len(entries) + 1):
        problem = _problem(line, number, entries[-1]["hash"] if entries else NO_PREVIOUS)
        if problem:
            raise LedgerBroken(f"{path}: line {number} {problem}; restore the file from backup")
        entries.append(json.loads(line))
    _checked[path] = content, entries
    _check_head(entries, head, config)
    return list(entries)


@contained
def list_entries(config: Config) -> list[Entry]:
    """Return every entry, for showing; see ``read_entries``."""
    return read_entries(config)


@contained
def export(config: Config) -> list[str]:
    """Return the ledger as JSON Lines, byte for byte as it stands, after checking its chain.

    ``deploy/LEDGER.md`` says what each field means and how a stranger checks the whole.
    """
    return [canonical_json(entry).decode() + "\n" for entry in read_entries(config)]


def append(entry: Entry, entries: list[Entry], config: Config) -> Entry:
    """Append an entry and flush it to disk; the caller holds the lock. From here on the release is made.

    Args:
        entry: Everything but its number, the previous entry's hash and its own.
        entries: The entries before it, as the caller read them under the lock.
        config: Says where the ledger is.

    Returns:
        The whole entry.

    Raises:
        LedgerBroken: The release is in the ledger already.
        OSError: It could not be written, and the ledger is as it was before.
    """
    if any(entry["release_id"] == one["release_id"] for one in entries):
        raise LedgerBroken(f"{entry['release_id']} is in the ledger already; it cannot be released twice")
    entry = {**entry, "number": len(entries) + 1, "previous_hash": entries[-1]["hash"] if entries else NO_PREVIOUS}
    entry["hash"] = entry_hash(entry)
    _append_line(ledger_path(config), canonical_json(entry) + b"\n")
    _note_head(entry, config)
    return entry


def entry_hash(entry: Entry) -> str:
    """Return the SHA-256 of an entry's canonical form without its own hash."""
    return sha256(canonical_json({key: value for key, value in entry.items() if key != "hash"}))


def exact_decimal(loss_units: int) -> str:
    """Return a privacy loss, counted in units of 2^-50, as the exact decimal number it is."""
    sign, digits, _ = Decimal(loss_units * 5**LOSS_UNIT_BITS).as_tuple()
    exact = Decimal((sign, digits, -LOSS_UNIT_BITS))
    return format(exact, "f").rstrip("0").rstrip(".")


def _content(path: Path) -> bytes:
    """Return the ledger's bytes, never in the middle of an append."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            return file.read()
    except FileNotFoundError:
        return b""


def _in_order(path: Path, content: bytes) -> tuple[bytes, list[Entry]]:
    """Return the beginning of a ledger that was checked before, and a list of its entries; nothing if it is another."""
    known, entries = _checked.get(path, (b"", []))
    return (known, list(entries)) if content.startswith(known) else (b"", [])


def _head_path(config: Config) -> Path:
    """Return where the last entry's number and hash are noted, so that a ledger cut short is noticed."""
    return config.storage_path / "private" / "ledger-head"


def _note_head(entry: Entry, config: Config) -> None:
    try:
        write_whole(_head_path(config), canonical_json({key: entry[key] for key in ("number", "hash")}))
    except OSError:
        warn(
            log,
            "end of the ledger could not be noted, the next release does",
            file=_head_path(config),
        )


def _read_head(config: Config) -> Entry:
    """Return the number and hash of the last entry that was noted; number 0 where none was."""
    path = _head_path(config)
    if not path.exists():
        return {"number": 0, "hash": NO_PREVIOUS}
    try:
        head = json.loads(path.read_bytes())
        return {"number": int(head["number"]), "hash": str(head["hash"])}
    except (ValueError, TypeError, KeyError):
        problem = f"{path} is damaged; restore it from backup, or delete it if the ledger is known to be whole"
    raise LedgerBroken(problem)


def _check_head(entries: list[Entry], head: Entry, config: Config) -> None:
    if head["number"] and (len(entries) < head["number"] or entries[head["number"] - 1]["hash"] != head["hash"]):
        raise LedgerBroken(
            f"{ledger_path(config)}: {len(entries)} entries are here, but entry {head['number']} with hash "
            f"{head['hash'][:12]}… was written; restore the whole file from backup"
        )


def _cut_unfinished_line(config: Config) -> None:
    """Take away a last line without an end: its append was never acknowledged, so nobody saw what it names.

    What is taken away is set aside. A line that lacks its line end alone is whole, and is given it.
    """
    path = ledger_path(config)
    content = _content(path)
    if content.endswith(b"\n"):
        return
    whole, _, rest = content.rpartition(b"\n")
    lines = whole.split(b"\n") if whole else []
    if not rest or len(lines) < _read_head(config)["number"] - 1:
        return
    try:
        previous_hash = json.loads(lines[-1])["hash"] if lines else NO_PREVIOUS
    except (ValueError, TypeError, KeyError):
        return  # the reader names that line
    with path.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if _problem(rest, len(lines) + 1, previous_hash) is None:
            file.seek(0, os.SEEK_END)
            file.write(b"\n")
        elif len(lines) >= _read_head(config)["number"]:
            aside = path.with_name("ledger.unfinished")
            warn(
                log,
                "an unfinished line was never released and is set aside",
                ledger=path,
                aside=aside,
            )
            write_whole(aside, rest)
            file.truncate(len(content) - len(rest))
        file.flush()
        os.fsync(file.fileno())


def _no_float(text: str) -> None:
    raise ValueError(text)


def _problem(line: bytes, number: int, previous_hash: str) -> str | None:
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


def _append_line(path: Path, line: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        size = os.fstat(descriptor).st_size
        try:
            if os.write(descriptor, line) < len(line):
                raise OSError(28, os.strerror(28), str(path))
            os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, size)
            os.fsync(descriptor)
            raise
    finally:
        os.close(descriptor)
    flush_folder(path.parent)
