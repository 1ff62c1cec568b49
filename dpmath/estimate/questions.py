"""The private questions of a day. Each says what it costs, and gives noisy answers from the users' private totals."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from dpmath.core.accounting import ExactIntArray
from dpmath.core.currency import Currency
from dpmath.core.occupancy import IntArray, Occupancy
from dpmath.estimate.bounded_sums import BoundedSums
from dpmath.estimate.law_bins import BinCounts
from dpmath.estimate.measurement import ROOM_BITS, Measurement
from dpmath.noise.sampling import RandomBytes

SHARE_BITS = 20
"""Means and deviations of users are whole numbers of 2^-20 of the range, however coarse a tick is."""
LARGEST_DEVIATION = 1 << (SHARE_BITS - 1)
"""Half of the range; a larger one counts as this."""


@dataclass
class PrivateDay:
    """The values of a day. No number in it may be shown, written or logged.

    Attributes:
        occupancy: The occupancy array, P pairs of G cells and L users.
        totals: Total of each pair's values that are not missing, in ticks, shape (P,).
        n_missing: How many of each pair's values are missing, shape (P,).
        room: Each vector's room in its ball at the last measurement, shape (L,); the next question may be about it.
        bins: How many records of each pair are in each bin; None if no percentile is published.
    """

    occupancy: Occupancy
    totals: IntArray = field(repr=False)
    n_missing: IntArray = field(repr=False)
    room: IntArray | None = field(default=None, repr=False)
    bins: BinCounts | None = field(default=None, repr=False)

    @property
    def n_values(self) -> IntArray:
        """How many of each pair's values are not missing, shape (P,)."""
        return self.occupancy.n_records - self.n_missing

    def filled(self, instead: IntArray) -> IntArray:
        """Return the total of each pair with the mean of its values for each missing one, in whole ticks, shape (P,).

        Args:
            instead: What each value of a pair is if it has none, in ticks, shape (P,).
        """
        n_records = self.occupancy.n_records
        whole, rest = np.divmod(self.totals, np.maximum(self.n_values, 1))
        filled = n_records * whole + n_records * rest // np.maximum(self.n_values, 1)
        return np.where(self.n_values > 0, filled, n_records * instead)

    def user_means(self, value_range: int) -> IntArray:
        """Return each user's mean, in 2^-SHARE_BITS of the range, shape (L,); the middle for a user without values."""
        totals, n_values = (self.occupancy.user_sums(numbers) for numbers in (self.totals, self.n_values))
        means = (totals << SHARE_BITS) // (np.maximum(n_values, 1) * value_range)
        return np.where(n_values > 0, means, 1 << (SHARE_BITS - 1))


class Question(Protocol):
    """A private question: all of it is public."""

    def losses(self, currency: Currency) -> ExactIntArray:
        """Return what the noisy answers cost each user, in the currency's unit, shape (L,)."""
        ...

    def noisy(self, private: PrivateDay, random_bytes: RandomBytes) -> ExactIntArray:
        """Return the noisy answers."""
        ...


Questions = Sequence[tuple[Question, ExactIntArray]]
"""Questions as they were asked, each with its noisy answers."""


@dataclass(frozen=True)
class Measured:
    """The large measurement; see ``Measurement``."""

    measurement: Measurement

    def losses(self, currency: Currency) -> ExactIntArray:
        """Return what moving by a diameter costs."""
        return self.measurement.losses(currency)

    def noisy(self, private: PrivateDay, random_bytes: RandomBytes) -> ExactIntArray:
        """Return the noisy sum of each query; keeps the rooms for the next question."""
        answers = self.measurement.answers(private.filled(self.measurement.centre[self.measurement.row]))
        private.room = answers.room
        return answers.noisy_sums(random_bytes)


@dataclass(frozen=True)
class _OfSums:
    sums: BoundedSums

    def losses(self, currency: Currency) -> ExactIntArray:
        """Return what moving within the limits costs."""
        return self.sums.losses(currency)


@dataclass(frozen=True)
class Shrunk(_OfSums):
    """The sum of the rooms of the last measurement's vectors: of how far they are scaled down."""

    def noisy(self, private: PrivateDay, random_bytes: RandomBytes) -> ExactIntArray:
        """Return the noisy sum.

        Raises:
            ValueError: Nothing was measured before.
        """
        if private.room is None:
            raise ValueError("the room of vectors is asked for after a measurement")
        return self.sums.noisy_shares(private.room[:, None], 1 << ROOM_BITS, random_bytes)


