"""Storage: whose it is, and the folder of everything in it that is sensitive."""

import os
from pathlib import Path

from tasks.base.config import Config
from tasks.base.durable import flush_folder, write_new
from tasks.base.errors import HexveilError, LedgerBroken


def private_folder(config: Config) -> Path:
    """Return the folder of everything that is sensitive, made so that only its owner may enter."""
    folder = config.storage_path / "private"
    folder.mkdir(parents=True, exist_ok=True)
    if folder.stat().st_mode & 0o077:
        folder.chmod(0o700)
    return folder


def claim(config: Config) -> None:
    """Note whose storage this is, and begin its ledger.

    Raises:
        HexveilError: It is another dataset's; their records would be mixed.
        LedgerBroken: Its ledger is gone.
    """
    begin_ledger(config)
    marker = private_folder(config) / "dataset"
    if not marker.exists():
        write_new(marker, config.dataset.name.encode())
    owner = marker.read_text(encoding="utf-8")
    if owner != config.dataset.name:
        raise HexveilError(
            f"{config.storage_path} holds the dataset {owner}, not {config.dataset.name}; give each dataset a "
            "storage.path of its own"
        )


TABLE = "statistics.parquet"
"""The published file that all others are compared with, and that the mirror and the reports read."""


def ledger_path(config: Config) -> Path:
    """Return where the ledger is."""
    return config.storage_path / "ledger.jsonl"


_OF_AN_ACCOUNT = ("plans", "attempts", "releases", "totals", "pending-entry", "ledger-head")


def begin_ledger(config: Config) -> None:
    """Make the empty ledger that a storage begins with, before anything of an account is stored beside it.

    Raises:
        LedgerBroken: The ledger is missing, though there was one.
    """
    path = ledger_path(config)
    if path.exists():
        return
    check_no_ledger_is_missing(config)
    path.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o644))
    flush_folder(path.parent)


def check_no_ledger_is_missing(config: Config) -> None:
    """Check that there is a ledger, or nothing yet that one should be beside.

    Raises:
        LedgerBroken: Names what is left of an account whose ledger is gone.
    """
    private, path = config.storage_path / "private", ledger_path(config)
    left = [private / name for name in _OF_AN_ACCOUNT if _holds_anything(private / name)]
    emptied = _holds_anything(private / "releases") and not _holds_anything(private / "attempts")
    if left and (emptied or not path.exists()):  # looked at last, for it may have been made meanwhile
        raise LedgerBroken(
            f"{path} is missing or was emptied, but {left[0]} is left of an account: what users lost would be "
            "forgotten. Restore ledger.jsonl from backup. Only if nothing was ever released from this storage, delete "
            f"{', '.join(map(str, left))} and run the day again"
        )


def _holds_anything(path: Path) -> bool:
    return any(path.iterdir()) if path.is_dir() else path.exists()
