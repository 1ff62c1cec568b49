"""The share of each cell's records above a limit, and how the errors of these shares go together: post-processing."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from dpmath.estimate.areas import ALIKE
from dpmath.estimate.day import FloatArray
from dpmath.estimate.law_bins import Bins
from dpmath.estimate.law_design import Seen
from dpmath.estimate.law_shape import local_variance
from dpmath.joint.errors import OfFactors
from dpmath.joint.factors import Factors
from dpmath.joint.loadings import Cells, Loadings, Sizes, loadings

SIZES = Sizes(common=12, lasting=8, own=2)
_NODE = np.sqrt(3)
_LEAST_VARIANCE = 1e-6
"""Of a cell's share, which is not known to less than a thousandth. Parts that are smaller still are left out."""
_LEAST_DEVIATION = 0.1
"""Of a mean, in points: a law is not tilted to two means that are nearer."""


@dataclass(frozen=True)
class Shares:
    """The shares of records above one limit.

    Attributes:
        above: Share of each cell's records, from 0 to 1, shape (G,).
        by_mean: By how much it rises where the cell's mean is a point higher, shape (G,).
        apart: How the errors of shares go together apart from those of the means.
    """

    above: FloatArray
    by_mean: FloatArray
    apart: Loadings


def shares_above(seen: Seen, bins: Bins, limit: float) -> Shares:
    """Return the shares of records above a limit.

    An error of a share is what the mean's error moves it by, as the best line has it, and what it has apart from that:
    the shape of the law, which lasts but for the cell's own part, and the sampling of the day's records, in which a
    user is alike in all cells.

    Args:
        seen: The day, and what is known of shapes after it.
        bins: The bins of the records.
        limit: The limit, in points.

    Source:
        HV-E10.
    """
    estimate, laws, occupancy = seen.estimate, seen.shapes.laws, seen.occupancy
    deviation = np.maximum(np.sqrt(estimate.variance), _LEAST_DEVIATION)
    beyond = 1 - bins.shares_below(limit)
    low, middle, high = (
        laws.tilted(estimate.mean + side * _NODE * deviation, seen.shape) @ beyond for side in (-1, 0, 1)
    )
    above, by_mean = (low + 4 * middle + high) / 6, (high - low) / (2 * _NODE * deviation)
    curved = np.maximum((low**2 + 4 * middle**2 + high**2) / 6 - above**2 - (by_mean * deviation) ** 2, 0.0)
    errors, lasting = _apart(seen, beyond, curved)
    day = estimate.view.day
    records = occupancy.cell_records.astype(np.float64)
    cells = Cells(day.hexagon, day.slot, day.position, day.n_slots, records)
    return Shares(np.clip(above, 0.0, 1.0), by_mean, loadings(errors, lasting, cells, sizes=SIZES))


def _apart(seen: Seen, beyond: FloatArray, curved: FloatArray) -> tuple[OfFactors, OfFactors]:
    """Return how errors of shares go together apart from the means', on a day and with the same cells of days before.

    Args:
        seen: The day.
        beyond: Which share of each bin's records is above the limit, shape (N_BINS,).
        curved: Variance of what the means' errors do to shares beside the best line, shape (G,).
    """
    moments, occupancy, day = seen.moments, seen.occupancy, seen.estimate.view.day
    law, values = moments.law, seen.shapes.laws.values
    above = law @ beyond
    off = values - (law @ values)[:, None]
    slope = (law * off) @ beyond / moments.variance
    fields, local, own = [], [], curved
    for table, (numbers, covariance) in enumerate(zip(seen.shapes.laws.tables, seen.shapes.covariance, strict=True)):
        moved = law @ (beyond * numbers) - moments.table[:, table] * above
        moved -= moments.slope[:, table] * slope * moments.variance
        moved = np.where(np.abs(moved) > _LEAST_VARIANCE, moved, 0.0)
        variance, turned = np.linalg.eigh(covariance)
        fields.append(moved[:, None] * (seen.rows @ (turned * np.sqrt(np.maximum(variance, 0.0)))))
        local.append(moved * np.sqrt(local_variance(table)))
        own = own + moved**2 * seen.shapes.own_variance(table)
    apart = _left_of(beyond, seen, occupancy.cell_records @ law / occupancy.cell_records.sum())
    steps = np.diff(apart)
    off = np.sqrt(max(float(steps @ seen.shapes.law_off[:-1, :-1] @ steps), 0.0))
    spread = np.sqrt(np.maximum(law @ apart**2 - (law @ apart) ** 2, 0.0))
    spread = np.where(spread > _LEAST_VARIANCE, spread, 0.0)
    n_tables = seen.shapes.n_tables
    local.append(spread * np.sqrt(2 * local_variance(n_tables)))
    fields.append((spread * off / max(float(np.average(spread, weights=occupancy.cell_records)), 1e-12))[:, None])
    sampled = np.maximum(above * (1 - above) - slope**2 * moments.variance, 0.0)
    of_pair = seen.estimate.view.share_of_cell * np.sqrt(seen.per_record * sampled[occupancy.cell])
    alone = _LEAST_VARIANCE + own + (1 - ALIKE) * np.bincount(occupancy.cell, of_pair**2, occupancy.n_cells)
    users = day.by_user(np.sqrt(ALIKE) * of_pair)
    nothing = np.zeros((occupancy.n_cells, 0))
    factors = Factors(day.hexagon, day.slot, np.column_stack(fields), nothing, np.column_stack(local), nothing, alone)
    nobody = csr_array((occupancy.n_cells, 1))
    return OfFactors(factors, users), OfFactors(replace(factors, alone=np.zeros(occupancy.n_cells)), nobody)


def _left_of(beyond: FloatArray, seen: Seen, city: FloatArray) -> FloatArray:
    """Return what a function of bins has beside the value and the tables under the city's law, shape (N_BINS,)."""
    laws = seen.shapes.laws
    among = np.vstack([np.ones(beyond.size), laws.values, laws.tables])
    root = np.sqrt(city)
    told, *_ = np.linalg.lstsq((root * among).T, root * beyond, rcond=None)
    return np.asarray(beyond - told @ among)
