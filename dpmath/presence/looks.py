"""What is asked about other questions: what balls kept of users' vectors, and how far values were from the centres."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.sparse import csr_array

from dpmath.core.occupancy import IntArray
from dpmath.presence.ball import SHARE_BITS, Ball, Sparse
from dpmath.presence.questions import Sums
from dpmath.presence.user_cells import UserCells

By = Literal["cells", "records"]
UNEVEN = 1 << 10
"""The largest number of a cell in ``Kept.uneven``."""


@dataclass(frozen=True)
class Kept:
    """How much of users' vectors the balls of earlier questions kept, by users' cells and by their records.

    Each number of a user is its share kept less a public centre, times min(cells, K)/K or min(records, M)/M; and then,
    of each question, times sums of public numbers of its cells over K, cut at 1 and -1. The last, if it is asked, is
    how far the sum of its values is from the centres of the last question's values, over F, cut at 1 and -1.

    Attributes:
        of: The earlier questions, each with what its shares are weighed by: "cells" or "records".
        most_cells: K, at least 1.
        most_records: M, at least 1.
        centre: What each share is compared with, in 2^-SHARE_BITS.
        uneven: For each different question the public numbers, in parts of UNEVEN, -UNEVEN to UNEVEN, shape (G, n).
        ball: The ball and the noise.
        farthest: F in ticks, 1 to 2^40; None if it is not asked how far values are.

    Source:
        HV-L71.
    """

    of: tuple[tuple[Sums, By], ...]
    most_cells: int
    most_records: int
    centre: int
    uneven: tuple[IntArray, ...]
    ball: Ball
    farthest: int | None = None

    def private_vectors(self, day: UserCells) -> Sparse:
        """Return each user's vector; see ``Question``."""
        cells, records = (day.cells_of_users, self.most_cells), (day.sums(day.n_records), self.most_records)
        sizes = {"cells": cells, "records": records}
        questions = {id(question): question for question, _ in self.of}  # of one, shares may be weighed by both
        kept = {key: one.ball.shares_kept(one.private_vectors(day)) for key, one in questions.items()}
        columns = [
            (kept[id(question)] - self.centre) * np.minimum(*sizes[by]) // sizes[by][1] for question, by in self.of
        ]
        largest = UNEVEN * self.most_cells
        for share, uneven in zip(kept.values(), self.uneven, strict=True):
            sums = (day.sums(one[day.cell]).clip(-largest, largest) for one in uneven.T)
            columns += [(share - self.centre) * one // largest for one in sums]
        values = self.of[-1][0].values
        if self.farthest is not None and values is not None:
            far = day.sums(day.total - day.n_records * values.centre[day.cell]).clip(-self.farthest, self.farthest)
            columns.append((far << SHARE_BITS) // self.farthest)
        return csr_array(np.column_stack(columns))


@dataclass(frozen=True)
class Check:
    """How far users' means are from what was expected, squared, in cells with few records of the user and with many.

    The vector of a user has for each of the two the sum over such cells of min(square, 4 expected)/(4 expected), and
    their number, both weighted, over the root of the number of the user's cells.

    Attributes:
        few: Up to how many records of a user in a cell are few.
        centre: What each cell's mean is compared with, in ticks, shape (G,).
        expected: The expected square of that, in ticks^2: a part, and one over the records; shape (G, 2), at least 1.
        weight: What a cell counts, at least 1.
        ball: The ball and the noise, of 4 sums.

    Source:
        HV-L71.
    """

    few: int
    centre: IntArray
    expected: IntArray
    weight: int
    ball: Ball

    def private_vectors(self, day: UserCells) -> Sparse:
        """Return each user's vector; see ``Question``."""
        far = np.abs(day.total // day.n_records - self.centre[day.cell])
        expected = self.expected[day.cell, 0] + self.expected[day.cell, 1] // day.n_records
        root = np.sqrt(day.cells_of_users.astype(np.float64))
        weight = np.floor(self.weight / root).astype(np.int64)[day.user]
        square = np.minimum(far.astype(np.float64) ** 2 / (4.0 * expected), 1.0)
        part = np.floor(weight * square).astype(np.int64)
        of_many = (day.n_records > self.few).astype(np.int64)
        at = np.tile(day.user, 2), np.concatenate([of_many, of_many + 2])
        return csr_array((np.concatenate([part, weight]), at), shape=(day.n_users, 4))
