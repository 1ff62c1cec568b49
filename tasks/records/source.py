"""Finds input files, says their format, and counts their rows without the engine."""

import datetime as dt
import glob
import hashlib
import itertools
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.base.config import DATE_PLACEHOLDER, Config
from tasks.base.config_source import Format
from tasks.base.config_types import is_remote, shown
from tasks.base.errors import BadInput
from tasks.records import gtfs_realtime, json_documents, text_lines
from tasks.records.csv_rows import count_csv_rows

_FORMATS: dict[str, Format] = {
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "csv",
    ".tsv.gz": "csv",
    ".parquet": "parquet",
    ".ndjson": "ndjson",
    ".ndjson.gz": "ndjson",
    ".jsonl": "ndjson",
    ".jsonl.gz": "ndjson",
    ".json": "json",
    ".json.gz": "json",
    ".pb": "gtfs-rt",
    ".pb.gz": "gtfs-rt",
}


def find_files(date: dt.date, config: Config, needed: bool = True) -> list[tuple[Path, dt.date | None]]:
    """Return the files for a day on the file system, sorted, each with the day it is for if its pattern has one.

    Raises:
        BadInput: No such file exists although one is needed, or its path cannot be used.
    """
    found: dict[Path, dt.date | None] = {}
    for pattern in itertools.filterfalse(is_remote, config.dataset.files):
        file_date = date if DATE_PLACEHOLDER in pattern else None
        dated = pattern.replace(DATE_PLACEHOLDER, date.isoformat())
        filled = dated if Path(dated).is_absolute() else f"{glob.escape(str(config.folder))}/{dated}"
        found |= {Path(path).resolve(): file_date for path in glob.glob(filled, recursive=True)}
    if needed and not found:
        patterns = ", ".join(config.dataset.files)
        raise BadInput(
            f"no file for {date} matches dataset.files = {patterns} in {config.folder}; run the day again once the "
            "file is there, or mend dataset.files"
        )
    for path in found:
        if str(path) != shown(str(path)):
            raise BadInput(f"{shown(str(path))}: control characters cannot be part of a file's path; rename it")
        if glob.escape(str(path)) != str(path):
            raise BadInput(f"{path}: the characters * ? [ cannot be part of a file's path; rename it")
        if path.is_dir():
            raise BadInput(
                f'{path}: is a folder, and dataset.files names files. For those in it write "{_inside(path, config)}", '
                "with the ending that they have"
            )
        if not path.is_file():
            raise BadInput(f"{path}: is no longer there, or no plain file; dataset.files must name only files")
    return sorted(found.items())


def _inside(folder: Path, config: Config) -> str:
    """Return a pattern for the files in a folder, relative to the configuration where that is shorter."""
    relative = os.path.relpath(folder, config.folder)
    return f"{folder if relative.startswith('..') else relative}/*.csv"


def format_by_name(path: Path) -> Format | None:
    """Return the format that the end of a file's name says; None if it says none."""
    return next((name for ending, name in _FORMATS.items() if path.name.endswith(ending)), None)


def file_format(path: Path, config: Config) -> Format:
    """Return the format of a file: the declared one, or what the end of its name says.

    Raises:
        BadInput: The configuration declares none, and the name has none of the known endings.
    """
    if config.dataset.format is not None:
        return config.dataset.format
    found = format_by_name(path)
    if found is not None:
        return found
    raise BadInput(
        f"{path}: unknown kind of file; its name must end in one of {', '.join(_FORMATS)}, or set dataset.format"
    )


def content_hash(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal. It depends on private values."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def count_rows(path: Path, kind: Format, config: Config) -> int:
    """Return how many rows a file has, counted without the engine; reads all but a Parquet file to its end.

    The engine notices a truncated gzip file but not a wrong checksum, and silently drops lines beyond some length. So
    every text file is read once here, and any line longer than 64 KiB is refused. Blank lines are not rows.

    Raises:
        BadInput: The file is truncated or damaged, or a record is too long.
    """
    if kind == "csv":
        return count_csv_rows(path, config.dataset.delimiter, len(config.dataset.header))
    if kind == "json":
        return json_documents.count_records(path, config.dataset.records)
    if kind == "gtfs-rt":
        return len(gtfs_realtime.read_feed(path).vehicles)
    return parquet_rows(path) if kind == "parquet" else text_lines.count_lines(path)


def parquet_rows(path: Path) -> int:
    """Return how many rows a Parquet file has.

    Raises:
        BadInput: It is incomplete.
    """
    try:
        return int(pq.read_metadata(path).num_rows)
    except pa.ArrowInvalid:
        raise BadInput(f"{path}: not a whole Parquet file; fetch it again") from None
