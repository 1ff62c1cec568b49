"""The head: a private note of the ledger's last entry, so that a ledger cut short or put back is noticed."""

import json
from pathlib import Path

from tasks.account.chain import NO_PREVIOUS
from tasks.account.entry import Entry, Stated
from tasks.base.config import Config
from tasks.base.durable import canonical_json, write_whole
from tasks.base.errors import LedgerBroken
from tasks.base.storage import ledger_path


def head_path(config: Config) -> Path:
    """Return where the last entry's number and hash are noted."""
    return config.storage_path / "private" / "ledger-head"


def note_head(entry: Stated, config: Config) -> None:
    """Note the last entry."""
    write_whole(head_path(config), canonical_json({key: entry[key] for key in ("number", "hash")}))


def read_head(config: Config) -> Stated:
    """Return the number and hash of the last entry that was noted; number 0 where none was.

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


def check_head(entries: list[Entry], head: Stated, config: Config) -> None:
    """Check that the ledger holds the entry that was noted.

    Raises:
        LedgerBroken: It does not.
    """
    if head["number"] and (len(entries) < head["number"] or entries[head["number"] - 1].hash != head["hash"]):
        raise LedgerBroken(
            f"{ledger_path(config)}: {len(entries)} entries are here, but entry {head['number']} with hash "
            f"{head['hash'][:12]}… was written; restore the whole file from backup"
        )
