"""How the errors of cells go together, in some sixty numbers a cell, for those who ask about areas and periods."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from dpmath.core.occupancy import IntArray
from dpmath.joint.errors import LEAST_VARIANCE, Errors
from dpmath.joint.factors import Factors
from dpmath.joint.products import FloatArray

_MORE = 8
"""So many factors more are sought than are kept: those are found better then."""
_ROUNDS = 2
_TURNS = 2
_SOME = 40
"""Number of places at which the result is compared with all factors."""


@dataclass(frozen=True)
class Cells:
    """Where cells are, and how much they count.

    Attributes:
        hexagon: Hexagon of each cell, shape (G,), 0 <= hexagon < H.
        slot: Slot of each cell, shape (G,), 0 <= slot < n_slots.
        position: Where each hexagon is, shape (H, d).
        n_slots: Number of slots of a day.
        weight: What cells count in the mean of an area, above 0, shape (G,): records.
    """

    hexagon: IntArray
    slot: IntArray
    position: FloatArray
    n_slots: int
    weight: FloatArray


@dataclass(frozen=True)
class Sizes:
    """How many factors are kept.

    Attributes:
        common: Those that all cells have in common, of the day's errors.
        lasting: The same of what they share with other days.
        own: Those of each hexagon.
    """

    common: int = 40
    lasting: int = 32
    own: int = 6


@dataclass(frozen=True)
class Loadings:
    """How errors go together.

    Attributes:
        day: The covariance of the errors of a day's cells.
        lasting: Their covariance with the errors of the same cells on any day before.
        least: The least standard deviation of an area's mean by these few factors, as a share of the exact one. The
            areas are the city, each slot, and some hexagons and neighbourhoods of seven, for the day and for parts of
            it.
        largest: The largest such share.
        again: By what the covariance with days before is larger if users come again: in the city, or in the median of
            the areas if that is more.
    """

    day: Factors
    lasting: Factors
    least: float
    largest: float
    again: float = 1.0


def loadings(
    errors: Errors,
    lasting: Errors,
    cells: Cells,
    again: Callable[[csr_array], FloatArray] | None = None,
    sizes: Sizes = Sizes(),
) -> Loadings:
    """Return how the errors of a day's cells go together, by few factors.

    Args:
        errors: The covariance of the errors of a day's cells.
        lasting: Their covariance with the errors of the same cells on any day before.
        cells: The cells.
        again: Gives that covariance of weighted sums of cells if users come again; None if nothing is known of users.
        sizes: How many factors are kept.

    Source:
        HV-E8.
    """
    of_day = _Target(errors, cells, sizes.common, sizes.own, lasts=False)
    few, weights = _fitted(of_day), _areas(cells)
    exact = errors.variances(weights)
    share = np.sqrt(few.variances(weights) / exact)
    # few factors are less than all: they are made larger, as far as a cell's variance allows, so that areas are at most
    # as much too sure as too unsure
    room = of_day.diagonal / np.maximum(few.diagonal - few.alone, LEAST_VARIANCE)
    few = _with_alone(few.scaled(np.minimum(1 / np.sqrt(share.min() * share.max()), np.sqrt(room))), of_day)
    share = np.sqrt(few.variances(weights) / exact)
    of_lasting = _fitted(_Target(lasting, cells, sizes.lasting, sizes.own, lasts=True))
    more = np.ones(1) if again is None else again(weights) / lasting.variances(weights)
    factor = max(1.0, float(more[0]), float(np.median(more)))  # the first area is the city
    return Loadings(few, of_lasting, float(share.min()), float(share.max()), factor)


def _areas(day: Cells) -> csr_array:
    """Return the share of each cell in some areas, shape (G, n)."""
    hexagons = np.unique(day.hexagon)
    some = hexagons[:: max(1, hexagons.size // _SOME)]
    near = [np.argsort(((day.position - day.position[one]) ** 2).sum(axis=1), kind="stable")[:7] for one in some]
    places = [*(day.hexagon == one for one in some), *(np.isin(day.hexagon, ones) for ones in near)]
    part = day.slot * 6 // day.n_slots
    parts = [place & (part == number % 6) for number, place in enumerate(places)]
    slots = [day.slot == one for one in np.unique(day.slot)]
    weights = np.array([day.weight * one for one in (day.weight > 0, *slots, *places, *parts) if one.any()]).T
    return csr_array(weights / weights.sum(axis=0))


@dataclass(frozen=True)
class _Target:
    """What is to be fitted. What lasts is of no cell or slot alone."""

    errors: Errors
    at: Cells
    n_common: int
    n_own: int
    lasts: bool

    @cached_property
    def weight(self) -> FloatArray:
        """How much cells count: by their records, as they do in the mean of an area, shape (G,)."""
        return np.sqrt(self.at.weight)

    @property
    def none(self) -> Factors:
        """No factors."""
        of_all, of_hexagon, of_slot = (np.zeros((self.weight.size, size)) for size in (0, self.n_own, 1))
        return Factors(self.at.hexagon, self.at.slot, of_all, of_all, of_hexagon, of_slot, np.zeros(self.weight.size))

    @cached_property
    def cells(self) -> IntArray:
        """The cells of each hexagon, -1 for none, shape (H, m)."""
        order = np.argsort(self.at.hexagon, kind="stable")
        number = np.bincount(self.at.hexagon)
        first = np.cumsum(number) - number
        place = np.arange(order.size) - first[self.at.hexagon[order]]
        found = np.full((number.size, number.max()), -1)
        found[self.at.hexagon[order], place] = order
        return found

    @cached_property
    def blocks(self) -> FloatArray:
        """The covariance of the cells of each hexagon, shape (H, m, m)."""
        return self.errors.blocks(self.cells)

    @cached_property
    def diagonal(self) -> FloatArray:
        """The variance of each cell, shape (G,)."""
        there, here = self.cells >= 0, np.arange(self.cells.shape[1])
        found = np.empty(self.weight.size)
        found[self.cells[there]] = self.blocks[:, here, here][there]
        return found

    @cached_property
    def among_slots(self) -> Callable[[FloatArray], FloatArray]:
        """What multiplies a number of each cell, shape (G,), by the covariances of other cells of its slot."""
        return self.errors.among(self.at.slot)

    def images(self, vectors: FloatArray) -> FloatArray:
        """Return the product of the covariance with vectors of cells, where cells count."""
        return self.errors.times(self.weight[:, None] * vectors)

    def left(self, factors: Factors, vectors: FloatArray, images: FloatArray) -> FloatArray:
        """Return the product of what some factors leave with vectors of cells, whose images are known."""
        return self.weight[:, None] * (images - factors.times(self.weight[:, None] * vectors))


def _fitted(target: _Target) -> Factors:
    """Return few factors of errors, which are fitted by turns: those of hexagons, of all cells, and of slots."""
    # any start would do; this one is the same on every machine
    vectors = np.cos(np.outer(np.arange(target.weight.size) + 0.5, np.sqrt(np.arange(target.n_common + _MORE) + 2.0)))
    factors, images = replace(target.none, alone=target.errors.alone), target.images(vectors)
    for _ in range(_ROUNDS):
        factors = _with_alone(_with_own(factors, target), target)
        factors, vectors, images = _with_common(factors, vectors, images, target)
        factors = _with_slots(factors, target)
    return _with_alone(_with_own(factors, target), target)


def _with_own(factors: Factors, target: _Target) -> Factors:
    """Return the factors with those of hexagons fitted to what the others leave of each hexagon's block."""
    there = target.cells >= 0
    weight = np.where(there, target.weight[target.cells], 0.0)
    others = replace(factors, of_hexagon=np.zeros_like(factors.of_hexagon))
    left = (target.blocks - others.blocks(target.cells)) * weight[:, :, None] * weight[:, None, :]
    values, vectors = np.linalg.eigh(left)
    found = vectors[:, :, -target.n_own :] * np.sqrt(np.maximum(values[:, None, -target.n_own :], 0.0))
    own = np.zeros_like(factors.of_hexagon)
    own[target.cells[there], -found.shape[2] :] = found[there] / weight[there][:, None]
    return replace(factors, of_hexagon=own)


