"""Percentiles and shares of the records of cells or larger areas, with intervals. All of it is post-processing."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from dpmath.core.occupancy import IntArray
from dpmath.estimate.areas import HALF_WIDTH, added_by_alike, area_numbers
from dpmath.estimate.day import Day, FloatArray
from dpmath.estimate.law_bins import Bins
from dpmath.estimate.law_design import Seen
from dpmath.estimate.posterior import Estimate
from dpmath.estimate.state import POINTS
from dpmath.joint.factors import Factors

LEAST_RECORDS = 20
"""An area with fewer records has no percentile: the records of the day would say little of it."""
_NODES, _WEIGHTS = np.array([-np.sqrt(3), 0.0, np.sqrt(3)]), np.array([1, 4, 1]) / 6


@dataclass(frozen=True)
class Statistic:
    """One statistic of each cell, with its 95 % interval; nan where nothing is published, each of shape (G,)."""

    value: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class Distributions:
    """What is published of the laws of a day's cells.

    Attributes:
        area: Whose law each cell has, a position in ``AREAS``, shape (G,); -1 if no area has enough records.
        percentiles: The percentiles, in points, in the order in which they were asked for.
        shares: The shares of records above each limit, from 0 to 1.
    """

    area: IntArray
    percentiles: list[Statistic]
    shares: list[Statistic]


@dataclass(frozen=True)
class LawAreas:
    """The areas that hold each cell, K kinds of them, of which the first is the cell itself.

    Attributes:
        number: Number of the area of each kind that holds each cell, shape (K, G).
        records: Number of records of each cell, shape (G,).
        variance: Variance of the mean of each area that holds a cell, in squared points, shape (K, G).
    """

    number: IntArray
    records: IntArray
    variance: FloatArray


@dataclass(frozen=True)
class AreaLaws:
    """The laws of some areas, A in all.

    Attributes:
        likely: Cumulative law for the means as estimated, shape (A, N_BINS).
        expected: The same averaged over the uncertainty of means.
        lower: The same for means at the lower ends of their intervals.
        higher: The same for means at the upper ends.
        deviation: Standard deviation of the law apart from that, sampling of the day's records included.
    """

    likely: FloatArray
    expected: FloatArray
    lower: FloatArray
    higher: FloatArray
    deviation: FloatArray


def law_areas(estimate: Estimate, day: Day, parent: IntArray, errors: Factors) -> LawAreas:
    """Return the areas that hold each cell, the variances of their means by few factors.

    Args:
        estimate: The estimate of the day.
        day: The day.
        parent: Number of each hexagon's parent, shape (H,).
        errors: How the errors of the day's cells go together.

    Source:
        HV-E10.
    """
    records = day.occupancy.cell_records
    number = area_numbers(day.hexagon, day.slot, day.n_slots, parent)
    variance = [estimate.variance]
    for areas in number[1:]:
        shape = (records.size, int(areas.max()) + 1)
        share = records / np.bincount(areas, records)[areas]
        weights = csr_array((share, (np.arange(records.size), areas)), shape=shape)
        variance.append(errors.variances(weights)[areas])
    return LawAreas(number, records, np.stack(variance))


def chosen_areas(areas: LawAreas) -> IntArray:
    """Return which area's law each cell has: the first with enough records, shape (G,); -1 for none.

    Source:
        HV-E10.
    """
    enough = np.stack([np.bincount(number, areas.records)[number] >= LEAST_RECORDS for number in areas.number])
    return np.where(enough.any(axis=0), enough.argmax(axis=0), -1).astype(np.int64)


def distributions(
    seen: Seen,
    areas: LawAreas,
    bins: Bins,
    percentiles: Sequence[float],
    limits: Sequence[float],
    slack: float = 0.0,
) -> Distributions:
    """Return what is published of a day.

    A statistic is withheld where its interval is wider than that of the best constant, whose spread is what the
    statistic varies by over the areas.

    Args:
        seen: The day, and what is known of shapes after it.
        areas: The areas that hold each cell, with their means' variances.
        bins: The bins of the records.
        percentiles: Percentiles wanted, from 0 to 100.
        limits: Limits above which shares are wanted, in points.
        slack: By how much an interval may be wider than that, as a share of the range.

    Source:
        HV-E10.
    """
    area = chosen_areas(areas)
    n_cells = area.size
    found = [Statistic(*(np.full(n_cells, np.nan) for _ in range(3))) for _ in (*percentiles, *limits)]
    for kind in range(len(areas.number)):
        cells = np.flatnonzero(area == kind)
        if not cells.size:
            continue
        wanted, here = np.unique(areas.number[kind][cells], return_inverse=True)
        laws = area_laws(seen, areas, kind, wanted)
        made = [_percentile(laws, bins, percentile / 100) for percentile in percentiles]
        made += [_share(laws, bins, limit) for limit in limits]
        for into, one in zip(found, made, strict=True):
            for column in ("value", "low", "high"):
                getattr(into, column)[cells] = getattr(one, column)[here]
    ranges = [*(POINTS for _ in percentiles), *(1.0 for _ in limits)]
    kept = [
        _as_good_as_a_constant(one, areas.records, slack * largest) for one, largest in zip(found, ranges, strict=True)
    ]
    return Distributions(area, kept[: len(percentiles)], kept[len(percentiles) :])


def area_laws(seen: Seen, areas: LawAreas, kind: int, wanted: IntArray) -> AreaLaws:
    """Return the laws of areas of one kind: mixtures of their cells' laws by records.

    Errors of shapes are taken to go together within an area, which only widens the intervals.

    Args:
        seen: The day, and what is known of shapes after it.
        areas: The areas that hold each cell.
        kind: Which kind, a position in ``AREAS``.
        wanted: Numbers of the areas, rising, shape (A,).

    Source:
        HV-E10.
    """
    number, laws, moments = areas.number[kind], seen.shapes.laws, seen.moments
    cells = np.flatnonzero(np.isin(number, wanted))
    of_cell = np.searchsorted(wanted, number[cells])
    records = areas.records[cells].astype(np.float64)
    records /= np.bincount(of_cell, records)[of_cell]

    def mixed(of_cells: FloatArray) -> FloatArray:
        mixture = np.zeros((wanted.size, of_cells.shape[1]))
        np.add.at(mixture, of_cell, records[:, None] * of_cells)
        return mixture

    law, mean, shape = moments.law[cells], seen.estimate.mean[cells], seen.shape[cells]
    below = np.cumsum(law, axis=1)
    off = laws.values - (law @ laws.values)[:, None]
    by_mean = np.cumsum(law * off, axis=1) / moments.variance[cells, None]
    deviation = np.sqrt(seen.estimate.variance[cells])
    _, first = np.unique(number[cells], return_index=True)
    # cells are off together as far as the mean of their area is off
    together = np.sqrt(areas.variance[kind][cells][first]) / mixed(deviation[:, None])[:, 0]

    def moved(by: FloatArray | float) -> FloatArray:
        return mixed(np.cumsum(laws.tilted(mean + by * deviation, shape), axis=1))

    expected = np.tensordot(_WEIGHTS, [moved(node) for node in _NODES], 1)
    lower, higher = (moved(side * HALF_WIDTH * together[of_cell]) for side in (-1, 1))
    variance = np.zeros_like(expected)
    for table, numbers in enumerate(laws.tables):
        apart = numbers - moments.table[cells, table, None] - moments.slope[cells, table, None] * off
        by_shape = np.abs(np.cumsum(law * apart, axis=1)) * np.sqrt(seen.variance[cells, table])[:, None]
        variance += mixed(by_shape) ** 2
    sampled = np.maximum(below * (1 - below) - by_mean**2 * moments.variance[cells, None], 0.0)
    variance += mixed(sampled) * _sampling(seen, areas, kind)[cells][first][:, None]
    return AreaLaws(mixed(below), expected, lower, higher, np.sqrt(variance))


def _sampling(seen: Seen, areas: LawAreas, kind: int) -> FloatArray:
    """Return one over the number of independent records that the area of each cell is worth, shape (G,)."""
    occupancy, number = seen.occupancy, areas.number[kind]
    alone = np.bincount(number[occupancy.cell], occupancy.n_records**2 * seen.per_record, number.max() + 1)
    total = np.bincount(number, areas.records, number.max() + 1)
    alike = added_by_alike(occupancy, seen.per_record, number) if kind else 0.0
    return np.minimum((alone / np.maximum(total, 1) ** 2)[number] + alike, 1.0)


def _percentile(laws: AreaLaws, bins: Bins, share: float) -> Statistic:
    low, high = (np.maximum.accumulate(laws.likely + side * HALF_WIDTH * laws.deviation, axis=1) for side in (1, -1))
    high[:, -1] = 1.0
    value, *ends = (bins.quantile(one, share) for one in (laws.likely, laws.lower, laws.higher, low, high))
    return Statistic(value, *_both(value, (ends[0], ends[1]), (ends[2], ends[3])))


def _share(laws: AreaLaws, bins: Bins, limit: float) -> Statistic:
    weights = bins.shares_below(limit)
    each = (laws.likely, laws.expected, laws.lower, laws.higher)
    likely, above, low, high = (np.clip(1 - _at(one, weights), 0.0, 1.0) for one in each)
    apart = HALF_WIDTH * _at(laws.deviation, weights)
    low, high = _both(likely, (low, high), (likely - apart, likely + apart))
    return Statistic(above, np.clip(low, 0.0, above), np.clip(high, above, 1.0))


def _both(
    value: FloatArray, one: tuple[FloatArray, FloatArray], other: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Return the interval for two errors that have nothing in common, from the low and high end for each of them."""
    below, above = (np.hypot(*(end - value for end in ends)) for ends in zip(one, other, strict=True))
    return value - below, value + above


def _at(cumulative: FloatArray, weights: FloatArray) -> FloatArray:
    """Return a cumulative number at a limit inside a bin, by the share of the bin's records below it."""
    number = int(np.flatnonzero(weights > 0)[-1]) if weights.any() else 0
    before = cumulative[:, max(number - 1, 0)]
    return np.asarray(before + weights[number] * (cumulative[:, number] - before))


def _as_good_as_a_constant(one: Statistic, records: IntArray, slack: float) -> Statistic:
    """Return a statistic without the values whose intervals are wider than the best constant's."""
    known = np.flatnonzero(~np.isnan(one.value))
    if not known.size:
        return one
    weight, width = records[known].astype(np.float64), (one.high - one.low)[known]
    mean = np.average(one.value[known], weights=weight)
    between = np.average((one.value[known] - mean) ** 2, weights=weight)
    within = np.average((width / (2 * HALF_WIDTH)) ** 2, weights=weight)
    widest = 2 * HALF_WIDTH * float(np.sqrt(between + within)) + slack
    wide = np.zeros(one.value.size, dtype=bool)
    wide[known[width > widest]] = True
    return Statistic(*(np.where(wide, np.nan, column) for column in (one.value, one.low, one.high)))
