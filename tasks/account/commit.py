"""Append a line to the ledger so that a line cut short by a crash is completed, and never drawn a second time."""

import json
import logging
from pathlib import Path

from tasks.account.chain import NO_PREVIOUS, problem_of, spendings
from tasks.account.changes import entry_of
from tasks.account.entry import Stated
from tasks.account.head import note_head, read_head
from tasks.account.ledger_file import append_line, erase, read_bytes
from tasks.account.witnesses import mark_paid
from tasks.base.durable import canonical_json, flush_folder, read_named_by_hash, write_whole
from tasks.base.errors import LedgerBroken
from tasks.base.logs import say, warn
from tasks.base.owner import Spender
from tasks.base.storage import ledger_path

log = logging.getLogger("hexveil.ledger")


def pending_path(config: Spender) -> Path:
    """Return where a complete entry is stored from before its append until it is safely in the ledger."""
    return config.storage_path / "private" / "pending-entry"


def commit(entry: Stated, config: Spender) -> None:
    """Append a complete entry to the ledger; the caller holds the lock.

    The ledger is public. Its lines contain hashes of what was drawn, from which a single noisy sum can be guessed. So
    no byte of a line may be written before it is certain that the whole line will be in the ledger. The line is stored
    privately first, and the next process that holds the lock completes it.

    Raises:
        OSError: Nothing of the line was published, or the ledger is as it was before and the next run completes the
            entry.
    """
    line = canonical_json(entry) + b"\n"
    write_whole(pending_path(config), line)
    append_line(ledger_path(config), line)
    _settle(entry, config)


def finish(config: Spender) -> None:
    """Complete what a crash or a full disk interrupted; the caller holds the lock.

    Raises:
        LedgerBroken: An entry is pending, and it does not follow the ledger's last line.
    """
    _remove_leftovers(config)
    path = pending_path(config)
    if path.exists():
        line = path.read_bytes()
        _roll_forward(_whole_entry(line, path), line, config)
    _end_last_line(config)


def _settle(entry: Stated, config: Spender) -> None:
    """Do what follows an append. If it fails, the next run does it, because the pending entry stays."""
    try:
        note_head(entry, config)
        mark_paid(spendings([entry_of(entry)]), config)
        pending_path(config).unlink(missing_ok=True)
        flush_folder(pending_path(config).parent)
    except OSError:
        warn(log, "end of the ledger could not be noted, the next run does", number=entry["number"])


def _roll_forward(entry: Stated, line: bytes, config: Spender) -> None:
    """Append a pending entry to the ledger, if it is not there yet."""
    path, number = ledger_path(config), entry["number"]
    *lines, torn = read_bytes(path).split(b"\n")
    if lines[number - 1 : number] != [line[:-1]]:
        previous_hash = _hash_of(lines)
        if previous_hash is None:
            return  # the reader reports that line
        if problem_of(line[:-1], len(lines) + 1, previous_hash) is not None:
            raise LedgerBroken(
                f"{pending_path(config)} holds entry {number}, which was being written when a run was cut off, but "
                f"{path} has {len(lines)} entries and is not what it follows: an older ledger was restored, or "
                "another. Restore the newest one; the next run then finishes the entry"
            )
        _check_files(entry, config)
        if torn:
            erase(path, sum(len(one) + 1 for one in lines))
        append_line(path, line)
        say(log, "entry that was cut off is finished", number=number)
    _settle(entry, config)


def _whole_entry(line: bytes, path: Path) -> Stated:
    """Return the entry of a pending line, which must be complete."""
    try:
        entry: Stated = json.loads(line)
        if problem_of(line.removesuffix(b"\n"), entry["number"], entry["previous_hash"]) is None:
            return entry
    except (ValueError, TypeError, KeyError):
        pass
    raise LedgerBroken(
        f"{path} is damaged, so the entry that it holds cannot be finished; restore it, or the whole storage, from "
        "backup"
    )


def _check_files(entry: Stated, config: Spender) -> None:
    """Check that the files of a pending entry still exist and are unchanged: the release is published from them."""
    private = pending_path(config).parent
    losses = entry.get("losses", {})
    names = [(private / "plans", name) for name in (losses.values() if isinstance(losses, dict) else [losses])]
    names += [(private / "plans", entry["plan"])] if "plan" in entry else []
    names += [(private / "releases", name) for of in ("files", "kept") for name in entry.get(of, {}).values()]
    for folder, name in names:
        if read_named_by_hash(folder, name) is None:
            raise LedgerBroken(
                f"{folder / name} is missing or was changed, so entry {entry['number']} in {pending_path(config)} "
                "cannot be finished; restore the file"
            )


def _hash_of(lines: list[bytes]) -> str | None:
    """Return the hash in the last of some lines; None if it cannot be read."""
    try:
        return str(json.loads(lines[-1])["hash"]) if lines else NO_PREVIOUS
    except (ValueError, TypeError, KeyError):
        return None


def _end_last_line(config: Spender) -> None:
    """Remove a last line without an end that has no pending entry: this code writes none.

    It is not kept, because it may reveal a draw that was discarded. If only the line end is missing, it is added.
    """
    path = ledger_path(config)
    *lines, torn = read_bytes(path).split(b"\n")
    previous_hash = _hash_of(lines)
    n_noted = read_head(config)["number"] if torn else 0
    if not torn or previous_hash is None or len(lines) < n_noted - 1:
        return
    if problem_of(torn, len(lines) + 1, previous_hash) is None:
        append_line(path, b"\n")
    elif len(lines) >= n_noted:
        warn(log, "an unfinished line was never released and is taken away", ledger=path)
        erase(path, sum(len(one) + 1 for one in lines))


def _remove_leftovers(config: Spender) -> None:
    """Remove the rest of an entry that was never begun."""
    for path in pending_path(config).parent.glob(".pending-entry.*"):
        erase(path)
        path.unlink()
