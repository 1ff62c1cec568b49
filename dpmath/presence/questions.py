"""What may be asked of a day: each question is a rule that makes one user's vector from that user's records alone."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.sparse import csr_array, hstack

from dpmath.core import _check
from dpmath.core.accounting import ExactIntArray
from dpmath.core.occupancy import IntArray
from dpmath.noise.sampling import RandomBytes
from dpmath.presence.ball import Ball, Sparse
from dpmath.presence.user_cells import UserCells

RECORD = 1 << 8
"""Records of a user in a cell are compared with a public number in 256ths of a record."""
_BITS_OF_MEAN = 14
USUAL_SPREAD = 3
"""Before anything is asked, the spread of a user's means is near the range over 2 to the power of this."""
_LARGEST_SUM = 1 << 62
_LARGEST_SHIFT = 62


class Question(Protocol):
    """A question to a day, made of public numbers alone.

    Attributes:
        ball: The ball of its vectors, and its noise.
    """

    @property
    def ball(self) -> Ball:
        """See above."""
        ...

    def private_vectors(self, day: UserCells) -> Sparse:
        """Return each user's vector before it is scaled down, shape (L, Q). It reads that user's pairs alone."""
        ...


def noisy_answers(question: Question, day: UserCells, random_bytes: RandomBytes) -> ExactIntArray:
    """Return the noisy sums over users of a question's vectors, shape (Q,).

    Source:
        HV-L70, HV-L71.
    """
    return question.ball.noisy_sums(question.private_vectors(day), random_bytes)


@dataclass(frozen=True)
class Block:
    """Sums over a user's pairs of a whole number times a loading of the pair's cell.

    Attributes:
        loading: Loading of each cell in each sum, shape (G, Q).
        centre: What each cell's number is compared with, shape (G,).
        shift: How many bits a sum is cut by, towards 0.
    """

    loading: Sparse
    centre: IntArray
    shift: int

    @property
    def n_sums(self) -> int:
        """Number of sums Q."""
        return int(self.loading.shape[1])

    def fits(self, largest: int) -> bool:
        """Return whether sums of a user fit in 64 bits if no number is further than ``largest`` from its centre."""
        exact = csr_array(abs(self.loading.astype(np.float64)))  # in whole numbers abs(-2^63) is below 0
        return float(np.max(exact.sum(axis=0), initial=0.0)) * largest < _LARGEST_SUM / 2

    def of(self, pairs: Sparse) -> Sparse:
        """Return the sums of each user from a number of each user and cell."""
        sums = csr_array(pairs @ self.loading)
        sums.data = np.sign(sums.data) * (np.abs(sums.data) >> self.shift)
        return sums


@dataclass(frozen=True)
class Sums:
    """Users, records and values by cell, or in any weighted sums of cells, all in one ball.

    The vector of user l, with n_g = 1 in its cells, k_g its records and s_g the total of its values there, is

        [ sum_g A_gq (n_g - a_g) | sum_g B_gq (256 k_g - b_g) | sum_g D_gq (s_g - k_g c_g) ],

    sums over the user's cells, each cut by the block's shift, less a public typical vector. No privacy rests on
    loadings, centres, shifts or the typical vector.

    Attributes:
        users: A and a; None to leave them out.
        records: B and b, in 256ths of a record; None to leave them out.
        values: D and c, in ticks a record; None to leave them out.
        typical: The typical vector, shape (Q,); None for 0.
        limits: The cap and the range of values that the arithmetic must hold for.
        ball: The ball and the noise.
        is_rough: Whether it is asked again about better centres.

    Raises:
        ValueError: A shape is wrong, or a sum might not fit in 64 bits whatever the records are.

    Source:
        HV-L71.
    """

    users: Block | None
    records: Block | None
    values: Block | None
    typical: IntArray | None
    limits: tuple[int, int]
    ball: Ball
    is_rough: bool = False

    def __post_init__(self) -> None:
        """Check what the arithmetic relies on; the numbers checked are public."""
        blocks, (cap, value_range) = self.blocks, self.limits
        _check.at_least(1, cap=cap, value_range=value_range, n_blocks=len(blocks))
        if sum(block.n_sums for block, _ in blocks) != self.ball.n_sums:
            raise ValueError("the blocks must have as many sums as the ball")
        for block, largest in blocks:
            if block.centre.shape != (block.loading.shape[0],) or block.loading.dtype != np.int64:
                raise ValueError("centre must be of shape (G,), and loading of 64-bit integers, shape (G, Q)")
            if not 0 <= block.shift <= _LARGEST_SHIFT:
                raise ValueError(f"shift must be 0 to {_LARGEST_SHIFT}")
            _check.all_at_least(0, centre=block.centre)
            if block.centre.max(initial=0) > largest or not block.fits(
                cap * largest if block is self.values else largest
            ):
                raise ValueError("centre must be within the range, and loading leave every user's sums below 2^61")
        if self.typical is not None and (
            self.typical.shape != (self.ball.n_sums,) or np.abs(self.typical).max(initial=0) > _LARGEST_SUM // 2
        ):
            raise ValueError("typical must be of shape (Q,) and below 2^61")

    @property
    def blocks(self) -> list[tuple[Block, int]]:
        """The blocks that are asked, each with its largest centre: no pair's number is further from any centre.

        Of values that is true of a record, and a pair has at most the cap.
        """
        cap, value_range = self.limits
        largest = (1, RECORD * cap, value_range)
        blocks = zip((self.users, self.records, self.values), largest, strict=True)
        return [(block, most) for block, most in blocks if block is not None]

    def private_vectors(self, day: UserCells) -> Sparse:
        """Return each user's vector; see ``Question``.

        Raises:
            ValueError: The day has other limits.
        """
        if (day.cap, day.value_range) != self.limits:
            raise ValueError(f"the day must have the limits {self.limits}")
        parts = []
        if self.users is not None:
            parts.append(self.users.of(_by_user(day, 1 - self.users.centre[day.cell])))
        if self.records is not None:
            parts.append(self.records.of(_by_user(day, RECORD * day.n_records - self.records.centre[day.cell])))
        if self.values is not None:
            parts.append(self.values.of(_by_user(day, day.total - day.n_records * self.values.centre[day.cell])))
        vectors = csr_array(hstack(parts, format="csr", dtype=np.int64))
        return vectors if self.typical is None else csr_array(vectors.toarray() - self.typical)


