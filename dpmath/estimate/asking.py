"""Asks a day's questions: the only place where questions and private values meet."""

from dpmath.core.accounting import ExactIntArray
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
