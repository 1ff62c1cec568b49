"""Inputs: finds the files for a day, on a file system or in an object store, and identifies them without reading."""

import datetime as dt
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import fsspec
import polars as pl

from tasks.base.config import Config
from tasks.base.config_types import is_remote
from tasks.base.durable import canonical_json, sha256
from tasks.base.errors import BadInput
from tasks.base.file_patterns import filled, has_date
from tasks.base.owner import Spender
from tasks.records.input_formats.archives import PACK
from tasks.records.read import source


@dataclass(frozen=True)
class Input:
    """One input file as it is now.

    Attributes:
        address: Its absolute path, or its fsspec address.
        name: Its path relative to the configuration, or its address.
        file_date: The day it is for, if its pattern has ``{date}``; else None.
        version: Changes whenever the file is written. Does not include the size, which depends on private values.
        n_bytes: Its size. Only how fast it is read may depend on it.
    """

    address: str
    name: str
    file_date: dt.date | None
    version: str
    n_bytes: int = 0


def seen(files: Sequence[Input], config: Config) -> pl.DataFrame:
    """Return what identifies files without reading them: ``path``, ``version`` and ``settings_hash``."""
    hashes = {date: settings_hash(date, config) for date in {one.file_date for one in files}}
    rows = [(one.address, one.version, hashes[one.file_date]) for one in files]
    return pl.DataFrame(rows, {"path": pl.String, "version": pl.String, "settings_hash": pl.String}, orient="row")


def settings_hash(file_date: dt.date | None, config: Config) -> str:
    """Return the hash of the settings that a file is read with."""
    settings = {**config.reading_settings(), "file_date": file_date.isoformat() if file_date else None}
    return sha256(canonical_json(settings))


def find_inputs(date: dt.date, config: Spender, needed: bool = True) -> list[Input]:
    """Return the files for a day, in order of their paths, those in object stores last.

    Raises:
        BadInput: No such file exists although one is needed, or its path cannot be used.
    """
    remote = _remote_inputs(date, config)
    paths = source.find_files(date, config, needed=needed and not remote)
    return [_local_input(path, file_date, config) for path, file_date in paths] + remote


def _local_input(path: Path, file_date: dt.date | None, config: Spender) -> Input:
    status = path.stat()
    version = f"{status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"  # only the kernel sets ctime
    return Input(str(path), _relative(path, config.folder), file_date, version, status.st_size)


def _relative(path: Path, folder: Path) -> str:
    whole, start = str(path), f"{folder}/"
    return whole.removeprefix(start) if whole.startswith(start) else os.path.relpath(path, folder)


def _remote_inputs(date: dt.date, config: Spender) -> list[Input]:
    found: dict[str, Input] = {}
    for pattern in filter(is_remote, config.dataset.files):
        file_date = date if has_date(pattern) else None
        (store, first), *others = (fsspec.url_to_fs(one) for one in filled(pattern, date))
        store.invalidate_cache()
        places = [one + pack for one in (first, *(place for _, place in others)) for pack in ("", PACK)]
        matching = {path: status for place in places for path, status in store.glob(place, detail=True).items()}
        for path, status in matching.items():
            if status["type"] == "file":
                address = store.unstrip_protocol(path)
                found[address] = Input(address, address, file_date, _modified(store, path), status.get("size") or 0)
    return sorted(found.values(), key=lambda one: one.address)


def _modified(store: fsspec.AbstractFileSystem, path: str) -> str:
    try:
        return str(store.modified(path))
    except NotImplementedError:
        raise BadInput(
            f"{path}: its store does not give the time of writing, so a change could not be detected"
        ) from None
