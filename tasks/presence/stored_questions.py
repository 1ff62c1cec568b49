"""The published file of what was asked: whole numbers of each cell that were chosen in floating point, a row a cell.

Another processor, or another number of threads, would choose slightly others: so these count, and are not made again.
"""

from io import BytesIO

import numpy as np
import polars as pl

from dpmath.core.occupancy import IntArray
from dpmath.presence.chosen import Chosen
from tasks.base.frames import parquet_bytes

QUESTIONS = "questions.parquet"
_SHIFT = "_shift"
_MOST_SHIFT = 46
"""So that a loading of 16 bits and a shift fit in 64."""


def questions_bytes(chosen: Chosen) -> bytes:
    """Return the file: cells in the order of hexagons and slots; a loading in several sums is its number 2^shift."""
    columns: dict[str, pl.Series] = {}
    for name, numbers in chosen.items():
        if numbers.ndim == 1:
            columns[name] = pl.Series(numbers)
        else:
            shift = _zeros_at_the_end(numbers)
            short = pl.Series(numbers >> shift[:, None], dtype=pl.Array(pl.Int64, numbers.shape[1]))
            columns |= {name: short.cast(pl.List(pl.Int16)), name + _SHIFT: pl.Series(shift)}
    return parquet_bytes(pl.DataFrame(columns))


def read_questions(content: bytes) -> Chosen:
    """Return the numbers in a file.

    Raises:
        ValueError: It has other columns or types, or rows of several lengths.
    """
    table, found, shifted = pl.read_parquet(BytesIO(content)), {}, set[str]()
    if table.is_empty() or table.null_count().sum_horizontal().item():
        raise ValueError("a file of questions must have a whole row for each cell")
    for name in (one for one in table.columns if not one.endswith(_SHIFT)):
        column = table[name]
        if column.dtype == pl.Int64:
            found[name] = column.to_numpy()
        elif column.dtype == pl.List(pl.Int16) and column.list.len().n_unique() == 1:
            short = column.explode().cast(pl.Int64)
            shift = table[name + _SHIFT] if name + _SHIFT in table.columns else None
            if short.null_count() or shift is None or shift.dtype != pl.Int64:
                raise ValueError(f"{name} must have whole numbers, and a shift of each row")
            shifted.add(name + _SHIFT)
            rows = short.to_numpy().reshape(table.height, -1)
            found[name] = rows << shift.clip(0, _MOST_SHIFT).to_numpy()[:, None]
        else:
            raise ValueError(f"{name} must have whole numbers, as many in each row")
    if found.keys() | shifted != set(table.columns):
        raise ValueError("a file of questions must have no other columns")
    return found


def _zeros_at_the_end(numbers: IntArray) -> IntArray:
    """Return with how many zero bits all numbers of each row end, shape (G, Q) to (G,)."""
    together = np.bitwise_or.reduce(numbers, axis=1)
    lowest = together & -together
    return np.frexp(np.maximum(lowest, 1))[1].astype(np.int64) - 1
