"""The storage folder: which dataset owns it, its folder of sensitive files, its ledger file, a damaged warehouse."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path

from tasks.base.durable import flush_folder, make_folder, write_new
from tasks.base.errors import HexveilError, LedgerBroken, WarehouseDamaged
from tasks.base.owner import Owner

OWNER = "dataset"
"""The file of the private folder that says which dataset, or which collection, owns the storage."""


def private_folder(config: Owner) -> Path:
    """Return the folder of all sensitive files. It is created if needed, and only its owner may enter it."""
    folder = config.storage_path / "private"
    make_folder(folder)
    if folder.stat().st_mode & 0o077 and can_write(folder):
        folder.chmod(0o700)
    return folder


def check_there(config: Owner) -> None:
    """Refuse a storage that is not there: it would pass for one of which nothing was ever released."""
    if not config.storage_path.is_dir():
        raise HexveilError(f"{shown(config.storage_path)} is not there: mend storage.path, or release a day first")


def shown(path: Path) -> str:
    """Return a path relative to the current folder if it is inside that, else the whole path."""
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)


@contextmanager
def own_folder(folder: Path) -> Iterator[Path]:
    """Make an empty folder that only its owner may enter, and remove it afterwards."""
    shutil.rmtree(folder, ignore_errors=True)  # what a killed run left
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def can_write(folder: Path) -> bool:
    """Return whether this process can write into a folder: an auditor may be allowed to read it alone."""
    return os.access(folder, os.W_OK)


def claim(config: Owner) -> None:
    """Record which dataset owns this storage, and create its ledger.

    Raises:
        HexveilError: Another dataset, or a collection, owns it. The records of both would be mixed.
        LedgerBroken: Its ledger is missing.
    """
    begin_ledger(config)
    own(config)


def own(config: Owner) -> None:
    """Record who owns this storage.

    Raises:
        HexveilError: Another dataset or collection does, of this name or not.
    """
    marker = private_folder(config) / OWNER
    if not marker.exists():
        write_new(marker, _owner(config).encode())
    if marker.read_text(encoding="utf-8") != _owner(config):
        raise _of_another(config)


def check_kind(config: Owner) -> None:
    """Check that a dataset does not own the storage of a collection, nor a collection that of a dataset.

    Raises:
        HexveilError: It does. The ledgers of the two have other entries.
    """
    marker = config.storage_path / "private" / OWNER
    if marker.exists() and (marker.read_text(encoding="utf-8").rpartition(" ")[0] or "dataset") != config.kind:
        raise _of_another(config)


def _owner(config: Owner) -> str:
    return config.name if config.kind == "dataset" else f"{config.kind} {config.name}"


def _in_words(owner: str) -> str:
    kind, _, name = owner.rpartition(" ")  # a name has no spaces
    return f"dataset {name}, whose users' presence is secret" if kind == "presence" else f"{kind or 'dataset'} {name}"


def _of_another(config: Owner) -> HexveilError:
    owners = (config.storage_path / "private" / OWNER).read_text(encoding="utf-8"), _owner(config)
    held, wanted = map(_in_words, owners)
    return HexveilError(
        f"{config.storage_path} holds the {held}, not the {wanted}; give each dataset and each collection a "
        "storage.path of its own"
    )


INDEX, PACKAGE, CATALOGUE = "index.html", "datapackage.json", "catalogue.jsonld"
"""The published files over all days: for people, for programs, for portals."""

TABLE = "statistics.parquet"
"""The published file that all others are compared with. The mirror and the reports read it."""

MANIFEST = "manifest.json"
"""The file of a release that is published last; it names the others."""

WHOLE_TABLE = "table"
"""The published folder with the statistics of all days and no other file, so that it is read as one table."""


def ledger_path(config: Owner) -> Path:
    """Return the path of the ledger."""
    return config.storage_path / "ledger.jsonl"


def is_over_all_days(name: str) -> bool:
    """Return whether a file of this name in the published folder is about all days."""
    return name in (INDEX, PACKAGE, CATALOGUE, WHOLE_TABLE) or is_of_columns(name)


def is_of_columns(name: str) -> bool:
    """Return whether a file of this name in the published folder describes columns, as some release has them."""
    return fnmatch(name, "columns-????????.json")


_ITERATIONS = re.compile(r"File checkpoint iteration: (\d+), WAL checkpoint iteration: (\d+)")
_DAMAGED = ("Corrupt database file", "does not match the database file")
_OF_AN_ACCOUNT = ("plans", "attempts", "releases", "totals", "pending-entry", "ledger-head")


def begin_ledger(config: Owner) -> None:
    """Create the empty ledger of a new storage, before any other file of the account is stored.

    Raises:
        LedgerBroken: The ledger is missing, but an earlier one existed.
    """
    path = ledger_path(config)
    if path.exists():
        return
    check_no_ledger_is_missing(config)
    make_folder(path.parent)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o644))
    flush_folder(path.parent)


def check_no_ledger_is_missing(config: Owner) -> None:
    """Check that the ledger exists, or that the storage has no files of an account yet.

    Raises:
        LedgerBroken: The ledger is missing. The message names the files that remain of the account.
    """
    private, path = config.storage_path / "private", ledger_path(config)
    left = [private / name for name in _OF_AN_ACCOUNT if _holds_anything(private / name)]
    emptied = _holds_anything(private / "releases") and not _holds_anything(private / "attempts")
    if left and (emptied or not path.exists()):  # checked last, because another process may have created it meanwhile
        raise LedgerBroken(
            f"{path} is missing or was emptied, but {left[0]} is left of an account: what users lost would be "
            "forgotten. Restore ledger.jsonl from backup. Only if nothing was ever released from this storage, delete "
            f"{', '.join(map(str, left))} and run the day again"
        )


def _holds_anything(path: Path) -> bool:
    return any(path.iterdir()) if path.is_dir() else path.exists()


def is_of_old_log(error: Exception) -> bool:
    """Return whether the engine found a log of its own beside a database that has all that is in the log.

    It removes the log when it has written all into the database. A power cut may bring the log back.
    """
    found = _ITERATIONS.search(str(error))
    return found is not None and int(found[1]) > int(found[2])


@contextmanager
def damage_said(warehouse: Path) -> Iterator[None]:
    """Say what to do if the engine finds a part of the warehouse's file that cannot be read.

    DuckDB writes some parts of a file in place. If it is killed in the middle of one, the part stays torn. The
    warehouse is not made anew here: raw files may be gone, and then their rows are only in this file and in backups.

    Raises:
        WarehouseDamaged: The file is damaged.
    """
    try:
        yield
        return
    except Exception as error:
        if not any(words in str(error) for words in _DAMAGED):
            raise
    raise WarehouseDamaged(
        f"{warehouse} is damaged: a part of it cannot be read, as when a process was killed or the disk was full while "
        "it was written. No release, charge or published file is in it. If the raw files are still there, delete "
        f"{warehouse.name} and {warehouse.name}.wal, and run again: the raw files are read again. If some are gone, "
        "restore this file from a backup"
    )