def _with_alone(factors: Factors, target: _Target) -> Factors:
    """Return the factors with what they leave of each cell's variance."""
    if target.lasts:
        return factors
    return replace(factors, alone=np.maximum(target.diagonal - (factors.diagonal - factors.alone), 0.0))


def _with_common(
    factors: Factors, vectors: FloatArray, images: FloatArray, target: _Target
) -> tuple[Factors, FloatArray, FloatArray]:
    """Return the factors with those of all cells fitted by subspace iteration, the vectors it ended with, and images.

    Args:
        factors: The factors so far.
        vectors: The vectors to begin with.
        images: Their products with the covariance.
        target: What is to be fitted.
    """
    nothing = np.zeros((target.weight.size, 0))
    others = replace(factors, common=nothing, against=nothing)
    for _ in range(_TURNS):
        vectors, _ = np.linalg.qr(target.left(others, vectors, images))
        images = target.images(vectors)
    values, turned = np.linalg.eigh(vectors.T @ target.left(others, vectors, images))
    kept = np.argsort(-np.abs(values), kind="stable")[: target.n_common]
    found = vectors @ (turned[:, kept] * np.sqrt(np.abs(values[kept]))) / target.weight[:, None]
    adds = values[kept] > 0
    return replace(factors, common=found[:, adds], against=found[:, ~adds]), vectors, images


def _with_slots(factors: Factors, target: _Target) -> Factors:
    """Return the factors with one of each slot fitted by power iteration to what its cells have in common."""
    slot = target.at.slot
    of_errors, of_factors = target.among_slots, factors.among(slot)
    by_slot = csr_array((np.ones(slot.size), (slot, np.arange(slot.size))))

    def times(vector: FloatArray) -> FloatArray:
        weighted = target.weight * vector
        return target.weight * (of_errors(weighted) - of_factors(weighted))

    vector = target.weight.copy()
    for _ in range(2 * _TURNS):
        vector = times(vector)
        vector /= np.sqrt(by_slot @ vector**2).clip(1e-300)[slot]
    value = np.maximum(by_slot @ (vector * times(vector)), 0.0)
    return replace(factors, of_slot=(vector * np.sqrt(value)[slot] / target.weight)[:, None])
