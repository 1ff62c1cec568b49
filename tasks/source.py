"""Input files before the engine reads them: which there are, whether they are whole, what their columns are."""

import csv
import datetime as dt
import glob
import gzip
import hashlib
import zlib
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.config import DATE_PLACEHOLDER, Config
from tasks.errors import BadInput

ROLES = ("user", "time", "latitude", "longitude", "value")
_FORMATS = {
    ".csv": "csv",
    ".csv.gz": "csv",
    ".parquet": "parquet",
    ".ndjson": "ndjson",
    ".ndjson.gz": "ndjson",
    ".jsonl": "ndjson",
    ".jsonl.gz": "ndjson",
}
_CHUNK = 1 << 20


def find_files(date: dt.date, config: Config) -> list[tuple[Path, dt.date | None]]:
    """Return the files for a day, sorted, each with the day it is for where its pattern says ``{date}``.

    Raises:
        BadInput: A pattern's folder holds no such file.
    """
    found: dict[Path, dt.date | None] = {}
    for pattern in config.dataset.files:
        file_date = date if DATE_PLACEHOLDER in pattern else None
        filled = str(config.folder / pattern.replace(DATE_PLACEHOLDER, date.isoformat()))
        found |= {Path(path).resolve(): file_date for path in glob.glob(filled, recursive=True)}
    if not found:
        patterns = ", ".join(config.dataset.files)
        raise BadInput(f"no file for {date} matches dataset.files = {patterns} in {config.folder}")
    return sorted(found.items())


def file_format(path: Path) -> str:
    """Return csv, parquet or ndjson.

    Raises:
        BadInput: The name ends in none of the known ways.
    """
    for ending, name in _FORMATS.items():
        if path.name.endswith(ending):
            return name
    raise BadInput(f"{path}: unknown kind of file; its name must end in one of {', '.join(_FORMATS)}")


def content_hash(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal. It depends on private values."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_whole(path: Path) -> None:
    """Unpack a gzip file to its end: the engine notices a missing end, but not a wrong checksum.

    Raises:
        BadInput: The file is truncated or damaged.
    """
    if path.suffix != ".gz":
        return
    try:
        with gzip.open(path) as file:
            while file.read(_CHUNK):
                pass
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise BadInput(f"{path}: the gzip file is truncated or damaged; fetch it again") from None


def csv_columns(path: Path, config: Config) -> list[str]:
    """Return a CSV file's columns, with the five that are read named by their role, in the file's order.

    Raises:
        BadInput: The header is missing, not UTF-8, or lacks a column.
    """
    try:
        with _open_binary(path) as file:
            first_line = file.readline().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput(f"{path}: not UTF-8; convert the file, for example with iconv") from None
    header = next(csv.reader([first_line], delimiter=config.dataset.delimiter), [])
    roles = _roles(path, header, config)
    return [roles.get(position, f"unused_{position}") for position in range(len(header))]


def check_parquet_columns(path: Path, config: Config) -> None:
    """Check that a Parquet file can be read and has the five columns.

    Raises:
        BadInput: It cannot, or it lacks a column.
    """
    try:
        header = pq.read_schema(path).names
    except pa.ArrowInvalid:
        raise BadInput(f"{path}: not a whole Parquet file; fetch it again") from None
    _roles(path, header, config)


def source_names(config: Config) -> dict[str, str]:
    """Return the source's name of each role."""
    return {role: getattr(config.columns, role) for role in ROLES}


def _open_binary(path: Path) -> BinaryIO | gzip.GzipFile:
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")


def _roles(path: Path, header: list[str], config: Config) -> dict[int, str]:
    if not header:
        raise BadInput(f"{path}: the file is empty, without even a header")
    positions = {}
    for role, name in source_names(config).items():
        if header.count(name) != 1:
            problem = "no column" if name not in header else "more than one column"
            has = ", ".join(header)
            raise BadInput(f'{path}: {problem} "{name}" (columns.{role}); the file has: {has}')
        positions[header.index(name)] = role
    return positions