@dataclass(frozen=True)
class Totals:
    """What is asked of whole users: whether one is there, its cells, its records, and more on a first day.

    The vector of a user has 1, min(cells, K)/K, min(records, M)/M, the sum of squares of its records over the cap and
    M, its mean value over the range, and the log2 of its spread over cells in shares of the log2 of the range: as many
    of these as there are weights W, each times its W, rounded down to a whole number and at most W.

    Attributes:
        weights: W of each number, at least 1.
        most_cells: K, at least 1.
        most_records: M, at least 1.
        is_first: Whether the numbers of a first day are asked.
        ball: The ball and the noise.

    Source:
        HV-L71.
    """

    weights: tuple[int, ...]
    most_cells: int
    most_records: int
    is_first: bool
    ball: Ball

    def private_vectors(self, day: UserCells) -> Sparse:
        """Return each user's vector; see ``Question``."""
        most, bits = self.most_records, max(day.value_range.bit_length(), 1)
        cells, records = day.cells_of_users, day.sums(day.n_records)
        numbers: tuple[Callable[[int], np.ndarray], ...] = (
            lambda weight: np.full(day.n_users, weight),
            lambda weight: weight * np.minimum(cells, self.most_cells) // self.most_cells,
            lambda weight: weight * np.minimum(records, most) // most,
            lambda weight: weight * np.minimum(day.sums(day.n_records**2) // day.cap, most) // most,
            lambda weight: weight * (day.sums(day.total) // records) // day.value_range,
            lambda weight: np.floor(weight * _log2_spread(day, cells) / bits).clip(0, weight),
        )
        columns = [number(weight) for number, weight in zip(numbers, self.weights, strict=False)]
        return csr_array(np.column_stack(columns).astype(np.int64).reshape(day.n_users, self.ball.n_sums))


def _by_user(day: UserCells, numbers: IntArray) -> Sparse:
    return csr_array((numbers, day.cell, day.first_pairs), shape=(day.n_users, day.n_cells))


def _log2_spread(day: UserCells, cells: IntArray) -> np.ndarray:
    """Return the log2 of how far each user's means in its cells are apart (their standard deviation), at least 0.

    A user in one cell tells nothing of it, and says what is usual.
    """
    shift = max(day.value_range.bit_length() - _BITS_OF_MEAN, 0)
    mean = (day.total // day.n_records) >> shift
    square = cells * day.sums(mean * mean) - day.sums(mean) ** 2
    spread = shift + 0.5 * np.log2(np.maximum(square // (cells * cells), 1).astype(np.float64))
    usual = max(day.value_range.bit_length() - USUAL_SPREAD, 0)
    return np.where(cells > 1, spread, usual)
