"""Recompute: losses from stored plans, and whether a released table follows from its plan and integer noisy sums."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction

import polars as pl

from dpmath.core.currency import Currency
from tasks.account.screenings import screening_of
from tasks.base.config import Config
from tasks.base.frames import exact_series
from tasks.planning.stored_plan import StoredPlan
from tasks.release.statistics import Row, drawn_columns, mean_estimate, statistic_frame, variance_estimate, variance_of
from tasks.sums.kinds import kind_of

_NOTHING = {"noisy_mean_sum": 0, "noisy_square_sum": 0}


def recomputed_losses(plan: StoredPlan, config: Config, currency: Currency) -> dict[str, int]:
    """Return each user's loss by keyed hash, in a currency, from only the intervals and scales of a stored plan."""
    kind, losses = kind_of(config), Counter[str]()
    for stored in plan.sums(config):
        for user, loss in zip(plan.pairs["user_hash"], kind.losses(stored, currency), strict=True):
            losses[user] += loss
    losses.update(recomputed_charges(plan, config, currency))
    return {user: loss for user, loss in losses.items() if loss}


def recomputed_charges(plan: StoredPlan, config: Config, currency: Currency) -> dict[str, int]:
    """Return what the screening costs each user that a stored plan asks, by keyed hash, in a currency."""
    screening = screening_of(config)
    return {} if screening is None else dict.fromkeys(plan.charges, screening.loss(currency))


def is_consistent(plan: StoredPlan, config: Config) -> bool:
    """Return whether a stored plan's scales, divisors and biases follow from whose records count in it, and how."""
    kind = kind_of(config)
    for stored in plan.sums(config):
        for name, column in kind.following(stored).items():
            of = stored.of_cells if f"{stored.moment}_{name}" in stored.cells.columns else stored.of_pairs
            if of(name).to_list() != column.to_list():
                return False
    return True


def problem_with_table(table: pl.DataFrame, plan: StoredPlan, release_id: str, config: Config) -> str | None:
    """Return what in a released table does not follow from its plan and from integer noisy sums; None if all does.

    Args:
        table: The released table.
        plan: Its stored plan.
        release_id: The id of the release.
        config: The configuration that the plan was made with.
    """
    if table.height != plan.published.height:
        return "the released table has not the cells of the plan"
    kind, cells = kind_of(config), plan.published
    for stored in plan.sums(config):
        cells = cells.with_columns(**kind.drawn_again(stored, table))
    found = zip(cells.iter_rows(named=True), table.iter_rows(named=True), strict=True)
    sums = [_noisy_sums(cell, row, config) for cell, row in found]
    columns = {name: exact_series(one[name] for one in sums) for name in (sums[0] if sums else ())}
    expected = statistic_frame(cells.with_columns(**columns), release_id, config)
    drawn = [name for name in expected.columns if name in ("mean", "variance") or "_ci95_" in name]
    if not expected.drop(drawn).equals(table.drop(drawn, strict=False)):
        return "the released table is not what was planned"
    wrong = [name for name in drawn if _bits(expected[name]) != _bits(table[name])]
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
