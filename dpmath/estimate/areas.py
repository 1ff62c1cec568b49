"""The mean of a larger area that holds a cell, for where the cell's own is too uncertain. All of it is post-processing.

The errors of cells go together: neighbours share what the city, the hour and the hexagon are not known to be. So the
variance of an area's mean comes from the joint covariance of its cells, and is no average of their variances.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from dpmath.core.occupancy import IntArray, Occupancy
from dpmath.estimate.day import Day, FloatArray
from dpmath.estimate.posterior import Estimate, Joint
from dpmath.joint.factors import squares

HALF_WIDTH = 1.96
"""Half the width of an interval, in standard deviations."""
AREAS = ("cell", "hexagon_4h", "parent", "parent_4h")
"""Whose value a cell may get, in the order in which they are tried: the cell, its hexagon in the 4 hours of local time
in which the slot begins, the parent hexagon in the slot, and the parent hexagon in the 4 hours."""
_BANDS = 6
ALIKE = 0.2
"""Correlation of what is a user's own in two cells, beside what it has everywhere: a driver is slow on one road."""


@dataclass(frozen=True)
class Areas:
    """The areas that hold each cell, K kinds of them, of which the first is the cell itself.

    Attributes:
        number: Number of the area of each kind that holds each cell, shape (K, G).
        records: Number of records of each cell, shape (G,).
        mean: Mean of the area's values, a mean over records, in points, shape (K, G).
        variance: Its variance, shape (K, G).
        variance_before: The variance before the day's sums were known, shape (K, G).
    """

    number: IntArray
    records: IntArray
    mean: FloatArray
    variance: FloatArray
    variance_before: FloatArray

    @cached_property
    def widths(self) -> FloatArray:
        """Half the width of each interval; an area that holds no other cell is no choice, and infinite."""
        found = HALF_WIDTH * np.sqrt(self.variance)
        for number, width in zip(self.number[1:], found[1:], strict=True):
            width[np.bincount(number)[number] == 1] = np.inf
        return found

    def chosen(self, target: float) -> IntArray:
        """Return which kind is to be published: the first as narrow as the target, or the narrowest, shape (G,)."""
        narrow = self.widths <= target
        return np.where(narrow.any(axis=0), narrow.argmax(axis=0), self.widths.argmin(axis=0)).astype(np.int64)

    def allowed(self, chosen: IntArray, target: float, slack: float) -> np.ndarray:
        """Return whether each choice follows from widths that differ from these by at most ``slack``, shape (G,)."""
        surely = self.widths <= target - slack
        before = np.cumsum(surely, axis=0) - surely
        width, earlier = (np.take_along_axis(one, chosen[None], axis=0)[0] for one in (self.widths, before))
        is_first = (width <= target + slack) & (earlier == 0)
        is_narrowest = (width <= self.widths.min(axis=0) + 2 * slack) & ~surely.any(axis=0)
        return is_first | is_narrowest


def area_numbers(hexagon: IntArray, slot: IntArray, n_slots: int, parent: IntArray) -> IntArray:
    """Return the number of the area of each kind that holds each cell, shape (K, G).

    Args:
        hexagon: Hexagon of each cell, shape (G,), 0 <= hexagon < H.
        slot: Slot of each cell, counted from local midnight, shape (G,).
        n_slots: Number of slots of a day.
        parent: Number of each hexagon's parent, shape (H,), 0 <= parent < H.

    Source:
        HV-E3.
    """
    band, of_parent = slot * _BANDS // n_slots, parent[hexagon]
    return np.stack(
        [np.arange(slot.size), hexagon * _BANDS + band, of_parent * n_slots + slot, of_parent * _BANDS + band]
    )


def averages(number: IntArray, records: IntArray, values: FloatArray) -> FloatArray:
    """Return the mean over records of the cells' values over the area of each kind that holds a cell, shape (K, G).

    Source:
        HV-E3.
    """
    found = [values]  # as they are: a cell's own value is not to change by rounding
    for areas in number[1:]:
        found.append((np.bincount(areas, records * values) / np.bincount(areas, records).clip(1))[areas])
    return np.stack(found)


