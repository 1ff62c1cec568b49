"""The private step, which alone reads values: one noisy vector of sums, with one ball a user over all queries."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from dpmath.core import _check
from dpmath.core.accounting import LOSS_UNITS, ExactIntArray, exact_integers, roots_rounded_up
from dpmath.core.currency import GAUSSIAN, LAPLACE, Currency
from dpmath.core.occupancy import IntArray, Occupancy
from dpmath.noise.sampling import NOISES, RandomBytes

ROOM_BITS = 20
"""A room is a whole number of 2^-20, rounded down."""
LARGEST_RADIUS = 1 << 20
LARGEST_COMPONENT = 1 << 25
"""A component beyond this is cut to it before the vector is scaled down, so that squares fit in 64 bits."""
MOST_QUERIES = 1 << 11
_LARGEST_SUM = 1 << 62
_LARGEST_SHIFT = 62

Norm = Literal["l1", "l2"]
NOISE_OF = {"l1": LAPLACE, "l2": GAUSSIAN}


@dataclass(frozen=True)
class Measurement:
    """What is measured of a day, from public numbers alone: queries, centres, weights, balls and noise.

    User l answers query q with the whole number

        z[l, q] = trunc( sum over pairs p of l of trunc(weight[p] (total[p] - n_records[p] centre[r]) / 2^pair_shift)
                         loading[r, q] / 2^shift ),

    r being the row of the pair. Components beyond LARGEST_COMPONENT are cut to it. If the vector z[l, .] is longer
    than the user's radius, all of it is scaled down to the ball. The sums over users get noise. No privacy rests on
    loadings, weights or centres: whatever they are, the vectors of one user before and after a change both lie in the
    ball, so no two of them are further apart than its diameter.

    Attributes:
        occupancy: The occupancy array, P pairs of G cells and L users.
        row: Row of each pair, shape (P,), 0 <= row < R: what is asked is the same for all pairs of a row.
        value_range: Largest value of a record, in ticks.
        centre: Public centre of each row, in ticks a record, shape (R,), 0 to value_range.
        weight: Weight of each pair, shape (P,).
        pair_shift: How many bits a weighted pair is cut by.
        loading: Loading of each row in each query, shape (R, Q).
        shift: How many bits a component is cut by.
        radius: Radius of each user's ball, shape (L,), 0 to LARGEST_RADIUS.
        inverse_scale: LOSS_UNITS over the scale of the noise.
        norm: "l2", with discrete Gaussian noise, or "l1", with discrete Laplace noise.

    Raises:
        ValueError: A shape or a number is out of range, or a sum might not fit in 64 bits whatever the values are.

    Source:
        HV-L52.
    """

    occupancy: Occupancy
    row: IntArray
    value_range: int
    centre: IntArray
    weight: IntArray
    pair_shift: int
    loading: IntArray
    shift: int
    radius: IntArray
    inverse_scale: int
    norm: Norm

    def __post_init__(self) -> None:
        """Check what the loss and the arithmetic rely on; the numbers checked are public."""
        occupancy = self.occupancy
        _check.same_length(weight=self.weight, n_records=occupancy.n_records)
        _check.same_length(row=self.row, n_records=occupancy.n_records)
        if self.loading.ndim != 2 or self.loading.shape[0] != self.centre.size or self.radius.size != occupancy.n_users:
            raise ValueError("loading must be of shape (R, Q), centre of shape (R,), and radius of shape (L,)")
        _check.all_at_least(0, radius=self.radius, centre=self.centre, row=self.row)
        if self.row.max(initial=-1) >= self.centre.size:
            raise ValueError("row must be below R")
        _check.at_least(1, value_range=self.value_range, inverse_scale=self.inverse_scale)
        if self.radius.max(initial=0) > LARGEST_RADIUS or self.n_queries > MOST_QUERIES:
            raise ValueError(f"radius must be at most {LARGEST_RADIUS}, and the queries at most {MOST_QUERIES}")
        if (
            not (0 <= self.pair_shift <= _LARGEST_SHIFT and 0 <= self.shift <= _LARGEST_SHIFT)
            or self.norm not in NOISE_OF
        ):
            raise ValueError(f"pair_shift and shift must be 0 to {_LARGEST_SHIFT}, and norm l1 or l2")
        if max(_most(self.weight), _most(self.loading)) >= _LARGEST_SUM:
            raise ValueError("weight and loading must be below 2^62")
        if self.centre.max(initial=0) > self.value_range:
            raise ValueError("centre must be at most value_range")
        most, n_records = _LARGEST_SUM - 1, occupancy.n_records
        if np.any(n_records > most // self.value_range):
            raise ValueError("value_range must leave a pair's total below 2^62")
        if np.any(abs(self.weight) > most // (n_records * self.value_range)):
            raise ValueError("weight must leave a weighted pair below 2^62")
        largest = (abs(self.weight) * n_records * self.value_range) >> self.pair_shift
        reach = np.zeros(occupancy.n_users, dtype=np.int64)
        np.add.at(reach, occupancy.user, largest)
        overflowed = np.bincount(occupancy.user, largest).max(initial=0.0) > 1.5 * _LARGEST_SUM
        most_loading = _most(self.loading)
        if most_loading and (overflowed or int(reach.max(initial=0)) * most_loading > most):
            raise ValueError("loading must leave the sum of a user below 2^62")

    @property
    def n_queries(self) -> int:
        """Number of queries Q."""
        return int(self.loading.shape[1])

    @property
    def noise(self) -> str:
        """The noise that fits the norm."""
        return NOISE_OF[self.norm]

    @property
    def deviation(self) -> float:
        """The standard deviation of each sum's noise."""
        return noise_deviation(self.inverse_scale, self.norm)

    def losses(self, currency: Currency) -> ExactIntArray:
        """Return each user's privacy loss, in the currency's unit, exact, shape (L,): that of moving by a diameter.

        Raises:
            ValueError: The noise has no loss in the currency.
        """
        diameter = 2 * exact_integers(self.radius)
        return currency.of_noise(self.noise, diameter, np.full(diameter.size, self.inverse_scale, dtype=object))

    def answers(self, private_totals: IntArray) -> "Answers":
        """Return every user's vector inside the user's ball.

        Args:
            private_totals: Total of each pair's values, in ticks, shape (P,), 0 to n_records value_range.

        Raises:
            ValueError: The shape is wrong, or a total is out of range.
        """
        occupancy = self.occupancy
        _check.same_length(private_totals=private_totals, n_records=occupancy.n_records)
        if np.any((private_totals < 0) | (private_totals > occupancy.n_records * self.value_range)):
            raise ValueError("private_totals must be from 0 to n_records value_range")
        moved = self.weight * (private_totals - occupancy.n_records * self.centre[self.row])
        moved = _towards_zero(moved, np.int64(1) << self.pair_shift)
        vectors = _towards_zero(user_sums(occupancy, moved, self.loading, self.row), np.int64(1) << self.shift)
        return Answers.inside(np.clip(vectors, -LARGEST_COMPONENT, LARGEST_COMPONENT), self)


