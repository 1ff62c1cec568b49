"""The private step, which alone reads values: one noisy vector of sums, with one ball a user over all queries."""

from dataclasses import dataclass
from functools import cached_property
from math import isqrt
from typing import Literal

import numpy as np

from dpmath.core import _check
from dpmath.core.accounting import ExactIntArray, exact_integers
from dpmath.core.currency import GAUSSIAN, LAPLACE, Currency
from dpmath.core.occupancy import IntArray
from dpmath.noise.sampling import NOISES, RandomBytes

WEIGHT_BITS = 30
"""Weights are whole numbers of 2^-30."""
SHRINK_BITS = 20
"""A shrink factor is a whole number of 2^-20, rounded down."""

Norm = Literal["l1", "l2"]
_NOISE_OF = {"l1": LAPLACE, "l2": GAUSSIAN}


@dataclass(frozen=True)
class Measurement:
    """What is measured of a day, from public numbers alone: queries, centres, weights, balls and noise.

    User l answers query q with the whole number

        z[q, l] = trunc( sum over pairs of l of weight (total - centre) / 2^WEIGHT_BITS ).

    If the vector z[., l] is longer than the user's radius, all of it is scaled down to the ball. The sums over users
    get noise. No privacy rests on queries, centres or weights: whatever they are, the vectors of one user before and
    after a change both lie in the ball, so no two of them are further apart than its diameter.

    Attributes:
        query: Query of each entry, shape (E,), 0 <= query < n_queries.
        pair: Pair of cell and user of each entry, shape (E,), 0 <= pair < P.
        weight: Weight of each entry, a whole number of 2^-WEIGHT_BITS, shape (E,), of either sign.
        centre: Public centre of each pair's total, in ticks, shape (P,).
        user: User of each pair, shape (P,), 0 <= user < L.
        radius: Radius of each user's ball, shape (L,), >= 0; a user with 0 is not read.
        n_queries: Number of queries Q.
        inverse_scale: LOSS_UNITS over the scale of the noise.
        norm: "l2", with discrete Gaussian noise, or "l1", with discrete Laplace noise.

    Raises:
        ValueError: Shapes differ, an index is out of range, or a radius is below 0.

    Source:
        HV-L52.
    """

    query: IntArray
    pair: IntArray
    weight: IntArray
    centre: ExactIntArray
    user: IntArray
    radius: ExactIntArray
    n_queries: int
    inverse_scale: int
    norm: Norm

    def __post_init__(self) -> None:
        """Check what the loss relies on."""
        _check.same_length(query=self.query, pair=self.pair, weight=self.weight)
        _check.same_length(centre=self.centre, user=self.user)
        _check.all_at_least(0, query=self.query, pair=self.pair, user=self.user, radius=self.radius)
        _check.at_least(1, n_queries=self.n_queries, inverse_scale=self.inverse_scale)
        sizes = (
            ("query", self.query, self.n_queries),
            ("pair", self.pair, self.user.size),
            ("user", self.user, self.radius.size),
        )
        for name, index, size in sizes:
            if index.size and index.max() >= size:
                raise ValueError(f"{name}={index.max()} must be below {size}")

    @property
    def noise(self) -> str:
        """The noise that fits the norm."""
        return _NOISE_OF[self.norm]

    def losses(self, currency: Currency) -> ExactIntArray:
        """Return each user's privacy loss, in the currency's unit, exact, shape (L,): that of moving by a diameter.

        Raises:
            ValueError: The noise has no loss in the currency.
        """
        diameter = 2 * exact_integers(self.radius)
        return currency.of_noise(self.noise, diameter, np.full(diameter.size, self.inverse_scale, dtype=object))

    def answers(self, private_totals: ExactIntArray) -> "Answers":
        """Return every user's vector inside the user's ball.

        Args:
            private_totals: Total of each pair's values, in ticks, shape (P,).

        Raises:
            ValueError: The shape is wrong.
        """
        _check.same_length(private_totals=private_totals, centre=self.centre)
        moved = exact_integers(private_totals) - self.centre
        order, starts, users, queries = self._grouped
        weighted = (exact_integers(self.weight) * moved[self.pair])[order]
        sums = np.add.reduceat(weighted, starts) if starts.size else weighted
        vectors = _towards_zero(sums, 1 << WEIGHT_BITS)
        return Answers.inside(vectors, users, queries, self)

    @cached_property
    def _grouped(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Entries sorted by user and query: their order, where each group starts, its user and its query."""
        user = self.user[self.pair]
        order = np.lexsort((self.query, user)).astype(np.int64)
        key = user[order] * self.n_queries + self.query[order]
        starts = np.flatnonzero(np.diff(key, prepend=-1)).astype(np.int64)
        return order, starts, user[order][starts], self.query[order][starts]


@dataclass(frozen=True)
class Answers:
    """Every user's vector inside the user's ball. All of it is private.

    Attributes:
        vector: The components that some entry asks for, by user and query, shape (K,).
        query: Query of each component, shape (K,).
        shrink: How far each user was scaled down, in units of 2^-SHRINK_BITS, from 0 to 2^SHRINK_BITS, shape (L,).
        measurement: What was measured.
    """

    vector: ExactIntArray
    query: IntArray
    shrink: ExactIntArray
    measurement: Measurement

    @classmethod
    def inside(cls, vector: ExactIntArray, user: IntArray, query: IntArray, measurement: Measurement) -> "Answers":
        """Return the vectors scaled down to the balls."""
        radius = exact_integers(measurement.radius)
        length = _lengths(vector, user, radius.size, measurement.norm)
        too_long = length > radius
        divisor = np.where(too_long, length, 1)
        factor = np.where(too_long, radius, 1)
        shrink = np.where(too_long, (radius << SHRINK_BITS) // divisor, 1 << SHRINK_BITS)
        return cls(_towards_zero(vector * factor[user], divisor[user]), query, shrink, measurement)

    def noisy_sums(self, random_bytes: RandomBytes) -> ExactIntArray:
        """Return the noisy sum of each query over all users, shape (Q,).

        Args:
            random_bytes: Returns that many independent uniform bytes.
        """
        measurement = self.measurement
        sums = np.zeros(measurement.n_queries, dtype=object)
        np.add.at(sums, self.query, self.vector)
        scales = np.full(measurement.n_queries, measurement.inverse_scale, dtype=object)
        return sums + exact_integers(NOISES[measurement.noise](scales, random_bytes))


def _towards_zero(number: ExactIntArray, divisor: ExactIntArray | int) -> ExactIntArray:
    return np.where(number < 0, -(-number // divisor), number // divisor)


def _lengths(vector: ExactIntArray, user: IntArray, n_users: int, norm: Norm) -> ExactIntArray:
    """Return the length of each user's vector, rounded up to a whole number, shape (L,)."""
    sizes = np.zeros(n_users, dtype=object)
    np.add.at(sizes, user, abs(vector) if norm == "l1" else vector * vector)
    return sizes if norm == "l1" else np.array([isqrt(int(n) - 1) + 1 if n else 0 for n in sizes], dtype=object)
