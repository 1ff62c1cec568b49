"""The functions of place, time and covariates that a day's values are a sum of, and how much each may vary."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpmath.core.occupancy import IntArray
from dpmath.estimate.day import KINDS, Day, FloatArray
from dpmath.estimate.rows import Rows
from dpmath.estimate.surface import cover, nearness

_SMOOTH_SPACINGS = 2.5
_MOST_STATES = 2500
_MOST_SLOT_FUNCTIONS = 24
_SLOT_HOURS = 3.0
_FARTHEST_COVARIATE = 5.0
_LEAST_EIGENVALUE = 0.03
_HEXAGONS_A_COVARIATE = 4
"""So many hexagons must bear witness for each covariate: with fewer, it would tell hexagons apart by chance."""

N_STAY = 3
"""Number of functions of how long a user stays in a cell and on the day. They tell a cell's strata apart, not cells."""
LASTING = {
    "city": 0.03,
    "covariate": 0.03,
    "stay": 0.2,
    "kind": 0.0025,
    "kind_slot": 0.0025,
    "kind_hour": 0.0005,
    "slot": 0.015,
    "hour": 0.0025,
    "smooth": 0.03,
    "smooth_slot": 0.0075,
    "hexagon": 0.015,
    "hexagon_slot": 0.015,
    "cell": 0.018,
}
"""Prior variance of each part that lasts over days, as a share of the square of the scale. The city's course of the day
is a smooth one ("slot") and one without order ("hour"), as rush hours are. About what eight cities, made ones and
Austin, had at epsilon 100; but cells had a seventh of this: with so little, cells that have nothing in common would
hardly be asked about."""
BY_PLACE = 0.3
"""The share of covariates, hexagons and cells together, unless the covariates alone have more."""
GROUPS = ("covariate", "city", "hour", "hexagon", "remote", "cell")
"""Groups of functions whose variances are learned apart; the city's mean and how users stay are not among them."""
_REMOTE = 0.5
"""The share of what a hexagon is supposed to vary by that goes by how remote it is: places with few records may be
unlike all others, as a depot is, or a motorway. The rest is alike for all."""
_GROUP_OF = {"city": "fixed", "stay": "fixed", "covariate": "covariate"}
"""Of a part that is common to the city; the others are of the group "city". The group "hour" gives to parts of it."""
_OWN = LASTING["hexagon"] + LASTING["hexagon_slot"] + LASTING["cell"]
_HOUR_OF = {"slot": "hour", "kind_slot": "kind_hour"}
"""Of a part that is a course of the day: the share of the same course without order."""
OF_THE_DAY = {
    "city": 0.03,
    "covariate": 0.0,
    "stay": 0.0,
    "kind": 0.0,
    "kind_slot": 0.0,
    "kind_hour": 0.0,
    "slot": 0.001,
    "hour": 0.0001,
    "smooth": 0.001,
    "smooth_slot": 0.001,
    "hexagon": 0.0006,
    "hexagon_slot": 0.0006,
    "cell": 0.003,
}
"""The same for what differs from day to day; of the city's mean, as in those cities where it differs most."""


