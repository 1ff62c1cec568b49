"""User ids and values that are found again wherever they leak to, and the search for them."""

import base64
import struct
from pathlib import Path

import polars as pl
import polars.selectors as cs

USER = "PLANTED-USER-7Q"
VALUE = "73.193726"
LATE_VALUE = "88.441359"
"""Six decimals, which is as many as a table is shown with: of four, some noisy number has the same by chance."""


def leaks(searched: dict[str, bytes]) -> list[tuple[str, bytes]]:
    """Return what of the planted is found, by the name of where it is."""
    needles = {text.encode() for text in (USER, VALUE, LATE_VALUE)}
    needles |= {struct.pack("<d", float(text)) for text in (VALUE, LATE_VALUE)}
    return [(name, needle) for name, content in searched.items() for needle in needles if needle in content]


def files_of(folder: Path) -> dict[str, bytes]:
    """Return every file of a folder but those that may hold what is private: input, warehouse, shards, error log."""
    found = {}
    for path in folder.rglob("*"):
        inside = (
            {"raw", "shards"} & set(path.parts) or path.name.startswith("warehouse.duckdb") or path.name == "errors.log"
        )
        if path.is_file() and not inside:
            found[str(path)] = readable(path)
    return found


def readable(path: Path) -> bytes:
    """Return a file's bytes, with what is packed inside unpacked: results of the scheduler, columns of Parquet."""
    content = path.read_bytes()
    if content.startswith(b"PAR1"):
        columns = pl.read_parquet(path, hive_partitioning=False)
        packed = [part for column in columns.select(cs.binary()) for part in column if part is not None]
        return content + str(columns.select(~cs.binary()).rows()).encode() + b"".join(packed)
    try:
        return content + base64.b64decode(content) if path.parent.name == "storage" else content
    except ValueError:
        return content
