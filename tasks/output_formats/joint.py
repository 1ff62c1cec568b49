"""The table that says how the errors of cells go together: from it follows the error of any area and period."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from dpmath.core.occupancy import IntArray
from dpmath.joint.factors import Factors
from dpmath.joint.loadings import Loadings
from dpmath.joint.products import FloatArray
from tasks.base.errors import HexveilError

JOINT = "joint.parquet"
JOINT_USERS = "joint_users.parquet"
"""The same of numbers of users, where presence is secret."""
JOINT_SHARES = "joint_shares.parquet"
"""What the errors of shares above limits have in common beside those of the means, one row a limit and cell."""
AGAIN = "again"
"""By what the errors of two days share more if users come again, beside how exact the table is."""
_ALIKE = 2e-3
"""By how much two covariances of cells may differ, as a share of their deviations: numbers are rounded."""
_ALIKE_AREAS = 0.01
"""The same of the variances of the city, of hexagons and of slots."""
_ROUNDED = 1.1e-3
"""Noisy numbers are rounded to three decimals."""
_BITS = 12
"""Of each loading's fraction that are kept: with more, the file would be larger, and no answer another."""
_AT_ONCE = 512
_LEAST_USERS = 1e-3
_LOADINGS = ("common", "against", "of_hexagon", "of_slot")


def joint_frame(
    cells: pl.DataFrame, numbers: Mapping[str, pl.Series | np.ndarray], found: Loadings, unit: float
) -> pl.DataFrame:
    """Return the table, one row a cell in the order of the statistics.

    Args:
        cells: One row per cell: h3_cell, as text, and slot_start.
        numbers: What else is said of each cell: its records and its estimate.
        found: The loadings of the cells.
        unit: What they are multiplied by to be in the unit of what is estimated.
    """
    day, lasting = found.day, found.lasting
    return cells.select(
        "h3_cell",
        "slot_start",
        *(pl.Series(name, number) for name, number in numbers.items()),
        pl.Series("variance", _rounded(unit**2 * day.alone)),
        *(
            _list(prefix + name, unit * getattr(factors, name))
            for prefix, factors in (("", day), ("lasting_", lasting))
            for name in _LOADINGS
        ),
    )


def records_off(table: pl.DataFrame, users: pl.DataFrame) -> Factors:
    """Return how errors of noisy numbers of records go together: as those of users do, and what is each cell's own.

    Args:
        table: The joint table of means, with ``n_records_sd``.
        users: That of users of the same day, with the same cells.

    Raises:
        HexveilError: The cells are others.
    """
    keys = ["h3_cell", "slot_start"]
    if not table.select(keys).equals(users.select(keys)):
        raise HexveilError(f"{JOINT} and {JOINT_USERS} of a day have other cells; copy the folder again")
    of_users, _ = factors_of(users)
    each = table["n_records"].to_numpy() / np.maximum(users["n_users"].to_numpy(), _LEAST_USERS)
    by_users = of_users.scaled(each)
    own = np.maximum(table["n_records_sd"].to_numpy() ** 2 - by_users.diagonal, 0.0)
    return replace(by_users, alone=by_users.alone + own)


def stated_day(table: pl.DataFrame, off: Factors | None = None) -> dict[str, str]:
    """Return what the ledger states of a day: its mean, how unsure that is, and how far cells are from it.

    Args:
        table: The joint table.
        off: How errors of numbers of records go together; None if these are exact.
    """
    share = table["n_records"].to_numpy() / table["n_records"].sum()
    day, _ = factors_of(table)
    number = table["cell_mean"].to_numpy()
    mean = float(share @ number)
    variance = float(day.variances(share[:, None])[0])
    if off is not None:
        variance += float(off.variances(((number - mean) / table["n_records"].to_numpy().sum())[:, None])[0])
    spread = round(float(np.sqrt(share @ (number - mean) ** 2)), 9)  # cells that are alike differ by rounding
    return {"mean": f"{mean:.6g}", "mean_sd": f"{np.sqrt(variance):.3g}", "spread": f"{spread:.3g}"}


def stated_error(least: float, largest: float) -> dict[str, str]:
    """Return what the ledger states of how exact a table is: two standard deviations of areas over the exact ones."""
    return {"least": f"{least:.2f}", "largest": f"{largest:.2f}"}


