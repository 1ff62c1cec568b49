"""Finds the input files on a file system, and hashes their content."""

import datetime as dt
import glob
import hashlib
import itertools
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from tasks.base.config_types import is_remote, shown
from tasks.base.errors import BadInput, NoRecords
from tasks.base.file_patterns import filled, has_date
from tasks.base.owner import Spender
from tasks.records.input_formats.archives import PACK


def find_files(date: dt.date, config: Spender, needed: bool = True) -> list[tuple[Path, dt.date | None]]:
    """Return the files for a day on the file system, sorted, each with the day it is for if its pattern has one.

    Raises:
        NoRecords: No such file exists although one is needed.
        BadInput: A path cannot be used.
    """
    found: dict[str, dt.date | None] = {}
    for pattern in itertools.filterfalse(is_remote, config.dataset.files):
        file_date, places = date if has_date(pattern) else None, _filled(pattern, date, config)
        matching = (path for one in places for pack in ("", PACK) for path in glob.iglob(one + pack, recursive=True))
        found |= dict.fromkeys(_resolved(matching), file_date)
    if needed and not found:
        _refuse_unreadable(date, config)
        patterns = ", ".join(config.dataset.files)
        raise NoRecords(
            f"no file for {date} matches dataset.files = {patterns} in {config.folder}; run the day again once the "
            "file is there, or mend dataset.files"
        )
    for path in map(Path, found):
        if str(path) != shown(str(path)):
            raise BadInput(f"{shown(str(path))}: control characters cannot be part of a file's path; rename it")
        if glob.escape(str(path)) != str(path):
            raise BadInput(f"{path}: the characters * ? [ cannot be part of a file's path; rename it")
        if path.is_file():
            continue
        if path.is_dir():
            raise BadInput(
                f'{path}: is a folder, and dataset.files names files. For those in it write "{_inside(path, config)}", '
                "with the ending that they have"
            )
        raise BadInput(f"{path}: is no longer there, or no plain file; dataset.files must name only files")
    in_order = sorted(found.items(), key=lambda one: one[0].split("/"))
    return [(Path(path), file_date) for path, file_date in in_order]


def _resolved(paths: Iterable[str]) -> Iterator[str]:
    """Yield absolute paths without links. What many files have in common is resolved once."""
    folders: dict[str, str] = {}
    for path in paths:
        folder, name = os.path.split(path)
        if folder not in folders:
            folders[folder] = os.path.realpath(folder)
        whole = os.path.join(folders[folder], name)  # noqa: PTH118 a Path takes ten times as long
        yield os.path.realpath(whole) if not name or os.path.islink(whole) else whole  # noqa: PTH114


def _filled(pattern: str, date: dt.date, config: Spender) -> list[str]:
    """Return the patterns for the files of a day, from the root on."""
    here = "" if Path(pattern).is_absolute() else f"{glob.escape(str(config.folder))}/"
    return [f"{here}{one}" for one in filled(pattern, date)]


def _refuse_unreadable(date: dt.date, config: Spender) -> None:
    """Refuse a folder on the way to the files that may not be read: what it holds looks like nothing.

    Raises:
        BadInput: There is one.
    """
    for pattern in itertools.filterfalse(is_remote, config.dataset.files):
        for part in reversed(Path(_filled(pattern, date, config)[-1]).parents):
            for folder in filter(os.path.isdir, glob.glob(str(part))):
                if not os.access(folder, os.R_OK | os.X_OK):
                    raise BadInput(
                        f"{folder}: you may not read this folder, so no file of {pattern} can be found in it; give "
                        "yourself the right, for example with chmod u+rx"
                    )


def _inside(folder: Path, config: Spender) -> str:
    """Return a pattern for the files in a folder, relative to the configuration where that is shorter."""
    relative = os.path.relpath(folder, config.folder)
    return f"{folder if relative.startswith('..') else relative}/*.csv"


def content_hash(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal. It depends on private values."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
