"""Anchors: what stands for the whole ledger in three lines, for people to keep where this machine cannot change it."""

import base64
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from tasks.account.chain import last_hash
from tasks.account.entry import Entry
from tasks.account.ledger import ledger_path, read_entries
from tasks.account.signed_notes import check_signed, signed
from tasks.base.durable import canonical_json
from tasks.base.errors import HexveilError, LedgerBroken, contained
from tasks.base.owner import Spender

_OF_CHAIN = re.compile(r"(0|[1-9][0-9]{0,17}):([0-9a-f]{64})")
_CHECKPOINT = re.compile(r"(\S+)\n(0|[1-9][0-9]{0,17})\n([A-Za-z0-9+/]{43}=)(?:\n(?:[^\n]+\n)*(?:\n.*)?)?", re.DOTALL)


@contained
def ledger_head(config: Spender, key_file: Path | None = None) -> str:
    """Return the checkpoint of the ledger, after checking the chain: https://c2sp.org/tlog-checkpoint.

    Its lines are the name of the log, the number of entries, and the root of their Merkle tree (RFC 6962).

    Args:
        config: Says where the ledger is.
        key_file: The owner's private key, to sign it with; None to leave it without a signature.

    Raises:
        HexveilError: The file is no such key.
    """
    entries = read_entries(config)
    text = f"{_origin(config)}\n{len(entries)}\n{_root(entries)}\n"
    return text if key_file is None else signed(text, _origin(config), key_file)


@contained
def check_anchor(anchor: str, config: Spender, key_file: Path | None = None) -> None:
    """Check that the ledger still has a line that was noted earlier, and everything before that line.

    Args:
        anchor: The file of a checkpoint, signed or not; or ``NUMBER:HASH``, the number and hash of the line.
        config: Says where the ledger is.
        key_file: The owner's public key, which must have signed the checkpoint; None to look at no signature.

    Raises:
        HexveilError: It is no anchor, or one of another ledger, or not signed by the key.
        LedgerBroken: The ledger has no such line.
    """
    of_chain = _OF_CHAIN.fullmatch(anchor.strip())
    number, noted = (int(of_chain[1]), of_chain[2]) if of_chain else _read_checkpoint(Path(anchor), config)
    if key_file is not None:
        if of_chain:
            raise HexveilError("--public-key is for a checkpoint that was signed; NUMBER:HASH has no signature")
        check_signed(Path(anchor).read_text(encoding="utf-8"), _origin(config), key_file)
    entries = read_entries(config)
    path = ledger_path(config)
    if number > len(entries):
        raise LedgerBroken(
            f"{path} has {len(entries)} entries, but entry {number} was noted: it was cut, or an older one was "
            "restored. Restore the last one from backup"
        )
    if noted != (last_hash if of_chain else _root)(entries[:number]):
        raise LedgerBroken(
            f"{path}: up to entry {number} it is another than was noted, so the ledger was rewritten since that line "
            "was noted. Restore it from a copy that has the line"
        )


def merkle_root(leaves: Sequence[bytes]) -> bytes:
    """Return the root of the Merkle tree of RFC 6962 over some leaves."""
    level = [hashlib.sha256(b"\0" + leaf).digest() for leaf in leaves] or [hashlib.sha256().digest()]
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        joined = [hashlib.sha256(b"\1" + left + right).digest() for left, right in pairs]
        level = joined + level[len(joined) * 2 :]
    return level[0]


def _root(entries: Sequence[Entry]) -> str:
    """Return the root over the lines of the ledger, without their ends."""
    return base64.b64encode(merkle_root([canonical_json(entry.stated) for entry in entries])).decode()


def _origin(config: Spender) -> str:
    return f"hexveil/{config.dataset.name}"


def _read_checkpoint(path: Path, config: Spender) -> tuple[int, str]:
    """Return number and root of a checkpoint's file."""
    try:
        found = _CHECKPOINT.fullmatch(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    if found is None:
        raise HexveilError("give --expect a file with what `hexveil ledger head` printed, or NUMBER:HASH of a line")
    if found[1] != _origin(config):
        raise HexveilError(f"the checkpoint is of {found[1]}, not of {_origin(config)}")
    return int(found[2]), found[3]
