"""Write tables and JSON as files named by their hash, and exact integers as columns."""

from collections.abc import Iterable
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

from tasks.base import durable


def write_frame(folder: Path, frame: pl.DataFrame, of_arrays: bool = False) -> str:
    """Write a frame as Parquet and return its hash.

    Args:
        folder: Where to.
        frame: The frame.
        of_arrays: Whether it holds arrays as bytes. Such numbers shrink little, however long one tries, and to find the
            least and the largest of them takes longer than all else.
    """
    return durable.write_named_by_hash(folder, parquet_bytes(frame, of_arrays))


def write_json(folder: Path, value: Any) -> str:
    """Write a value as canonical JSON and return its hash."""
    return durable.write_named_by_hash(folder, durable.canonical_json(value))


def exact_series(integers: Iterable[int]) -> pl.Series:
    """Return integers of up to 38 digits as a column that stores them exactly."""
    return pl.Series([Decimal(int(one)) for one in integers], dtype=pl.Decimal(38, 0))


def parquet_bytes(frame: pl.DataFrame, of_arrays: bool = False) -> bytes:
    """Return a frame as Parquet; arrays as bytes are written fast, without least and largest of a column."""
    buffer = BytesIO()
    frame.write_parquet(buffer, compression="lz4" if of_arrays else "zstd", statistics=not of_arrays)
    return buffer.getvalue()


Columns = dict[str, pl.Series]
