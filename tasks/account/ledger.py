"""The ledger: what was released and what it cost, a line an entry, chained by hash. To append is to charge."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tasks.account.chain import chained, last_hash, read_lines, spendings
from tasks.account.changes import entry_of
from tasks.account.commit import commit, finish
from tasks.account.entry import Entry, Stated
from tasks.account.head import check_head, read_head
from tasks.account.ledger_file import read_bytes
from tasks.base.durable import canonical_json, make_folder
from tasks.base.errors import LedgerBroken, contained
from tasks.base.locks import turn
from tasks.base.owner import Spender
from tasks.base.storage import begin_ledger, check_kind, check_no_ledger_is_missing, ledger_path

_checked: dict[Path, tuple[bytes, list[Entry]]] = {}
"""The bytes of each ledger that this process has checked, and their entries. Bytes are compared, not times or sizes.
So every later change of the file is noticed, and only new lines are checked."""


@contextmanager
def locked(config: Spender) -> Iterator[None]:
    """Hold the ledger's lock: only one process at a time may look for a release, draw noise and append."""
    make_folder(config.storage_path)
    with turn(config.storage_path / "ledger.lock", "the ledger"):
        begin_ledger(config)
        finish(config)
        yield


def read_entries(config: Spender) -> list[Entry]:
    """Return every entry, oldest first, after checking the chain. Entries are shared: do not change them.

    Not all of them are releases; see ``chain.releases``.

    Raises:
        HexveilError: The storage is of a collection.
        LedgerBroken: A line was changed after it was written. The message names the first such line.
    """
    check_kind(config)
    path = ledger_path(config)
    head = read_head(config)  # before the ledger, because another process may append meanwhile
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
    entries.extend(map(entry_of, read_lines(path, lines, len(entries) + 1, last_hash(entries))))
    _checked[path] = content, entries
    check_head(entries, head, config)
    return list(entries)


@contained
def list_entries(config: Spender) -> list[Entry]:
    """Return every entry, for display; see ``read_entries``."""
    return read_entries(config)


@contained
def export(config: Spender) -> list[str]:
    """Return the ledger as JSON Lines, byte for byte, after checking its chain.

    ``docs/reference/ledger.md`` explains each field, and how anyone can check the whole.
    """
    return [canonical_json(entry.stated).decode() + "\n" for entry in read_entries(config)]


def append(entry: Stated, entries: list[Entry], config: Spender) -> Entry:
    """Append an entry and flush it to disk; the caller holds the lock. This makes the release.

    After a crash in the middle, the next process that holds the lock completes the entry: see ``commit``.

    Args:
        entry: All fields of a release or an amendment, except its number, the previous entry's hash and its own hash.
        entries: The entries before it, as the caller read them under the lock.
        config: Says where the ledger is.

    Returns:
        The complete entry.

    Raises:
        LedgerBroken: The release is in the ledger already.
        OSError: It could not be written, and the ledger is as it was before. If the entry was already stored privately,
            the next process that holds the lock completes it, so that nothing is drawn again.
    """
    released = {one.release_id for one in spendings(entries)}
    if entry.get("release_id") in released:
        raise LedgerBroken(f"{entry['release_id']} is in the ledger already; it cannot be released twice")
    entry = chained(entry, entries[-1].stated if entries else None)
    commit(entry, config)
    return entry_of(entry)


def _in_order(path: Path, content: bytes) -> tuple[bytes, list[Entry]]:
    """Return the start of a ledger that was checked earlier, and a list of its entries; nothing if it differs."""
    known, entries = _checked.get(path, (b"", []))
    return (known, list(entries)) if content.startswith(known) else (b"", [])
