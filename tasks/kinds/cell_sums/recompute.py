"""Recompute: whether a released table follows from its plan and from whole noisy sums."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction

import polars as pl

from dpmath.core.accounting import ExactIntArray
from tasks.base.config import Config
from tasks.base.frames import Columns, exact_series
from tasks.kinds.cell_sums.statistics import (
    Row,
    drawn_columns,
    mean_estimate,
    statistic_frame,
    variance_estimate,
    variance_of,
)
from tasks.kinds.cell_sums.stored_sum import StoredSum

_NOTHING = {"noisy_mean_sum": 0, "noisy_square_sum": 0}


def per_user(users: pl.Series, losses: Iterable[ExactIntArray]) -> dict[str, int]:
    """Return what each user loses in all, from the loss of each pair by several sums."""
    found = Counter[str]()
    for of_pairs in losses:
        for user, loss in zip(users, of_pairs, strict=True):
            found[user] += loss
    return {user: loss for user, loss in found.items() if loss}


def is_consistent(stored: StoredSum, following: Columns) -> bool:
    """Return whether the stored columns that follow from whose records count, and how, are what they should be."""
    for name, column in following.items():
        of = stored.of_cells if f"{stored.moment}_{name}" in stored.cells.columns else stored.of_pairs
        if of(name).to_list() != column.to_list():
            return False
    return True


def problem_with_table(
    table: pl.DataFrame, cells: pl.DataFrame, drawn: Sequence[Columns], release_id: str, config: Config
) -> str | None:
    """Return what in a released table does not follow from its plan and from integer noisy sums; None if all does.

    Args:
        table: The released table.
        cells: The published cells of its plan.
        drawn: Of each sum, the drawn columns that the table shows, except the noisy sum.
        release_id: The id of the release.
        config: The configuration that the plan was made with.
    """
    if table.height != cells.height:
        return "the released table has not the cells of the plan"
    for columns in drawn:
        cells = cells.with_columns(**columns)
    found = zip(cells.iter_rows(named=True), table.iter_rows(named=True), strict=True)
    sums = [_noisy_sums(cell, row, config) for cell, row in found]
    noisy = {name: exact_series(one[name] for one in sums) for name in (sums[0] if sums else ())}
    expected = statistic_frame(cells.with_columns(**noisy), release_id, config)
    unsure = [name for name in expected.columns if name in ("mean", "variance") or "_ci95_" in name]
    if expected.schema != table.schema or not expected.drop(unsure).equals(table.drop(unsure)):
        return "the released table is not what was planned"
    wrong = [name for name in unsure if _bits(expected[name]) != _bits(table[name])]
    return f"in the released table {wrong[0]} follows from no whole noisy sum" if wrong else None


def _noisy_sums(cell: Row, row: Row, config: Config) -> dict[str, int]:
    """Return noisy sums of a cell from which its published row follows, if any exist; else some others.

    Several sums can lead to the same row, if the mean was clamped to a bound or a sum has more digits than a float.
    Then any of them is returned.
    """
    cell = {**cell, **_NOTHING}
    mean_sum = _mean_sum(cell, row, config)
    if not config.statistics.variance:
        return {"noisy_mean_sum": mean_sum}
    mean = Fraction(mean_sum, int(cell["mean_divisor"]))
    return {"noisy_mean_sum": mean_sum, "noisy_square_sum": _square_sum(cell, row, mean, config)}


def _mean_sum(cell: Row, row: Row, config: Config) -> int:
    divisor, half_width = int(cell["mean_divisor"]), mean_estimate(cell, config).half_width

    def published(noisy_sum: int) -> Row:
        return drawn_columns("mean", Fraction(noisy_sum, divisor), half_width, config)

    likely = (round(estimate * divisor) for estimate in _estimates("mean", row, half_width, config))
    beyond = math.ceil(half_width * divisor)
    return _found(published, row, likely, (-beyond, config.value.n_ticks * divisor + beyond))


def _square_sum(cell: Row, row: Row, mean: Fraction, config: Config) -> int:
    divisor, half_width = int(cell["square_divisor"]), variance_estimate(cell, config).half_width
    n_ticks = config.value.n_ticks

    def published(noisy_sum: int) -> Row:
        return drawn_columns("variance", variance_of(mean, Fraction(noisy_sum, divisor), n_ticks), half_width, config)

    without = variance_of(mean, Fraction(0), n_ticks)
    estimates = _estimates("variance", row, half_width, config)
    likely = (round(4 * divisor * (estimate - without)) for estimate in estimates)
    return _found(published, row, likely, (0, n_ticks**2 * divisor))


def _found(published: Callable[[int], Row], row: Row, likely: Iterable[int], between: tuple[int, int]) -> int:
    """Return a sum that leads to the row, if one exists: a likely one, or the one that a binary search finds.

    No published number falls when the sum grows. The search finds the smallest sum for which no number is below the
    row's. If this sum does not lead to the row, no sum does.

    Args:
        published: Returns the published numbers of a sum.
        row: The published row.
        likely: Sums to try first.
        between: The smallest and the largest sum; beyond these, no published number changes.
    """
    for noisy_sum in likely:
        if published(noisy_sum).items() <= row.items():
            return noisy_sum
    low, high = between
    while low < high:
        middle = (low + high) // 2
        if all(number >= row[name] for name, number in published(middle).items()):
            high = middle
        else:
            low = middle + 1
    return low


def _estimates(name: str, row: Row, half_width: Fraction, config: Config) -> Iterator[Fraction]:
    """Yield the estimate behind a published number, from the number and from its interval's ends.

    Each is right if the number or the end was not clamped.
    """
    tick, lower = Fraction(config.value.tick), Fraction(config.value.lower)
    unit, zero = (tick, lower) if name == "mean" else (tick**2, Fraction(0))
    for column, shift in ((name, Fraction(0)), (f"{name}_ci95_low", half_width), (f"{name}_ci95_high", -half_width)):
        if math.isfinite(row[column]):
            yield (Fraction(row[column]) - zero) / unit + shift


def _bits(column: pl.Series) -> bytes:
    return column.to_numpy().tobytes()
