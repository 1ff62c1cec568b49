"""By how much a day departs from what is usual, and where it surely does. All of it is post-processing."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtr

from dpmath.core.occupancy import IntArray
from dpmath.estimate.areas import area_numbers
from dpmath.estimate.day import Day, FloatArray
from dpmath.estimate.errors import of_coefficients
from dpmath.estimate.posterior import Estimate
from dpmath.joint.errors import LEAST_VARIANCE

FALSE_DISCOVERIES = 0.1
"""The share of the areas listed that do not depart so far in the direction that is said, on average, at most."""
_SHARE_OF_DEVIATION = 0.25


@dataclass(frozen=True)
class Departures:
    """By how much areas of several kinds depart from what is usual, n in all.

    Attributes:
        holds: Which areas hold each cell, one of each kind, shape (K, G).
        mean: By how much each departs, as estimated, in points, shape (n,).
        deviation: Standard deviation of that, shape (n,).
        beyond: How far is much, in points: a quarter of what cells differ by.
    """

    holds: IntArray
    mean: FloatArray
    deviation: FloatArray
    beyond: float

    def unusual(self, slack: float = 0.0) -> np.ndarray:
        """Return which cells are in an area that surely departs by more than is much, shape (G,).

        Up or down, as its estimate says: of what is hardly known it is likely that it is far off, and not whither.

        Args:
            slack: By which share "much" is taken to be more.

        Source:
            HV-E9.
        """
        much = self.beyond * (1 + slack)
        usual = ndtr((much - np.abs(self.mean)) / self.deviation)
        order = np.argsort(usual, kind="stable")
        false_ones = np.cumsum(usual[order]) / np.arange(1, usual.size + 1)
        listed = np.zeros(usual.size, dtype=bool)
        listed[order[: int((false_ones <= FALSE_DISCOVERIES).sum())]] = True
        return np.asarray(listed[self.holds].any(axis=0))


def departures(estimate: Estimate, day: Day, parent: IntArray) -> Departures:
    """Return by how much a day departs from what lasts: the city, its hours, and places in the day and in parts of it.

    Args:
        estimate: The estimate of the day.
        day: The day.
        parent: Number of each hexagon's parent, shape (H,).

    Source:
        HV-E9.
    """
    joint, records = estimate.joint, day.occupancy.cell_records.astype(np.float64)
    factors = replace(of_coefficients(joint.of_the_day, joint.rows, day), against=joint.departs.T)
    of_parts = area_numbers(day.hexagon, day.slot, day.n_slots, parent)[1:]
    kinds = [np.zeros_like(day.slot), day.slot, parent[day.hexagon], day.hexagon, *of_parts]
    holds, means, deviations, first = [], [], [], 0
    for kind in kinds:
        names, number = np.unique(kind, return_inverse=True)
        share = records / np.bincount(number, records)[number]
        weights = csr_array((share, (np.arange(records.size), number)))
        holds.append(first + number)
        means.append(weights.T @ (joint.departs.T @ joint.turned.innovation))
        deviations.append(np.sqrt(np.maximum(factors.variances(weights), LEAST_VARIANCE)))
        first += names.size
    much = much_of(estimate, day.occupancy.cell_records)
    return Departures(np.array(holds), np.concatenate(means), np.concatenate(deviations), much)


def much_of(estimate: Estimate, records: IntArray) -> float:
    """Return by how much a day must differ for that to be much, in points: a quarter of what cells differ by.

    Source:
        HV-E9.
    """
    of_cells = np.average((estimate.mean - np.average(estimate.mean, weights=records)) ** 2, weights=records)
    return _SHARE_OF_DEVIATION * float(np.sqrt(of_cells))
