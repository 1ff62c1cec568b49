"""CPL's step after suppression: every user of a cell keeps at most as many records as is best for the cell."""

import numpy as np
from numpy.typing import NDArray

from dpmath.core import _check
from dpmath.core.occupancy import IntArray, Occupancy
from dpmath.papers.dropping import CellRelease


def pseudo_user_sizes(occupancy: Occupancy, kept: NDArray[np.bool_], release: CellRelease) -> IntArray:
    """Return the number of records that every user of a cell is cut to, for the least worst-case error.

    Every size from the least to the largest number of records of a kept user is tried. If several are best, the
    least is returned.

    Args:
        occupancy: The occupancy array, P pairs in G cells.
        kept: False for a suppressed pair, shape (P,); some pair of every cell is kept.
        release: What every cell releases.

    Returns:
        The sizes m, in records, shape (G,). Their errors are ``dropped_errors`` of ``capped_records``.

    Raises:
        ValueError: ``kept`` has another shape or empties a cell.

    Source:
        CPL-E15.
    """
    _check.same_length(kept=kept, n_records=occupancy.n_records)
    sizes = np.zeros(occupancy.n_cells, dtype=np.int64)
    for cell in range(occupancy.n_cells):
        pairs = slice(occupancy.cell_start[cell], occupancy.cell_start[cell + 1])
        records = np.sort(occupancy.n_records[pairs][kept[pairs]])
        if not records.size:
            raise ValueError(f"kept must leave a pair in every cell, not none in cell {cell}")
        sizes[cell] = _best_size(records, int(occupancy.cell_records[cell]), release)
    return sizes


def _best_size(records: IntArray, cell_records: int, release: CellRelease) -> int:
    """Return the best size for one cell, from its kept users' records, sorted."""
    sizes = np.arange(records[0], records[-1] + 1)
    n_whole = np.searchsorted(records, sizes)
    whole_records = np.append(0, np.cumsum(records))[n_whole]
    kept_records = whole_records + sizes * (records.size - n_whole)
    errors = release.errors(np.full(sizes.size, cell_records), kept_records, sizes)
    return int(sizes[errors.argmin()])


def capped_records(occupancy: Occupancy, kept: NDArray[np.bool_], sizes: IntArray) -> IntArray:
    """Return how many records of each pair are kept when every user is cut to the cell's size.

    This never increases the sensitivity of a mean. It does not increase that of a variance if the number of the
    cell's records is even.

    Args:
        occupancy: The occupancy array, P pairs in G cells.
        kept: False for a suppressed pair, shape (P,).
        sizes: The most that a user keeps in each cell, shape (G,), >= 1.

    Returns:
        min(size, records) for a kept pair and 0 for a suppressed one, shape (P,).

    Raises:
        ValueError: A shape is wrong, or a size below 1.

    Source:
        CPL-E15, CPL-LD1, CPL-LD4.
    """
    _check.same_length(kept=kept, n_records=occupancy.n_records)
    _check.same_length(sizes=sizes, cell_records=occupancy.cell_records)
    _check.all_at_least(1, sizes=sizes)
    return np.minimum(occupancy.n_records, sizes[occupancy.cell]) * kept
