"""Writes named arrays as one file, named by its hash, and reads them back."""

from pathlib import Path

import numpy as np
import polars as pl

from tasks.account import private_files
from tasks.base import frames

Arrays = dict[str, np.ndarray]


def write_arrays(folder: Path, arrays: Arrays) -> str:
    """Write arrays of numbers as Parquet, and return the hash of the file."""
    rows = [
        {
            "name": name,
            "type": array.dtype.str,
            "shape": list(array.shape),
            "content": np.ascontiguousarray(array).tobytes(),
        }
        for name, array in arrays.items()
    ]
    schema = {"name": pl.String, "type": pl.String, "shape": pl.List(pl.Int64), "content": pl.Binary}
    table = pl.DataFrame(rows, schema=schema)
    return frames.write_frame(folder, table, of_arrays=True)


def read_arrays(folder: Path, name: str) -> Arrays:
    """Return the arrays of a file.

    Raises:
        LedgerBroken: The file is missing, or its content does not match its name.
    """
    rows = private_files.read_frame(folder, name).iter_rows(named=True)
    return {
        row["name"]: np.frombuffer(row["content"], dtype=np.dtype(row["type"])).reshape(row["shape"]) for row in rows
    }
