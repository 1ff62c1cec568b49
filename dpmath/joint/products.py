"""Products of large matrices, by two threads.

The threads of a linear algebra library wait for each other by spinning, which costs most of the gain where another
process wants a core. These do not. Each makes half of the rows on every machine, so results do not depend on how many
cores it has.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_WORTH_A_THREAD = 20_000_000
"""Number of multiplications, from which on half of them take longer than to start a thread."""
_AT_ONCE = 1024
"""So many rows are weighted together: fresh memory for all costs more than the numbers in it."""


def product(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return left @ right: shapes (m, k) and (k, n) or (k,) to (m, n) or (m,).

    Source:
        HV-E3.
    """
    found, half = np.empty((len(left), *right.shape[1:])), len(left) // 2
    if len(left) * right.size < _WORTH_A_THREAD:
        return np.matmul(left, right, found)
    with ThreadPoolExecutor(max_workers=1) as other:
        first = other.submit(np.matmul, left[:half], right, found[:half])
        np.matmul(left[half:], right, found[half:])
        first.result()
    return found


def gram(rows: FloatArray, weight: FloatArray | None = None) -> FloatArray:
    """Return rows' diag(weight) rows, which is symmetric, so it takes half of the multiplications.

    Args:
        rows: The rows, shape (k, n).
        weight: What each counts, at least 0, shape (k,); None for 1.

    Source:
        HV-E3.
    """
    weight = np.ones(len(rows)) if weight is None else weight
    n_columns, half = rows.shape[1], len(rows) // 2
    found, part = np.zeros((2, n_columns, n_columns)), np.empty((2, n_columns, n_columns))
    room = np.empty((2, min(_AT_ONCE, len(rows) - half), n_columns))  # a thread would keep memory of its own

    def add(number: int, first: int, end: int) -> None:
        for begin in range(first, end, _AT_ONCE):
            some = slice(begin, min(begin + _AT_ONCE, end))
            weighted = room[number, : some.stop - begin]
            np.multiply(np.sqrt(weight[some])[:, None], rows[some], weighted)
            found[number] += np.matmul(weighted.T, weighted, part[number])

    if rows.size * n_columns < 2 * _WORTH_A_THREAD:
        add(0, 0, half)
        add(1, half, len(rows))
    else:
        with ThreadPoolExecutor(max_workers=1) as other:
            first = other.submit(add, 0, 0, half)
            add(1, half, len(rows))
            first.result()
    return np.asarray(found[0] + found[1])