@dataclass(frozen=True)
class Centre(_OfSums):
    """The sum of the users' means, in units of 2^-SHARE_BITS of the range."""

    value_range: int

    def noisy(self, private: PrivateDay, random_bytes: RandomBytes) -> ExactIntArray:
        """Return the noisy sum."""
        return self.sums.noisy_shares(private.user_means(self.value_range)[:, None], 1 << SHARE_BITS, random_bytes)


@dataclass(frozen=True)
class Spread(_OfSums):
    """The sum of the users' deviations: the root mean square difference of a user's cells from the centre.

    The unit is 2^-SHARE_BITS of the range. The limits cut a deviation off.

    Attributes:
        centre: What is known of the centre, in the same unit.
    """

    value_range: int
    centre: int

    def noisy(self, private: PrivateDay, random_bytes: RandomBytes) -> ExactIntArray:
        """Return the noisy sum."""
        occupancy, n_values = private.occupancy, private.n_values
        off = (private.totals << SHARE_BITS) // (np.maximum(n_values, 1) * self.value_range) - self.centre
        squares = occupancy.user_sums(n_values * off * off) // np.maximum(occupancy.user_sums(n_values), 1)
        deviations = np.sqrt(squares.astype(np.float64)).astype(np.int64)
        return self.sums.noisy_shares(deviations[:, None], LARGEST_DEVIATION, random_bytes)


@dataclass(frozen=True)
class Check(_OfSums):
    """How many pairs are far from their cell's estimate: each user's share of the user's pairs in each class.

    In a last class, how many users are far from it with all their pairs together.

    Attributes:
        centre: Estimate of each pair's values, in ticks a record, shape (P,): what stands for missing ones.
        expected: Estimate of each pair's total, in ticks, shape (P,): ticks may be coarse, and centres so rounded.
        half_width: How far a pair's total, and then how far a user's, may be from it without being counted, in ticks,
            shape (P + L,).
        of_pair: Class of each pair, shape (P,).
    """

    centre: IntArray
    expected: IntArray
    half_width: IntArray
    of_pair: IntArray

    def noisy(self, private: PrivateDay, random_bytes: RandomBytes) -> ExactIntArray:
        """Return the noisy sum of each class, in the unit of the limits."""
        occupancy, limit = private.occupancy, self.sums.limit
        off = private.filled(self.centre) - self.expected
        far = np.abs(np.append(off, occupancy.user_sums(off))) > self.half_width
        user, of_class = with_users(occupancy, self.of_pair, limit.shape[1])
        n_far, n_pairs = np.zeros(limit.shape, dtype=np.int64), np.zeros(limit.shape, dtype=np.int64)
        np.add.at(n_far, (user[far], of_class[far]), 1)
        np.add.at(n_pairs, (user, of_class), 1)
        return self.sums.noisy(limit * n_far // np.maximum(n_pairs, 1), random_bytes)


def with_users(occupancy: Occupancy, of_pair: IntArray, n_classes: int) -> tuple[IntArray, IntArray]:
    """Return user and class of each pair, and then of each user, whose class is the last, shape (P + L,).

    Source:
        HV-L53.
    """
    users = np.arange(occupancy.n_users)
    return np.append(occupancy.user, users), np.append(of_pair, np.full(users.size, n_classes - 1))


def check_limits(occupancy: Occupancy, of_pair: IntArray, n_classes: int, norm: str) -> IntArray:
    """Return the largest number of each user in each class, so that a user's numbers lie in a ball of 2^ROOM_BITS.

    The last class is that of users, and of no pair. A user who has pairs in K other classes has 1/sqrt(K + 1) of it in
    each, or 1/(K + 1) for the l1 norm.

    Raises:
        ValueError: A pair is in the last class.

    Source:
        HV-L53.
    """
    if of_pair.max(initial=0) >= n_classes - 1:
        raise ValueError("the last class must have no pair")
    has = np.zeros((occupancy.n_users, n_classes), dtype=bool)
    has[occupancy.user, of_pair] = True
    has[occupancy.user, -1] = True
    n_own = np.maximum(has.sum(axis=1), 1)
    largest = np.floor((1 << ROOM_BITS) / (n_own if norm == "l1" else np.sqrt(n_own))).astype(np.int64)
    return has * largest[:, None]
