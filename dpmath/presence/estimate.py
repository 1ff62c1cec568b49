"""The estimate of a day: users, records and the mean value of every public cell, with what is not known of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaincinv  # not scipy.stats, which takes half a second to import

from dpmath.core.accounting import ExactIntArray
from dpmath.presence.amounts import Means, Told, first_means_of, likeliest_means
from dpmath.presence.as_asked import Summing
from dpmath.presence.asking import of_day, of_users_alike, records_told, values_told
from dpmath.presence.basis import FloatArray
from dpmath.presence.counts import Users
from dpmath.presence.errors import Off
from dpmath.presence.fields import Field
from dpmath.presence.state import Asked, State
from dpmath.presence.weights import lean_of

_LEAST_RECORDS = 0.5
_FACTORS_FIRST, _FACTORS_LATER = (0.2, 5.0), (0.7, 1.4)


@dataclass(frozen=True)
class Number:
    """A number of each cell, estimated.

    Attributes:
        mean: Shape (G,).
        variance: Above 0, shape (G,).
    """

    mean: FloatArray
    variance: FloatArray


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
    """

    asked: Asked
    before: State
    paced: Mapping[str, Sequence[Field]]
    users: Users
    sums: Summing
    amounts: ExactIntArray
    shares: tuple[float, float]

    def records(self) -> tuple[Means, Number]:
        """Return records a user, and the number of records, in each cell."""
        numbers, _ = self.sums.read(self.amounts, self.shares[0])
        told = records_told(self.sums, numbers, self.users, self.before, self.shares[1] / self.shares[0])
        means = self._means("records", told)
        size, users = np.clip(means.mean, 1.0, self.asked.cap), self.users
        number = users.mean * size
        return means, Number(number, users.mean**2 * means.variance + users.variance * size**2)

    def values(self, residual: float, records: Number) -> Means:
        """Return mean values, if the residuals' variance is a multiple of what it was."""
        before = self.before
        before = replace(before, of_user=before.of_user * residual, of_record=before.of_record * residual)
        number = np.maximum(records.mean, _LEAST_RECORDS)
        mean = np.maximum(self.users.mean, _LEAST_RECORDS)
        # of a number that is not known well, the mean of 1 over it is larger; and a cell that has a mean has a user
        users = np.maximum(mean / (1 + np.minimum(self.users.variance / mean**2, 1.0)), 1.0)
        of_mean = of_day(before, users, np.maximum(number / mean, 1.0))
        _, numbers = self.sums.read(self.amounts, self.shares[0] * (1 + self.lean) / 2)
        alike = of_users_alike(before, users)
        told = values_told(self.sums, numbers, number, records.variance, of_mean, alike, before)
        return self._means("values", told)

    @property
    def lean(self) -> float:
        """How much less than of others the ball keeps of users who are far from the centres, at worst."""
        return lean_of(self.shares[0])

    @property
    def is_first(self) -> bool:
        """Whether nothing was known before."""
        return not self.paced

    def _means(self, name: str, told: Told) -> Means:
        basis = self.asked.basis
        if self.is_first:
            return first_means_of(getattr(self.before, name), basis, told)
        return likeliest_means(self.paced[name], basis, told)


def residual_factor(day: Day, values: Means, answers: ExactIntArray) -> float:
    """Return by how much residuals are larger than was thought, from how far users' means are from their centres.

    Args:
        day: The day's answers.
        values: The day's mean values, with residuals as they were thought.
        answers: The noisy answers to the question how far users' means are from the centres.

    Source:
        HV-E23.
    """
    before, weight = day.before, day.users.mean
    far, number = answers.astype(np.float64)
    ratio = 4 * float(np.clip(far / max(number, 1.0), 0.02, 0.98))
    residual = before.of_user + before.of_record / before.mean_records
    expected = ratio * (np.average(before.values.variance(day.asked.basis), weights=weight) + residual)
    of_map = np.average((values.field.level(day.asked.basis) - day.sums.centre) ** 2 + values.variance, weights=weight)
    least, most = _FACTORS_FIRST if day.is_first else _FACTORS_LATER
    return float(np.clip((expected - of_map) / residual, least, most))


def limits(number: Number, share: float) -> tuple[FloatArray, FloatArray]:
    """Return between which numbers, at least 0, a count lies with a probability: those of a gamma distribution.

    Args:
        number: A count of each cell.
        share: The probability, above 0 and below 1.

    Returns:
        The lower limits, rounded down, and the upper ones, rounded up, shapes (G,).

    Source:
        HV-E24.
    """
    return _quantile(number, (1 - share) / 2, -1), _quantile(number, (1 + share) / 2, 1)


def at_least(number: Number, least: int, share: float = 0.9) -> np.ndarray:
    """Return which cells hold at least so many with a probability, shape (G,).

    Source:
        HV-E24.
    """
    return _quantile(number, 1 - share, -1) >= least


def _quantile(number: Number, probability: float, side: int) -> FloatArray:
    shape = number.mean**2 / number.variance
    found = gammaincinv(shape, probability) * (number.variance / number.mean)
    return np.floor(found) if side < 0 else np.ceil(found)