@dataclass(frozen=True)
class Answers:
    """Every user's vector inside the user's ball. All of it is private.

    Attributes:
        vector: The components, shape (L, Q).
        room: Each vector's room in its ball: radius over length, at least 1/4 and at most 5/4, less 1/4, in units of
            2^-ROOM_BITS, shape (L,).
        measurement: What was measured.
    """

    vector: IntArray = field(repr=False)
    room: IntArray = field(repr=False)
    measurement: Measurement

    @classmethod
    def inside(cls, vector: IntArray, measurement: Measurement) -> "Answers":
        """Return the vectors scaled down to the balls."""
        length, radius = _lengths(vector, measurement.norm), measurement.radius
        divisor = np.maximum(length, np.maximum(radius, 1))
        factor = np.where(length > radius, radius, divisor)
        quarter = 1 << (ROOM_BITS - 2)
        room = np.clip((radius << ROOM_BITS) // np.maximum(length, 1), quarter, 5 * quarter) - quarter
        return cls(_towards_zero(vector * factor[:, None], divisor[:, None]), room, measurement)

    def noisy_sums(self, random_bytes: RandomBytes) -> ExactIntArray:
        """Return the noisy sum of each query over all users, shape (Q,).

        Args:
            random_bytes: Returns that many independent uniform bytes.
        """
        measurement = self.measurement
        scales = np.full(measurement.n_queries, measurement.inverse_scale, dtype=object)
        return exact_integers(self.vector.sum(axis=0)) + exact_integers(NOISES[measurement.noise](scales, random_bytes))


def noise_deviation(inverse_scale: int, norm: Norm) -> float:
    """Return the standard deviation of the noise of one sum: Gaussian for l2 balls, else Laplace.

    Source:
        HV-L52.
    """
    scale = LOSS_UNITS / inverse_scale
    return scale if norm == "l2" else float(np.sqrt(2)) * scale


def user_sums(occupancy: Occupancy, of_pairs: NDArray[Any], of_rows: NDArray[Any], row: IntArray) -> NDArray[Any]:
    """Return the sum over each user's pairs of a number per pair times numbers of its row, shape (L, n).

    Args:
        occupancy: The occupancy array, P pairs of G cells and L users.
        of_pairs: A number of each pair, shape (P,).
        of_rows: Numbers of each row, of the same type, shape (R, n).
        row: Row of each pair, shape (P,).

    Source:
        HV-L52.
    """
    shape = (occupancy.n_users, len(of_rows))
    # by columns: each row is read once, and the sums, which are fewer, stay in the processor's cache
    return np.asarray(csc_array((of_pairs, (occupancy.user, row)), shape=shape) @ of_rows)


def _most(numbers: IntArray) -> int:
    """Return the largest absolute value, exact, and 0 of none."""
    return max(int(numbers.max(initial=0)), -int(numbers.min(initial=0)))


def _towards_zero(number: IntArray, divisor: IntArray | np.int64) -> IntArray:
    return np.sign(number) * (np.abs(number) // divisor)


def _lengths(vector: IntArray, norm: Norm) -> IntArray:
    """Return the length of each row, rounded up to a whole number, shape (L,)."""
    if norm == "l1":
        return np.abs(vector).sum(axis=1)
    return roots_rounded_up((vector * vector).sum(axis=1))