@dataclass(frozen=True)
class Basis:
    """Functions of a cell, fixed on the first day. A day's expected values are a sum of them.

    One group of coefficients is common to the city: its mean, the covariates, how long users stay, the kind of day, the
    slot, a smooth surface, and the surface of each slot. Each hexagon has coefficients of its own: a mean, and its
    course of the day.

    Attributes:
        covariate_mean: Mean of each covariate on the first day, shape (n,).
        whitening: Turns centred covariates into F columns of mean square 1 without correlation, shape (n, F).
        slots: The slot's functions, shape (T, K).
        courses: The functions of a hexagon's course of the day, orthonormal, shape (T, k).
        course_values: How much of a smooth course each of them has, and each that is left out, shape (T,).
        left_out: The other orthonormal functions: what they would add is a cell's own, shape (T, T - k).
        knots: Where the smooth surface's functions are centred, in kilometres in space, shape (J, 3).
        knot_root: Makes the surface's functions independent, shape (J, J).
        reach: Distance over which the surface varies, in kilometres.
    """

    covariate_mean: FloatArray
    whitening: FloatArray
    slots: FloatArray
    courses: FloatArray
    course_values: FloatArray
    left_out: FloatArray
    knots: FloatArray
    knot_root: FloatArray
    reach: float

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Number of common coefficients of each part, in their order."""
        n_kinds, n_slots, n_knots = len(KINDS), self.slots.shape[1], len(self.knots)
        return {
            "city": 1,
            "covariate": self.whitening.shape[1],
            "stay": N_STAY,
            "kind": n_kinds,
            "kind_slot": n_kinds * n_slots,
            "slot": n_slots,
            "smooth": n_knots,
            "smooth_slot": n_knots * self.courses.shape[1],
        }

    @property
    def n_common(self) -> int:
        """Number of coefficients that are common to the city."""
        return sum(self.sizes.values())

    @property
    def n_own(self) -> int:
        """Number of coefficients of each hexagon: its mean, if its hours are similar, and its course of the day."""
        return self.of_similar_cells + self.courses.shape[1]

    @property
    def own_factor(self) -> float:
        """What the variances of hexagons and cells are multiplied by: they take what covariates leave."""
        taken = LASTING["covariate"] * self.whitening.shape[1]
        return max(1.0, (BY_PLACE - taken) / _OWN)

    @property
    def of_stay(self) -> slice:
        """Which coefficients are those of the functions of how long a user stays."""
        first = self.sizes["city"] + self.sizes["covariate"]
        return slice(first, first + N_STAY)

    @property
    def of_similar_cells(self) -> bool:
        """Whether a cell is taken to be similar to its neighbours in place and time."""
        return len(self.knots) > 0

    def variances(self, shares: dict[str, float], remote: FloatArray) -> dict[str, FloatArray]:
        """Return the variance of each coefficient by each group, for a scale of 1, each of shape (S,).

        The group "fixed" is that of the city's mean and of how long users stay.

        Args:
            shares: The variance of each part.
            remote: How remote each hexagon with coefficients is, shape (H,).
        """
        found = {}
        for group in ("fixed", *GROUPS):
            of_city = self._common_variances(shares, group)
            of_each = remote if group == "remote" else np.ones(remote.size)
            own = self.own_factor * self._own_variances(shares, group)[: self.n_own]
            found[group] = np.concatenate([*of_city, np.outer(of_each, own).ravel()])
        return found

    def _common_variances(self, shares: dict[str, float], group: str) -> list[FloatArray]:
        """Return the variances that a group gives to the functions of each part.

        A course is a smooth one, and one without order, which is the group of hours.
        """
        if group == "hour":  # a slot varies as much, however few functions there are
            each = self.course_values.size / max(1, self.slots.shape[1])
            return [np.full(size, each * shares.get(_HOUR_OF.get(part, ""), 0.0)) for part, size in self.sizes.items()]
        slot, course = (self.course_values[: functions.shape[1]] for functions in (self.slots, self.courses))
        smooth = {"slot": slot, "kind_slot": slot, "smooth_slot": course}
        share = {part: shares[part] * (_GROUP_OF.get(part, "city") == group) for part in self.sizes}
        return [share[part] * np.resize(smooth.get(part, np.ones(1)), size) for part, size in self.sizes.items()]

    def cell_variance(self, day: Day) -> FloatArray:
        """Return the variance of what is each cell's own on one day, for a scale of 1, shape (G,)."""
        left_out = np.zeros(self.left_out.shape[1])
        for shares in (LASTING, OF_THE_DAY):
            for group in GROUPS:  # what is left out of a course does not go by how remote a hexagon is
                left_out += self._own_variances(shares, group)[self.n_own :]
        return self.own_factor * (self.left_out**2 @ left_out)[day.slot]

    def _own_variances(self, shares: dict[str, float], group: str) -> FloatArray:
        """Return the variances that a group gives to a hexagon's mean, if it has one, and to all functions of courses.

        A course is a smooth one, and one without order, which is the cells' own.
        """
        n_all = self.course_values.size
        if group == "cell":
            if self.of_similar_cells:
                return np.append(0.0, np.full(n_all, shares["cell"]))
            return np.full(n_all, shares["hexagon"] + shares["hexagon_slot"] + shares["cell"])
        if group in ("hexagon", "remote") and self.of_similar_cells:
            part = _REMOTE if group == "remote" else 1 - _REMOTE
            return part * np.append(shares["hexagon"], shares["hexagon_slot"] * self.course_values)
        return np.zeros(self.of_similar_cells + n_all)

    def rows(self, day: Day, covariates: FloatArray, known: IntArray) -> Rows:
        """Return the functions' values at a day's cells.

        Args:
            day: The day.
            covariates: The covariates of each cell, shape (G, n).
            known: Number of each of the day's hexagons among all hexagons with coefficients, shape (H,); -1 for one
                that has none.
        """
        n_cells = day.occupancy.n_cells
        white = np.clip((covariates - self.covariate_mean) @ self.whitening, -_FARTHEST_COVARIATE, _FARTHEST_COVARIATE)
        kind = np.zeros((n_cells, len(KINDS)))
        kind[:, day.kind] = 1
        slots, courses, number = self.slots[day.slot], self.courses[day.slot], known[day.hexagon]
        surface = (nearness(day.position, self.knots, self.reach) @ self.knot_root)[day.hexagon]
        common = np.column_stack(
            [
                np.ones(n_cells),
                white,
                np.zeros((n_cells, N_STAY)),
                kind,
                _products(kind, slots),
                slots,
                surface,
                _products(surface, courses),
            ]
        )
        return Rows(common, self.own_values(day) * (number >= 0)[:, None], np.maximum(number, 0))

    def own_values(self, day: Day) -> FloatArray:
        """Return the values of the functions of each cell's hexagon, shape (G, k)."""
        return np.column_stack([np.ones((day.slot.size, int(self.of_similar_cells))), self.courses[day.slot]])


