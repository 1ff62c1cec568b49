"""Anchors: the ledger's last line in a few characters, for people to keep where this machine cannot change it."""

import re

from tasks.account.chain import last_hash
from tasks.account.ledger import ledger_path, read_entries
from tasks.base.config import Config
from tasks.base.errors import HexveilError, LedgerBroken, contained

_ANCHOR = re.compile(r"(0|[1-9][0-9]{0,17}):([0-9a-f]{64})")


@contained
def ledger_head(config: Config) -> str:
    """Return number and hash of the last entry, after checking the chain; 0 and zeros for an empty ledger."""
    entries = read_entries(config)
    return f"{len(entries)}:{last_hash(entries)}"


@contained
def check_anchor(anchor: str, config: Config) -> None:
    """Check that the ledger still has a line that was noted earlier, and so everything before that line.

    Args:
        anchor: What ``ledger_head`` returned then.
        config: Says where the ledger is.

    Raises:
        HexveilError: It is not an anchor.
        LedgerBroken: The ledger has no such line.
    """
    found = _ANCHOR.fullmatch(anchor.strip())
    if found is None:
        raise HexveilError("give --expect NUMBER:HASH, as `hexveil ledger head` printed it: 64 digits from 0 to f")
    number, noted = int(found[1]), found[2]
    entries = read_entries(config)
    path = ledger_path(config)
    if number > len(entries):
        raise LedgerBroken(
            f"{path} has {len(entries)} entries, but entry {number} was noted: it was cut, or an older one was "
            "restored. Restore the last one from backup"
        )
    if last_hash(entries[:number]) != noted:
        raise LedgerBroken(
            f"{path}: entry {number} has another hash than was noted, so the ledger was rewritten since that line was "
            "noted. Restore it from a copy that has the line"
        )
