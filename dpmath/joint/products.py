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


def gram(columns: FloatArray) -> FloatArray:
    """Return the product of a matrix with itself, columns' columns: shape (k, n) to (n, n).

    It is symmetric, so it takes half of the multiplications.

    Source:
        HV-E3.
    """
    half = len(columns) // 2
    if columns.size * columns.shape[1] < 2 * _WORTH_A_THREAD:
        return columns.T @ columns
    with ThreadPoolExecutor(max_workers=1) as other:
        first = other.submit(np.matmul, columns[:half].T, columns[:half])
        found = np.matmul(columns[half:].T, columns[half:])
        found += first.result()
    return found