def fit_basis(day: Day, covariates: FloatArray, similar_cells: bool = True) -> Basis:
    """Return the functions for a dataset whose first day this is. It reads public numbers only.

    Args:
        day: The day.
        covariates: The covariates of each cell, shape (G, n).
        similar_cells: Whether a cell is taken to be similar to its neighbours in place and time. If not, all that it
            has in common with other cells is the city's mean, the kind of day, and what covariates tell.

    Source:
        HV-E1.
    """
    records = day.occupancy.cell_records.astype(float)
    mean, whitening = _whitening(covariates, records, max(1, day.names.size // _HEXAGONS_A_COVARIATE))
    reach = _SMOOTH_SPACINGS * day.spacing
    knots = cover(day.position, reach) if similar_cells else np.zeros((0, 3))
    values, vectors = np.linalg.eigh(nearness(knots, knots, reach) + 1e-4 * np.eye(len(knots)))
    n_courses = int(np.clip(_MOST_STATES // max(1, day.names.size) - 1, 3, day.n_slots))
    if day.n_slots == 1 and similar_cells:
        n_courses = 0  # the one function is that of the hexagon already
    course_values, courses = _slot_functions(day.n_slots)
    n_slots = min(_MOST_SLOT_FUNCTIONS, day.n_slots) if day.n_slots > 1 and similar_cells else 0
    return Basis(
        covariate_mean=mean,
        whitening=whitening,
        slots=courses[:, :n_slots],
        courses=courses[:, :n_courses],
        course_values=course_values,
        left_out=courses[:, n_courses:],
        knots=knots,
        knot_root=vectors / np.sqrt(values),
        reach=reach,
    )


def _products(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return every product of a column of one with a column of the other."""
    return (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)


def _whitening(covariates: FloatArray, records: FloatArray, most: int) -> tuple[FloatArray, FloatArray]:
    """Return the mean of covariates, and what turns them into at most so many uncorrelated columns of mean square 1."""
    n_covariates = covariates.shape[1]
    if n_covariates == 0:
        return np.zeros(0), np.zeros((0, 0))
    mean = np.average(covariates, axis=0, weights=records)
    centred = covariates - mean
    covariance = (centred * records[:, None]).T @ centred / records.sum()
    deviation = np.sqrt(np.diag(covariance))
    usable = deviation > 1e-9 * (1 + np.abs(mean))
    values, vectors = np.linalg.eigh(
        covariance[np.ix_(usable, usable)] / np.outer(deviation[usable], deviation[usable])
    )
    kept = (values > _LEAST_EIGENVALUE) & (np.arange(values.size) >= values.size - most)
    whitening = np.zeros((n_covariates, int(kept.sum())))
    whitening[usable] = vectors[:, kept] / np.sqrt(values[kept]) / deviation[usable][:, None]
    return mean, whitening


def _slot_functions(n_slots: int) -> tuple[FloatArray, FloatArray]:
    """Return how much of a smooth course each of T orthonormal functions has, shape (T,), and the functions (T, T)."""
    apart = np.abs(np.subtract.outer(np.arange(n_slots), np.arange(n_slots))) * 24 / n_slots
    near = np.exp(-0.5 * (np.sin(np.pi * apart / 24) * 24 / np.pi / _SLOT_HOURS) ** 2)
    values, vectors = np.linalg.eigh(near)
    return np.maximum(values[::-1], 0.0), vectors[:, ::-1]