def factors_of(table: pl.DataFrame) -> tuple[Factors, Factors]:
    """Return the factors of a day's errors that a table has, and of what they share with those of days before.

    Raises:
        ValueError: Lists of a column are of several lengths.
    """
    hexagon, slot = (
        table[name].to_arrow().dictionary_encode().indices.to_numpy() for name in ("h3_cell", "slot_start")
    )

    def factors(prefix: str, alone: FloatArray) -> Factors:
        of_all, against, of_hexagon, of_slot = (_array(table[prefix + name]) for name in _LOADINGS)
        return Factors(hexagon, slot, of_all, against, of_hexagon, of_slot, alone)

    variance = table["variance"].to_numpy().astype(np.float64)
    return factors("", variance), factors("lasting_", np.zeros(table.height))


def says_another(expected: pl.DataFrame, found: pl.DataFrame, tolerance: float) -> bool:
    """Return whether a table says something else than the one that is made again: other means, or covariances.

    Factors may be turned otherwise on another machine, and say the same.

    Args:
        expected: The table as it is made again.
        found: The released table.
        tolerance: How far means and noisy numbers may differ, in the value's unit.
    """
    if expected.schema != found.schema or expected.height != found.height:
        return True
    for name in expected.columns[: expected.columns.index("variance")]:
        ours, theirs = expected[name], found[name]
        slack = 0.0 if not ours.dtype.is_float() else max(tolerance, _ROUNDED) if name.startswith("n_") else tolerance
        same = (ours - theirs).abs() <= slack if ours.dtype.is_numeric() else ours == theirs
        if not same.fill_null(value=False).all():
            return True
    try:
        (ours, our_lasting), (theirs, their_lasting) = factors_of(expected), factors_of(found)
    except ValueError:
        return True
    deviation = np.sqrt(ours.diagonal + 2 * (ours.against**2).sum(axis=1))  # no number that is rounded is larger
    if _apart(ours, theirs, deviation) or _apart(our_lasting, their_lasting, deviation):
        return True
    areas = np.column_stack([np.ones(deviation.size), *(_each(label) for label in (ours.hexagon, ours.slot))])
    limit = _ALIKE_AREAS * ours.variances(areas)
    pairs = ((ours, theirs), (our_lasting, their_lasting))
    return not all((np.abs(one.variances(areas) - other.variances(areas)) <= limit).all() for one, other in pairs)


def _each(label: IntArray) -> FloatArray:
    """Return which cells each label has, shape (G, n)."""
    return np.equal.outer(label, np.arange(label.max(initial=-1) + 1)).astype(np.float64)


def _apart(ours: Factors, theirs: Factors, deviation: FloatArray) -> bool:
    """Return whether two covariances differ, by more than what is rounded of cells with such deviations."""
    for first in range(0, deviation.size, _AT_ONCE):
        some = np.eye(deviation.size)[:, first : first + _AT_ONCE]
        limit = _ALIKE * deviation[:, None] * deviation[first : first + _AT_ONCE]
        if not (np.abs(ours.times(some) - theirs.times(some)) <= limit).all():
            return True
    return False


def _list(name: str, loading: FloatArray) -> pl.Series:
    return pl.Series(name, _rounded(loading)).arr.to_list() if loading.shape[1] else _empty(name, len(loading))


def _empty(name: str, n_cells: int) -> pl.Series:
    return pl.Series(name, [[]] * n_cells, dtype=pl.List(pl.Float32))


def _array(lists: pl.Series) -> FloatArray:
    """Return a column of lists of one length as an array."""
    column = lists.to_arrow()
    lengths = np.diff(column.offsets.to_numpy())
    if column.null_count or (lengths != lengths[0]).any():
        raise ValueError("lists must be of one length")
    return column.flatten().to_numpy(zero_copy_only=False).reshape(len(lengths), lengths[0]).astype(np.float64)


def _rounded(numbers: FloatArray) -> np.ndarray:
    """Return numbers of single precision, of whose fractions some bits are kept: the others compress to nothing."""
    as_integers = numbers.astype(np.float32).view(np.int32)
    dropped = 23 - _BITS
    return ((as_integers + (1 << (dropped - 1))) >> dropped << dropped).view(np.float32)
