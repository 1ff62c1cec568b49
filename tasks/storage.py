"""Storage: whose it is, and the folder of everything in it that is sensitive."""

from pathlib import Path

from tasks.config import Config
from tasks.durable import write_new
from tasks.errors import HexveilError
from tasks.witnesses import begin_ledger


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
