"""Writes named arrays as one file, named by its hash, and reads them back."""

from io import BytesIO
from pathlib import Path

import numpy as np

from tasks.account import private_files
from tasks.base import durable

Arrays = dict[str, np.ndarray]


def write_arrays(folder: Path, arrays: Arrays) -> str:
    """Write arrays of numbers as numpy's own kind of file, and return the hash of the file.

    Whole numbers of 64 bits take only the bytes that they need. The file is not compressed: other numbers would shrink
    little, and take longer than all else.
    """
    buffer = BytesIO()
    np.savez(buffer, allow_pickle=False, **{name: _narrow(array) for name, array in arrays.items()})
    return durable.write_named_by_hash(folder, buffer.getvalue())


def read_arrays(folder: Path, name: str, begins: str = "") -> Arrays:
    """Return the arrays of a file whose names begin so.

    Raises:
        LedgerBroken: The file is missing, or its content does not match its name.
    """
    with np.load(BytesIO(private_files.read(folder, name))) as stored:
        return {name: _wide(stored[name]) for name in stored if name.startswith(begins)}


def _narrow(array: np.ndarray) -> np.ndarray:
    """Return whole numbers in the fewest bytes that hold them; other arrays as they are."""
    if array.dtype != np.int64:
        return array
    least, largest = array.min(initial=0), array.max(initial=0)
    kinds = (np.int8, np.int16, np.int32, np.int64)
    return array.astype(next(one for one in kinds if np.iinfo(one).min <= least and largest <= np.iinfo(one).max))


def _wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.int64) if array.dtype.kind == "i" else array
