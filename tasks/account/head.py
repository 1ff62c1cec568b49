"""The head: a private note of the ledger's last entry, to detect a ledger that was cut or replaced by an older one."""

import json
from pathlib import Path

from tasks.account.chain import NO_PREVIOUS
from tasks.account.entry import Entry, Stated
from tasks.base.durable import canonical_json, write_whole
from tasks.base.errors import LedgerBroken
from tasks.base.owner import Spender
from tasks.base.storage import ledger_path


def head_path(config: Spender) -> Path:
    """Return the path of the note with the last entry's number and hash."""
    return config.storage_path / "private" / "ledger-head"


def note_head(entry: Stated, config: Spender) -> None:
    """Note the last entry."""
    write_whole(head_path(config), canonical_json({key: entry[key] for key in ("number", "hash")}))


def read_head(config: Spender) -> Stated:
    """Return the noted number and hash of the last entry; number 0 if there is no note.

    Raises:
        LedgerBroken: The note is damaged.
    """
    path = head_path(config)
    if not path.exists():
        return {"number": 0, "hash": NO_PREVIOUS}
    try:
        head = json.loads(path.read_bytes())
        return {"number": int(head["number"]), "hash": str(head["hash"])}
    except (ValueError, TypeError, KeyError):
        problem = f"{path} is damaged; restore it from backup, or delete it if the ledger is known to be whole"
    raise LedgerBroken(problem)


def check_head(entries: list[Entry], head: Stated, config: Spender) -> None:
    """Check that the ledger contains the noted entry.

    Raises:
        LedgerBroken: It does not.
    """
    if head["number"] and (len(entries) < head["number"] or entries[head["number"] - 1].hash != head["hash"]):
        raise LedgerBroken(
            f"{ledger_path(config)}: {len(entries)} entries are here, but entry {head['number']} with hash "
            f"{head['hash'][:12]}… was written; restore the whole file from backup"
        )
