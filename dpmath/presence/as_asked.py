"""The two large questions as they were asked, and how their noisy answers are read."""

from dataclasses import dataclass

import numpy as np

from dpmath.core.accounting import ExactIntArray
from dpmath.presence.ball import sigma
from dpmath.presence.basis import FloatArray
from dpmath.presence.loadings import is_of_own, told_by
from dpmath.presence.numbers import Numbers
from dpmath.presence.questions import RECORD, Block, Question, Sums

SHIFT = 10
"""Loadings of records and values have so many bits more."""
CUT = 1 << SHIFT


@dataclass(frozen=True)
class Counting:
    """The question for users by cell, as it was asked.

    Attributes:
        question: What was asked.
        users: Its block.
    """

    question: Sums
    users: Block

    @classmethod
    def of(cls, question: Question) -> "Counting":
        """Return the question for users; raises ``ValueError`` if it is another."""
        if not isinstance(question, Sums) or question.users is None:
            raise ValueError("the question must be that for users")
        return cls(question, question.users)

    @property
    def is_of_cells(self) -> bool:
        """Whether each cell has a number of its own."""
        return is_of_own(self.users.loading)

    @property
    def square(self) -> FloatArray:
        """The square of a user's loadings in each cell, shape (G,)."""
        return _square(self.users)

    def counted(self, answers: ExactIntArray, share: FloatArray | float) -> Numbers:
        """Return the noisy numbers of users that answers tell, if the ball kept a share of them."""
        return told_by(self.users.loading, 1, answers.astype(np.float64), sigma(self.question.ball), share)


@dataclass(frozen=True)
class Summing:
    """The question for records and values by cell, as it was asked.

    Attributes:
        question: What was asked; the sums of records come first.
        records: Its block of records.
        values: That of values.
    """

    question: Sums
    records: Block
    values: Block

    @classmethod
    def of(cls, question: Question) -> "Summing":
        """Return the question for records and values; raises ``ValueError`` if it is another."""
        if not isinstance(question, Sums) or question.records is None or question.values is None:
            raise ValueError("the question must be that for records and values")
        return cls(question, question.records, question.values)

    @property
    def is_of_cells(self) -> bool:
        """Whether each cell has a number of values of its own: these take nine tenths of the ball's square."""
        return is_of_own(self.values.loading)

    @property
    def mean_records(self) -> FloatArray:
        """Records a user that records are compared with, shape (G,)."""
        return self.records.centre / RECORD

    @property
    def centre(self) -> FloatArray:
        """Ticks a record that values are compared with, shape (G,)."""
        return self.values.centre.astype(np.float64)

    @property
    def squares(self) -> tuple[FloatArray, FloatArray]:
        """The squares of loadings in each cell, those for records and those for values, shapes (G,)."""
        return _square(self.records), _square(self.values)

    def read(self, answers: ExactIntArray, share: FloatArray | float) -> tuple[Numbers, Numbers]:
        """Return the noisy numbers of records and of values that answers tell, if the ball kept a share of records."""
        told, n_sums = answers.astype(np.float64), self.records.loading.shape[1]
        deviation = sigma(self.question.ball)
        records = told_by(self.records.loading, CUT / RECORD, told[:n_sums], deviation, share)
        return records, told_by(self.values.loading, CUT, told[n_sums:], deviation, share)


def _square(block: Block) -> FloatArray:
    loading = block.loading.astype(np.float64)
    return np.asarray((loading * loading).sum(axis=1)).ravel()
