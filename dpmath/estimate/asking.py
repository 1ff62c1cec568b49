"""Asks a day's questions: the only place where questions and private values meet."""

import numpy as np

from dpmath.core.accounting import ExactIntArray
from dpmath.core.currency import Currency
from dpmath.estimate.posterior import Estimate
from dpmath.estimate.programme import Asking
from dpmath.estimate.questions import PrivateDay, Question
from dpmath.noise.sampling import RandomBytes


def ask(
    asking: Asking, private: PrivateDay, random_bytes: RandomBytes
) -> tuple[Estimate, list[tuple[Question, ExactIntArray]]]:
    """Ask each question once, and return the estimate, and the questions with their noisy answers.

    Args:
        asking: The programme of the day, which sees noisy answers alone.
        private: The values of the day.
        random_bytes: Returns that many independent uniform bytes.

    Source:
        HV-E4.
    """
    asked: list[tuple[Question, ExactIntArray]] = []
    try:
        question = next(asking)
        while True:
            asked.append((question, question.noisy(private, random_bytes)))
            question = asking.send(asked[-1])
    except StopIteration as end:
        estimate: Estimate = end.value
        return estimate, asked


def within(asking: Asking, charged: ExactIntArray, currency: Currency) -> Asking:
    """Ask the same questions as long as no user loses more by them than the user is charged.

    Args:
        asking: The programme of the day.
        charged: What each user is charged for the day, in the currency's unit, shape (L,).
        currency: What losses are counted in.

    Raises:
        ValueError: The next question would cost a user more than is left of the charge. It is not asked.

    Source:
        HV-E4.
    """
    left = np.array(charged, dtype=object)
    try:
        question = next(asking)
        while True:
            left = left - question.losses(currency)
            if (left < 0).any():
                raise ValueError("the questions cost a user more than the user is charged")
            question = asking.send((yield question))
    except StopIteration as end:
        estimate: Estimate = end.value
        return estimate
