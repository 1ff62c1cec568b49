"""The ledger: what was released and what it cost, one line an entry, chained by hash. Appending is releasing."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tasks.account.chain import chained, last_hash, problem_of, releases
from tasks.account.commit import commit, finish
from tasks.account.entry import Amendment, Entry, Release, Stated, entry_of
from tasks.account.head import check_head, read_head
from tasks.account.ledger_file import read_bytes
from tasks.base.config import Config
from tasks.base.durable import canonical_json
from tasks.base.errors import LedgerBroken, contained
from tasks.base.locks import turn
from tasks.base.storage import begin_ledger, check_no_ledger_is_missing, ledger_path

_checked: dict[Path, tuple[bytes, list[Entry]]] = {}
"""The bytes of each ledger that this process has found in order, and their entries. Bytes are compared, not times or
sizes, so that whatever was done to the file since is seen, and only what is new is checked."""


@contextmanager
def locked(config: Config) -> Iterator[None]:
    """Hold the ledger alone: only one process at a time may look for a release, draw noise and append."""
    config.storage_path.mkdir(parents=True, exist_ok=True)
    with turn(config.storage_path / "ledger.lock", "the ledger"):
        begin_ledger(config)
        finish(config)
        yield


def read_entries(config: Config) -> list[Entry]:
    """Return every entry, oldest first, after checking the chain; entries are shared and not to be changed.

    Not all of them are releases: ``chain.releases`` says which.

    Raises:
        LedgerBroken: Names the first line that is not what it was when it was written.
    """
    path = ledger_path(config)
    head = read_head(config)  # before the ledger: another process may append meanwhile
    content = read_bytes(path)
    if not content:
        check_no_ledger_is_missing(config)
    known, entries = _in_order(path, content)
    lines = content[len(known) :].split(b"\n")
    if lines.pop():
        n_whole = len(entries) + len(lines)
        unfinished = f"{path}: line {n_whole + 1} is not finished"
        if n_whole < head["number"]:
            raise LedgerBroken(f"{unfinished}, though it was once written whole; restore the file from backup")
        raise LedgerBroken(f"{unfinished}: a run was cut off there. Run a day again, which mends it")
    for number, line in enumerate(lines, start=len(entries) + 1):
        problem = problem_of(line, number, last_hash(entries))
        if problem:
            raise LedgerBroken(f"{path}: line {number} {problem}; restore the file from backup")
        entries.append(entry_of(json.loads(line)))
    _checked[path] = content, entries
    check_head(entries, head, config)
    return list(entries)


@contained
def list_entries(config: Config) -> list[Entry]:
    """Return every entry, for showing; see ``read_entries``."""
    return read_entries(config)


@contained
def export(config: Config) -> list[str]:
    """Return the ledger as JSON Lines, byte for byte as it stands, after checking its chain.

    ``docs/reference/ledger.md`` says what each field means and how a stranger checks the whole.
    """
    return [canonical_json(entry.stated).decode() + "\n" for entry in read_entries(config)]


def append(entry: Stated, entries: list[Entry], config: Config) -> Release | Amendment:
    """Append an entry and flush it to disk; the caller holds the lock. From here on the release is made.

    A crash in the middle of it leaves an entry that is finished by whoever next holds the lock: see ``commit``.

    Args:
        entry: Everything of a release, or of an amendment of the budget, but its number, the previous entry's hash
            and its own.
        entries: The entries before it, as the caller read them under the lock.
        config: Says where the ledger is.

    Returns:
        The whole entry.

    Raises:
        LedgerBroken: The release is in the ledger already.
        OSError: It could not be written, and the ledger is as it was before. If the entry was stored privately by
            then, whoever next holds the lock finishes it, so that nothing is drawn anew.
    """
    released = {one.release_id for one in releases(entries)}
    if entry.get("release_id") in released:
        raise LedgerBroken(f"{entry['release_id']} is in the ledger already; it cannot be released twice")
    entry = chained(entry, entries)
    commit(entry, config)
    return entry_of(entry)


def _in_order(path: Path, content: bytes) -> tuple[bytes, list[Entry]]:
    """Return the beginning of a ledger that was checked before, and a list of its entries; nothing if it is another."""
    known, entries = _checked.get(path, (b"", []))
    return (known, list(entries)) if content.startswith(known) else (b"", [])