def areas_of_cells(estimate: Estimate, day: Day, parent: IntArray | None) -> Areas:
    """Return the areas that hold each cell, with their means and variances.

    Args:
        estimate: The estimate of the day.
        day: The day.
        parent: Number of each hexagon's parent, shape (H,); None for the cells alone.

    Source:
        HV-E3.
    """
    records = day.occupancy.cell_records
    number = np.arange(records.size)[None]
    variances = [np.stack([estimate.variance, estimate.variance_before])]
    if parent is not None:
        number = area_numbers(day.hexagon, day.slot, day.n_slots, parent)
        region = parent[day.hexagon]  # no area has cells of two parents
        for areas in number[1:]:
            alike = added_by_alike(day.occupancy, estimate.residual_variance - estimate.alike_variance, areas)
            variances.append(area_variances(estimate, records, areas, region) + alike)
    variance, before = np.stack(variances, axis=1)
    return Areas(number, records, averages(number, records, estimate.mean), variance, before)


def area_variances(estimate: Estimate, records: IntArray, area: IntArray, region: IntArray) -> FloatArray:
    """Return the variance of the mean of the area that holds each cell, after and before the day, shape (2, G).

    Args:
        estimate: The estimate of the day.
        records: Number of records of each cell, shape (G,).
        area: Number of the area that holds each cell, shape (G,).
        region: Number of a region that holds the area, shape (G,). One region's coefficients are taken at a time, so
            the cost of a region is that of the square of its coefficients.

    Source:
        HV-E3.
    """
    found = np.empty((2, area.size))
    order = np.argsort(region, kind="stable")
    for cells in np.split(order, np.flatnonzero(np.diff(region[order])) + 1):
        _, here = np.unique(area[cells], return_inverse=True)
        share = np.zeros((here.max() + 1, cells.size))
        share[here, np.arange(cells.size)] = records[cells]
        share /= share.sum(axis=1, keepdims=True)
        found[:, cells] = _variances(estimate, cells, share)[:, here]
    return found


def added_by_alike(occupancy: Occupancy, residual_variance: FloatArray, area: IntArray) -> FloatArray:
    """Return what is added to the variance of each cell's area because a user's residuals in its cells are alike.

    The model's residuals are independent but for what a user has everywhere, which is enough for cells, for a user has
    one residual in each.

    Args:
        occupancy: The day's pairs.
        residual_variance: Variance of what is each pair's own of its residual, shape (P,).
        area: Number of the area that holds each cell, shape (G,).

    Source:
        HV-E3.
    """
    of_pair = area[occupancy.cell]
    part = occupancy.n_records * np.sqrt(residual_variance)
    user_areas, user_area = np.unique(of_pair * occupancy.n_users + occupancy.user, return_inverse=True)
    together = np.bincount(user_areas // occupancy.n_users, np.bincount(user_area, part) ** 2, area.max() + 1)
    alone, records = (np.bincount(of_pair, one, area.max() + 1) for one in (part**2, occupancy.n_records))
    return np.asarray((ALIKE * np.maximum(together - alone, 0.0) / np.maximum(records, 1) ** 2)[area])


def _variances(estimate: Estimate, cells: IntArray, share: FloatArray) -> FloatArray:
    """Return the variance of each mean of some cells, of which each has a share, after and before the day."""
    joint, squared = estimate.joint, share**2
    residual = squared @ joint.residual[cells]
    users = joint.users[cells]
    alike = squares(csr_array(share.T), users) - squared @ np.asarray((users**2).sum(axis=1))
    before = _state_variances(joint, cells, share) + squared @ joint.of_cells[cells] + residual + alike
    known = ((joint.known[:, cells] @ share.T) ** 2).sum(axis=0)
    off = ((share @ joint.off[cells]) ** 2).sum(axis=1)
    after = residual + np.maximum(before - known - residual, 1e-12) + off
    # the check has changed what residuals are thought to be, and nothing else
    return np.stack([after, before]) - residual + squared @ estimate.residual_part[cells]


def _state_variances(joint: Joint, cells: IntArray, share: FloatArray) -> FloatArray:
    """Return the variance that the coefficients give to each mean, before the day."""
    rows, n_common, n_own = joint.rows, joint.rows.common.shape[1], joint.rows.own.shape[1]
    hexagons, here = np.unique(rows.hexagon[cells], return_inverse=True)
    own = np.zeros((cells.size, hexagons.size, n_own))
    own[np.arange(cells.size), here] = rows.own[cells]
    values = share @ np.column_stack([rows.common[cells], own.reshape(cells.size, -1)])
    of_hexagons = n_common + hexagons[:, None] * n_own + np.arange(n_own)
    used = np.concatenate([np.arange(n_common), of_hexagons.ravel()])
    return np.maximum(((values @ joint.before.block(used)) * values).sum(axis=1), 0.0)
