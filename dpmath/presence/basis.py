"""The parts that a surface over hexagons and hours is made of."""

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
PARTS = ("city", "hour", "hexagon", "course")
_REACH_KM = 4.0
_HARMONICS = (1, 2)
_SOME = 16
"""Of so many hexagons, at least, it is looked how near the next one is."""
_SHARE_OF_SMOOTH = {"hexagon": 0.5, "course": 0.4}
"""How much of a part's variance lies in what hexagons near each other share."""


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
class Basis:
    """What a surface is made of: a column for each number of a state.

    Attributes:
        matrix: A row for each cell, shape (G, S).
        part: The columns of each part, by its name.
        of_part: The covariance of each part's numbers, for a part of variance 1 in a cell, by its name.
    """

    matrix: Sparse
    part: dict[str, slice]
    of_part: dict[str, FloatArray]

    def inverse(self, name: str) -> FloatArray:
        """Return the inverse of the covariance of a part's numbers, for a part of variance 1 in a cell."""
        if name not in self._inverses:
            self._inverses[name] = np.linalg.inv(self.of_part[name])
        return self._inverses[name]

    @cached_property
    def _inverses(self) -> dict[str, FloatArray]:
        return {}

    @cached_property
    def entries(self) -> tuple[IntArray, FloatArray]:
        """The columns and the numbers of each row's entries, filled up with zeros, shapes (G, n)."""
        counts = np.diff(self.matrix.indptr)
        there = np.arange(counts.max(initial=0)) < counts[:, None]
        columns, numbers = np.zeros(there.shape, dtype=np.int64), np.zeros(there.shape)
        columns[there], numbers[there] = self.matrix.indices, self.matrix.data
        return columns, numbers

    def covariance(self, variance: dict[str, float]) -> FloatArray:
        """Return the covariance of all numbers, shape (S, S), from each part's variance in a cell."""
        return self._whole({name: variance[name] * one for name, one in self.of_part.items()})

    def precision(self, variance: dict[str, float]) -> FloatArray:
        """Return the inverse of that covariance, shape (S, S)."""
        return self._whole({name: self.inverse(name) / variance[name] for name in self.part})

    def log_precision(self, variance: dict[str, float]) -> float:
        """Return the logarithm of the determinant of that inverse."""
        sizes = {name: len(one) for name, one in self.of_part.items()}
        return -sum(self._log_determinants[name] + size * np.log(variance[name]) for name, size in sizes.items())

    @cached_property
    def _log_determinants(self) -> dict[str, float]:
        return {name: float(np.linalg.slogdet(one)[1]) for name, one in self.of_part.items()}

    def _whole(self, blocks: dict[str, FloatArray]) -> FloatArray:
        """Return a matrix of all numbers, shape (S, S), from the block of each part; those of two parts are 0."""
        found = np.zeros((self.matrix.shape[1],) * 2)
        for name, columns in self.part.items():
            found[columns, columns] = blocks[name]
        return found


def basis_of(grid: Grid) -> Basis:
    """Return the parts of a surface: the city, hours, hexagons, and each hexagon's course of the day.

    Source:
        HV-E20.
    """
    n_hexagons, n_slots = len(grid.position), grid.n_slots
    distance = np.sqrt(((grid.position[:, None] - grid.position[None]) ** 2).sum(axis=2))
    near = np.exp(-distance / _REACH_KM)
    angle = 2 * np.pi * np.arange(n_slots) / n_slots
    waves = [wave(k * angle) for k in _HARMONICS if 2 * k < n_slots for wave in (np.cos, np.sin)]
    course = np.array(waves).reshape(-1, n_slots).T / np.sqrt(max(len(waves) / 2, 1))
    hours = np.abs(np.subtract.outer(np.arange(n_slots), np.arange(n_slots)))
    hours = np.minimum(hours, n_slots - hours)
    each = csr_array(np.eye(n_hexagons))
    columns: dict[str, Sparse] = {
        "city": csr_array(np.ones((grid.n_cells, 1))),
        "hour": csr_array(kron(np.ones((n_hexagons, 1)), np.eye(n_slots))),
        "hexagon": csr_array(kron(each, np.ones((n_slots, 1)))),
        "course": csr_array(kron(each, course)),
    }

    def of_hexagons(name: str) -> FloatArray:
        share = _SHARE_OF_SMOOTH[name]
        return share * near + (1 - share) * np.eye(n_hexagons)

    of_part = {
        "city": np.ones((1, 1)),
        "hour": 0.7 * np.exp(-hours / 2.0) + 0.3 * np.eye(n_slots),
        "hexagon": of_hexagons("hexagon"),
        "course": np.kron(of_hexagons("course"), np.eye(course.shape[1])),
    }
    part, begin = {}, 0
    for name in PARTS:
        part[name] = slice(begin, begin + columns[name].shape[1])
        begin += columns[name].shape[1]
    return Basis(csr_array(hstack([columns[name] for name in PARTS], format="csr")), part, of_part)
