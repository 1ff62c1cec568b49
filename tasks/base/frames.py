"""Write tables and JSON as files named by their hash, and exact integers as columns."""

from collections.abc import Iterable
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

from tasks.base import durable


def write_frame(folder: Path, frame: pl.DataFrame) -> str:
    """Write a frame as Parquet and return its hash."""
    return durable.write_named_by_hash(folder, parquet_bytes(frame))


def write_json(folder: Path, value: Any) -> str:
    """Write a value as canonical JSON and return its hash."""
    return durable.write_named_by_hash(folder, durable.canonical_json(value))


def exact_series(integers: Iterable[int]) -> pl.Series:
    """Return integers of up to 38 digits as a column that stores them exactly."""
    return pl.Series([Decimal(int(one)) for one in integers], dtype=pl.Decimal(38, 0))


def parquet_bytes(frame: pl.DataFrame) -> bytes:
    """Return a frame as Parquet."""
    buffer = BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


Columns = dict[str, pl.Series]
