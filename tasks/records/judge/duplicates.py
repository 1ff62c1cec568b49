"""Duplicates: finds the records of a day that may occur more than once, by one hash per record.

A window over whole records would sort them all, on disk if there are many. A hash takes eight bytes per record. Only
records that share a hash must then be compared: duplicates, and others whose hashes collide. The comparison finds out
which they are.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tasks.base import warehouse
from tasks.base.config import Config

_HASHES_AT_ONCE = 1 << 27
_SEEN_AGAIN = 1_000_000


def seen_again(config: Config) -> int:
    """Return by how many microseconds records of one fix may differ: time and age, which is taken off, are rounded."""
    return _SEEN_AGAIN if config.columns.age else 0


def repeated_hashes(connection: warehouse.Connection, day: dict[str, Any], apart: int = 0) -> pl.DataFrame:
    """Return the hashes that more than one raw record of a day has; see ``repeated``.

    Args:
        connection: Connection to the warehouse; gets the function ``identity_hash``.
        day: The date and the file ids of the day.
        apart: By how many microseconds at most a record follows one that it repeats.

    Returns:
        One column, ``identity_hash``, each hash once.
    """
    n_records = warehouse.rows(connection, "read/n_day_records", day)[0][0]
    return repeated(connection, "read/identity_hashes", {**day, "apart": apart}, n_records)


def repeated(
    connection: warehouse.Connection, statement: str, parameters: Mapping[str, Any], n_records: int
) -> pl.DataFrame:
    """Return the hashes that more than one record has.

    A GiB of hashes is sorted at once. More records are read in several parts. Each part has the hashes that leave
    one remainder when divided by the number of parts, so equal hashes are always in the same part.

    Args:
        connection: Connection to the records; gets the function ``identity_hash``.
        statement: Names the file of ``sql/`` that reads the hashes of a part.
        parameters: Its parameters but for the part.
        n_records: How many records there are.

    Returns:
        One column, ``identity_hash``, each hash once.
    """
    warehouse.run(connection, "scratch/identity_hash")
    n_parts = 1 + n_records // _HASHES_AT_ONCE
    asked = {**parameters, "n_parts": n_parts}
    parts = [_repeated(connection, statement, {**asked, "part": part}, n_records) for part in range(n_parts)]
    return pl.DataFrame({"identity_hash": np.concatenate(parts)})


def _repeated(
    connection: warehouse.Connection, statement: str, part: dict[str, Any], n_records: int
) -> NDArray[np.uint64]:
    # As long as the day, because the size of a part is not known. Elements that are never written take no memory.
    hashes, n_hashes = np.empty(n_records, np.uint64), 0
    for batch in warehouse.batches(connection, statement, part):
        hashes[n_hashes : n_hashes + batch.height] = batch["identity_hash"].to_numpy()
        n_hashes += batch.height
    hashes = hashes[:n_hashes]
    hashes.sort()
    return np.unique(hashes[1:][hashes[1:] == hashes[:-1]])
