"""The estimate of a day: users, records and the mean value of every public cell, with what is not known of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpmath.core.accounting import ExactIntArray
from dpmath.presence.amounts import Means, Told, first_means_of, likeliest_means
from dpmath.presence.as_asked import Summing
from dpmath.presence.asking import LEAST_USERS, of_day, of_users_alike
from dpmath.presence.ball import sigma
from dpmath.presence.basis import FloatArray
from dpmath.presence.counts import KeptOfCells, Users
from dpmath.presence.errors import Off
from dpmath.presence.fields import Field
from dpmath.presence.intervals import Number, harmonic
from dpmath.presence.looks import Check
from dpmath.presence.numbers import Numbers
from dpmath.presence.residuals import Residuals, residuals_learned
from dpmath.presence.state import VALUES_OF_DAY, Asked, State
from dpmath.presence.weights import lean_of

_LEAST_RECORDS = 0.5
_SPREAD_OF_MEANS = 0.05
"""How far records a user differ between cells, squared, over the square of their mean."""


@dataclass(frozen=True)
class Estimate:
    """A day's estimate. It is made from noisy answers alone.

    Attributes:
        n_users: Users in each cell.
        n_records: Their records, at most the cap of each; without a meaning where users alone were asked for.
        mean: The mean value of these, in ticks; the same.
        users_off: What makes up the variance of users.
        mean_off: What makes up that of the mean value.
        state: What the day leaves for later ones.
    """

    n_users: Number
    n_records: Number
    mean: Number
    users_off: Off
    mean_off: Off
    state: State


@dataclass(frozen=True)
class Day:
    """The day's answers, read.

    Attributes:
        asked: What is public.
        before: What was known before.
        paced: Its surfaces, at several paces, by their names; empty on a first day.
        users: The day's users.
        sums: The question for records and values.
        amounts: Its noisy answers.
        shares: How much the ball kept, of records and of cells.
        kept: What it kept of each cell; None if of all alike.
        far: How far the sum of all values is from the centres, in ticks, and the variance of what that is off by.
    """

    asked: Asked
    before: State
    paced: Mapping[str, Sequence[Field]]
    users: Users
    sums: Summing
    amounts: ExactIntArray
    shares: tuple[float, float]
    kept: KeptOfCells | None = None
    far: tuple[float, float] = (0.0, np.inf)

    def records(self) -> tuple[Means, Number]:
        """Return records a user, and the number of records, in each cell."""
        numbers, _ = self.sums.read(self.amounts, self.shares[0] * self.by_cell)
        told = records_told(self.sums, numbers, self.users, self.before, self.shares[1] / self.shares[0])
        means = self._means("records", told)
        size, users = np.clip(means.mean, 1.0, self.asked.cap), self.users
        number = users.mean * size
        return means, Number(number, users.mean**2 * means.variance + users.variance * size**2)

    def values(self, residuals: Residuals, records: Number) -> Means:
        """Return mean values, if residuals are like this and the number of records like that."""
        before = replace(self.before, residuals=residuals)
        number = np.maximum(records.mean, _LEAST_RECORDS)
        users = harmonic(Number(np.maximum(self.users.mean, _LEAST_RECORDS), self.users.variance))
        of_mean = of_day(before, users, harmonic(Number(number, records.variance)))
        _, numbers = self.sums.read(self.amounts, self.shares[0] * (1 + self.lean) / 2 * self.by_cell)
        alike = of_users_alike(before, users)
        # an error of the number of records goes with all that was not known of the mean
        of_slope = records.variance * (before.values.variance(self.asked.basis) + of_mean)
        spare = residuals.spare(before.mean_records)
        told = Told(numbers, number, -number * self.sums.centre, of_slope, of_mean, alike, spare)
        return self._means("values", told)

    def looked(self) -> State:
        """Return what is known after a first look, of which it is not known how much the ball kept."""
        a_user, records = self.records()
        return replace(self.before, records=a_user.field, values=self.values(self.before.residuals, records).field)

    @property
    def lean(self) -> float:
        """How much less than of others the ball keeps of users who are far from the centres, at worst."""
        return lean_of(self.shares[0])

    @property
    def by_cell(self) -> FloatArray:
        """How much the ball kept in each cell, over what it kept of all cells, shape (G,)."""
        return np.ones_like(self.users.mean) if self.kept is None else self.kept.share / self.shares[1]

    def unsure_of(self, mean: FloatArray) -> FloatArray:
        """Return loadings on what means are off by because it is not known what was kept where, shape (G, k)."""
        far = mean - self.sums.centre
        return far[:, None] * (np.zeros((far.size, 0)) if self.kept is None else self.kept.uneven)

    def off_over_records(self, mean: FloatArray, records: FloatArray, off: Off) -> tuple[float, float]:
        """Return what the mean over all records is off by, as is said by the sum of all values; and how unsure that is.

        Args:
            mean: Estimated mean of each cell, shape (G,).
            records: Number of records of each, shape (G,).
            off: What else the means are off by.
        """
        (told, noise), n_records, share = self.far, records.sum(), records / records.sum()
        far = mean - self.sums.centre
        off_by = float(share @ far - told / n_records)
        by_user = records / self.users.mean * (far - off_by) / n_records  # by a user too many in a cell it moves so far
        where = self.asked.grid.hexagon, self.asked.basis
        unsure = off.variance_over(share, *where) + self.users.off.variance_over(by_user, *where)
        return off_by, unsure + noise / n_records**2

    @property
    def is_first(self) -> bool:
        """Whether nothing was known before."""
        return not self.paced

    def residuals(self, check: Check, answers: ExactIntArray, values: Field) -> Residuals:
        """Return how far users and records are from the map, from how far users' means are from the centres."""
        before, basis, weight = self.before, self.asked.basis, self.users.mean
        thought = float(np.average(before.values.variance(basis), weights=weight))
        off = (values.level(basis) - self.sums.centre) ** 2 + values.variance(basis)
        found = float(np.average(off, weights=weight)) + VALUES_OF_DAY * before.scale
        noise = sigma(check.ball) ** 2
        return residuals_learned(before.residuals, answers, noise, before.of_a_pair, check.few, (thought, found))

    def _means(self, name: str, told: Told) -> Means:
        basis = self.asked.basis
        if self.is_first:
            return first_means_of(getattr(self.before, name), basis, told)
        return likeliest_means(self.paced[name], basis, told)


def records_told(sums: Summing, numbers: Numbers, users: Users, before: State, uneven: float) -> Told:
    """Return what answers tell of records a user.

    Args:
        sums: The question.
        numbers: The noisy numbers of records above what they were compared with.
        users: The day's users.
        before: What was known before.
        uneven: What the ball kept of cells over what it kept of records: users with many records lose more of them
            than they lose of being there.

    Source:
        HV-E23.
    """
    count = np.maximum(users.mean, LEAST_USERS)
    spread = before.records_variance + before.mean_records**2 * _SPREAD_OF_MEANS
    of_slope = users.variance * spread / np.maximum(count, 1)
    return Told(
        numbers,
        count,
        -uneven * count * sums.mean_records,
        of_slope,
        before.records_variance / count,
        np.zeros_like(count),
    )
