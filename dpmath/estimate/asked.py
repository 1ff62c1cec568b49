"""What a day's questions are made from, apart from what earlier days told."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpmath.core.occupancy import IntArray
from dpmath.estimate.basis import Basis, fit_basis
from dpmath.estimate.bounded_sums import BoundedSums
from dpmath.estimate.charges import Charge
from dpmath.estimate.covariates import covariates
from dpmath.estimate.day import Day, FloatArray
from dpmath.estimate.design import RADIUS
from dpmath.estimate.measurement import Norm, noise_deviation


@dataclass(frozen=True)
class Guess:
    """What is supposed of values before anything is asked, in points.

    Attributes:
        centre: What a typical value is.
        deviation: How far that may be off.
        spread: How far values usually are from it.
        log2_deviation: How far the log2 of the spread may be off.
    """

    centre: float = 50.0
    deviation: float = 25.0
    spread: float = 12.5
    log2_deviation: float = 1.5


@dataclass(frozen=True)
class Asked:
    """What the questions of a day are made from, apart from the state.

    Attributes:
        day: The day.
        value_range: Largest value of a record, in ticks.
        radius: Radius of each user's ball, shape (L,).
        charges: The charge of each question, by name.
        norm: The norm of the balls.
        of_occupancy: Whether covariates of the occupancy are used.
        similar_cells: Whether a cell is taken to be similar to its neighbours in place and time.
        n_days: How many days ago the state was that of.
        guess: What is supposed of values on the first day.
        limits: If the law of records is asked about: the limits above which shares are published, in points.
    """

    day: Day
    value_range: int
    radius: IntArray
    charges: dict[str, Charge]
    norm: Norm
    of_occupancy: bool = True
    similar_cells: bool = True
    n_days: int = 1
    guess: Guess = Guess()
    limits: tuple[float, ...] | None = None

    @cached_property
    def covariates(self) -> FloatArray:
        """The covariates of each cell, shape (G, n)."""
        return covariates(self.day, self.of_occupancy)

    @cached_property
    def basis(self) -> Basis:
        """The functions of a dataset whose first day this is."""
        return fit_basis(self.day, self.covariates, self.similar_cells)

    @property
    def reach(self) -> FloatArray:
        """Radius of each user's ball, as a share of the full radius, shape (L,)."""
        return self.radius / RADIUS

    def noise(self, name: str) -> float:
        """Return the standard deviation of a question's noise."""
        return noise_deviation(self.charges[name].inverse_scale, self.norm)

    def sums(self, name: str, limit: IntArray | int) -> BoundedSums:
        """Return sums of numbers within limits, by the reach of each user: who is short of budget counts for less."""
        limits = np.broadcast_to(np.atleast_2d(limit), (self.radius.size, np.atleast_2d(limit).shape[1]))
        return BoundedSums(limits * self.radius[:, None] // RADIUS, self.charges[name].inverse_scale, self.norm)

    def share_of(self, name: str, total: int, limit: int) -> tuple[float, float]:
        """Return the noisy mean over users of a number from 0 to a limit, as a share of it, and its standard deviation.

        Users count by their reach. Where nobody has any, the deviation is infinite.
        """
        whole = float(self.reach.sum()) * limit
        return (total / whole, self.noise(name) / whole) if whole else (0.0, np.inf)
