"""The parts that a surface over hexagons and hours is made of."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, kron

from dpmath.core import _check
from dpmath.core.occupancy import IntArray
from dpmath.presence.ball import Sparse

FloatArray = NDArray[np.floating[Any]]
_HARMONICS = (1, 2)
_SOME = 16
"""Of so many hexagons, at least, it is looked how near the next one is."""
_REACH_KM = {"near": 4.0, "far": 16.0}
"""Hexagons go together in two ways, of which one reaches far; how much in each is learned."""
WAYS = {
    "city": ("city",),
    "hour": ("hour",),
    **{part: (part, *(f"{part} {way}" for way in _REACH_KM)) for part in ("hexagon", "course")},
}
"""The names of the ways in which the numbers of each part go together; the first is that each is for itself."""


@dataclass(frozen=True)
class Grid:
    """The public cells: hexagons times slots, cell h n_slots + t.

    Attributes:
        position: Where each hexagon is, in km, shape (H, 2) or (H, 3).
        n_slots: Slots of a day.
    """

    position: FloatArray
    n_slots: int

    def __post_init__(self) -> None:
        """Check the shape."""
        _check.at_least(1, n_slots=self.n_slots, n_hexagons=len(self.position))

    @property
    def n_cells(self) -> int:
        """Number of cells G."""
        return len(self.position) * self.n_slots

    @cached_property
    def spacing(self) -> float:
        """How far neighbours are apart, in km; infinite if there is one hexagon alone."""
        some = self.position[:: max(1, len(self.position) // _SOME)]
        apart = np.sqrt(((some[:, None] - self.position) ** 2).sum(axis=2))
        return float(np.median(np.where(apart > 0, apart, np.inf).min(axis=1)))

    @property
    def hexagon(self) -> IntArray:
        """Number of each cell's hexagon, shape (G,)."""
        return np.arange(self.n_cells) // self.n_slots

    @property
    def slot(self) -> IntArray:
        """Number of each cell's slot, shape (G,)."""
        return np.arange(self.n_cells) % self.n_slots


@dataclass(frozen=True)
class Part:
    """Some numbers of a state: n_apart of each of n hexagons, hours or so, in this order.

    Attributes:
        columns: Their columns.
        ways: How they go together, by name: correlations of the n, for each of which a prior has a variance.
        n_apart: So many of each are independent of one another.
    """

    columns: slice
    ways: dict[str, FloatArray]
    n_apart: int = 1

    def alike(self, variance: Mapping[str, float]) -> FloatArray:
        """Return the covariance of the n, shape (n, n)."""
        return np.asarray(sum(variance[name] * one for name, one in self.ways.items()))

    def whole(self, alike: FloatArray) -> FloatArray:
        """Return the matrix of all numbers, shape (n n_apart, n n_apart)."""
        return np.kron(alike, np.eye(self.n_apart)) if self.n_apart != 1 else alike

    def summed(self, mean: FloatArray, covariance: FloatArray) -> FloatArray:
        """Return the mean products of the n, added up over what is apart, shape (n, n)."""
        each = mean.reshape(-1, self.n_apart)
        among = covariance.reshape(len(each), self.n_apart, len(each), self.n_apart)
        return np.asarray(each @ each.T + np.einsum("iaja->ij", among))


@dataclass(frozen=True)
class Basis:
    """What a surface is made of: a column for each number of a state.

    Attributes:
        matrix: A row for each cell, shape (G, S).
        part: Its parts, by name.
    """

    matrix: Sparse
    part: dict[str, Part]

    @cached_property
    def entries(self) -> tuple[IntArray, FloatArray]:
        """The columns and the numbers of each row's entries, filled up with zeros, shapes (G, n)."""
        counts = np.diff(self.matrix.indptr)
        there = np.arange(counts.max(initial=0)) < counts[:, None]
        columns, numbers = np.zeros(there.shape, dtype=np.int64), np.zeros(there.shape)
        columns[there], numbers[there] = self.matrix.indices, self.matrix.data
        return columns, numbers

    def covariance(self, variance: Mapping[str, float]) -> FloatArray:
        """Return the covariance of all numbers, shape (S, S), from the variance of each way of a part in a cell."""
        return self._all({name: one.alike(variance) for name, one in self.part.items()})

    def precision(self, variance: Mapping[str, float]) -> FloatArray:
        """Return the inverse of that covariance, shape (S, S)."""
        return self._all({name: np.linalg.inv(one.alike(variance)) for name, one in self.part.items()})

    def log_precision(self, variance: Mapping[str, float]) -> float:
        """Return the logarithm of the determinant of that inverse."""
        return -sum(one.n_apart * float(np.linalg.slogdet(one.alike(variance))[1]) for one in self.part.values())

    def _all(self, alike: Mapping[str, FloatArray]) -> FloatArray:
        """Return a matrix of all numbers, shape (S, S), from that of each part; those of two parts are 0."""
        found = np.zeros((self.matrix.shape[1],) * 2)
        for name, part in self.part.items():
            found[part.columns, part.columns] = part.whole(alike[name])
        return found


def basis_of(grid: Grid) -> Basis:
    """Return the parts of a surface: the city, hours, hexagons, and each hexagon's course of the day.

    Source:
        HV-E20.
    """
    n_hexagons, n_slots = len(grid.position), grid.n_slots
    distance = np.sqrt(((grid.position[:, None] - grid.position[None]) ** 2).sum(axis=2))
    angle = 2 * np.pi * np.arange(n_slots) / n_slots
    waves = [wave(k * angle) for k in _HARMONICS if 2 * k < n_slots for wave in (np.cos, np.sin)]
    course = np.array(waves).reshape(-1, n_slots).T / np.sqrt(max(len(waves) / 2, 1))
    hours = np.abs(np.subtract.outer(np.arange(n_slots), np.arange(n_slots)))
    hours = np.minimum(hours, n_slots - hours)
    each = csr_array(np.eye(n_hexagons))
    matrices: dict[str, Sparse] = {
        "city": csr_array(np.ones((grid.n_cells, 1))),
        "hour": csr_array(kron(np.ones((n_hexagons, 1)), np.eye(n_slots))),
        "hexagon": csr_array(kron(each, np.ones((n_slots, 1)))),
        "course": csr_array(kron(each, course)),
    }
    of_hexagons = [np.eye(n_hexagons), *(np.exp(-distance / reach) for reach in _REACH_KM.values())]
    alike = {"city": [np.ones((1, 1))], "hour": [0.7 * np.exp(-hours / 2.0) + 0.3 * np.eye(n_slots)]}
    part, begin = {}, 0
    for name, names in WAYS.items():
        end = begin + matrices[name].shape[1]
        ways = dict(zip(names, alike.get(name, of_hexagons), strict=True))
        part[name] = Part(slice(begin, end), ways, course.shape[1] if name == "course" else 1)
        begin = end
    return Basis(csr_array(hstack([matrices[name] for name in WAYS], format="csr")), part)
