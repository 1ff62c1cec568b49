"""A day's questions, one after another, each made from earlier answers; and the estimate that they end in.

The programme never meets the data: it yields a question, is sent the question as it was asked and noisy answers, and so
can be run again from these. Another processor would choose slightly other questions: those that were asked count.
"""

import math
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, replace

import numpy as np

from dpmath.core.accounting import ExactIntArray
from dpmath.core.currency import Currency
from dpmath.noise.sampling import RandomBytes
from dpmath.presence.as_asked import Counting, Summing
from dpmath.presence.asking import check_of, counting, kept_of, square_of, summing, totals_of
from dpmath.presence.basis import FloatArray
from dpmath.presence.chosen import Chosen, apart, chosen_of, with_chosen
from dpmath.presence.counts import KeptOfCells, Users, users_of, with_total
from dpmath.presence.estimate import Day, Estimate
from dpmath.presence.fields import Field
from dpmath.presence.intervals import Number
from dpmath.presence.kinds import WEEKDAY
from dpmath.presence.lengths import Lengths
from dpmath.presence.link import far_from_centres
from dpmath.presence.looks import Check
from dpmath.presence.numbers import Numbers
from dpmath.presence.questions import Question, noisy_answers
from dpmath.presence.shares import as_kept, by_cell, shares, unevenly_kept, whole_uneven
from dpmath.presence.state import Asked, Known, State, first_state
from dpmath.presence.user_cells import UserCells
from dpmath.presence.weights import USUAL_SHARE

Programme = Generator[Question, tuple[Question, ExactIntArray], Estimate]
"""Yields a question; is sent the question as it was asked, and its noisy answers; returns the estimate."""

_OF_CITY = 0.05
"""What means may be off by all over the city, over the deviation of the map: what the model itself misses."""


def programme(state: State | None, asked: Asked) -> Programme:
    """Yield a day's questions, take what was asked and answered, and return the estimate with the state that it leaves.

    Args:
        state: What the days before left; None on a first day.
        asked: What is public.

    Source:
        HV-L72.
    """
    is_first, basis = state is None, asked.basis
    totals = totals_of(asked, state)
    known = Known.of(totals, (yield totals)[1], asked)
    before, tried = _before(state, known, asked)
    question, numbers = yield counting(before, known, asked, is_first)
    counts = Counting.of(question)
    counted = counts.counted(numbers, USUAL_SHARE)
    users = users_of(tried.get("users", [before.users]), basis, counted, before.overdispersion, is_first=is_first)
    uneven = unevenly_kept(counts.square, users.mean, asked.grid)
    if asked.counts_only:
        question, told = yield kept_of(counts, None, (whole_uneven(uneven),), totals, known, before, asked)
        kept = as_kept(question)
        lengths, (share,) = shares(kept, told, known, before.lengths, [counts.is_of_cells])
        of_cells = by_cell(kept, told, 0, share, uneven, users.mean)
        users = _users_kept(users, counts.counted(numbers, of_cells.share), of_cells, before, known, asked)
        return _counted(before, users, lengths, asked, is_first)
    if is_first:
        question, amounts = yield summing(before, users, known, asked, is_first, is_rough=True)
        before = Day(asked, before, {}, users, Summing.of(question), amounts, (USUAL_SHARE, USUAL_SHARE)).looked()
    question, amounts = yield summing(before, users, known, asked, is_first)
    sums = Summing.of(question)
    of_amounts = unevenly_kept(square_of(before, users, sums, asked), users.mean, asked.grid)
    both = whole_uneven(uneven), whole_uneven(of_amounts)
    question, told = yield kept_of(counts, sums, both, totals, known, before, asked)
    kept = as_kept(question)
    kinds = [counts.is_of_cells, sums.is_of_cells, sums.is_of_cells]
    lengths, (of_users, of_records, of_pairs) = shares(kept, told, known, before.lengths, kinds)
    of_cells = by_cell(kept, told, 0, of_users, uneven, users.mean)
    amounts_kept = by_cell(kept, told, 1, of_pairs, of_amounts, users.mean)
    check = check_of(before, sums, asked, is_first)
    _, far = yield check
    users = _users_kept(users, counts.counted(numbers, of_cells.share), of_cells, before, known, asked)
    of_both, off = (of_records.mean, of_pairs.mean), far_from_centres(kept, told, known.users)
    day = Day(asked, before, tried, users, sums, amounts, of_both, amounts_kept, off)
    return _estimate(day, check, far, lengths)


def _users_kept(users: Users, counted: Numbers, kept: KeptOfCells, before: State, known: Known, asked: Asked) -> Users:
    """Return the day's users from their numbers as counted where it is known what the ball kept in each cell."""
    users = users_of([users.before], asked.basis, counted, before.overdispersion, users)
    return with_total(users, kept, known.cells, known.cells_variance, asked.basis)


def _before(state: State | None, known: Known, asked: Asked) -> tuple[State, dict[str, list[Field]]]:
    """Return what is known before a day's cells are asked, and its surfaces as they may be; none on a first day."""
    if state is None:
        return first_state(known, asked).after(known), {}
    if asked.kind == WEEKDAY:
        state = state.at_level(known, asked)
    later = state.a_day_later(asked).after(known)
    tried = state.paced(asked, later)
    if asked.kind != WEEKDAY:
        tried["users"] = [*later.of_kind(known, asked)]
        later = replace(later, users=tried["users"][0])
    return later, tried


@dataclass(frozen=True)
class Answered:
    """A day whose questions were answered.

    Attributes:
        estimate: The estimate.
        questions: The questions as they were asked; the ball of each says what it cost.
        answers: The noisy answers to each question.
        apart: How far questions are from those that would be asked here; see ``chosen.apart``.
    """

    estimate: Estimate
    questions: list[Question]
    answers: list[ExactIntArray]
    apart: float

    def loss(self, currency: Currency) -> int:
        """Return what the day cost everybody, in the currency's unit."""
        return sum(question.ball.loss(currency) for question in self.questions)


def asked_for_real(steps: Programme, day: UserCells, random_bytes: RandomBytes) -> Answered:
    """Answer a day's questions once, with noise.

    Args:
        steps: The day's programme.
        day: The private day.
        random_bytes: Returns that many independent uniform bytes.

    Source:
        HV-L72.
    """
    return _answered(steps, lambda question: (question, noisy_answers(question, day, random_bytes)))


def asked_again(steps: Programme, chosen: Chosen, answers: Iterable[ExactIntArray]) -> Answered:
    """Return what follows from stored noisy answers.

    Args:
        steps: The day's programme.
        chosen: The stored numbers of its questions; see ``chosen``.
        answers: The noisy answers to each question.

    Raises:
        ValueError: The answers are too few or too many, or not as many as a question has, or the numbers are no
            question's.

    Source:
        HV-L72.
    """
    stored = iter(answers)

    def stored_answers(question: Question) -> tuple[Question, ExactIntArray]:
        asked, found = with_chosen(question, chosen), next(stored, None)
        if found is None or found.shape != (asked.ball.n_sums,):
            raise ValueError("answers must be those of the programme's questions")
        return asked, found

    answered = _answered(steps, stored_answers)
    if next(stored, None) is not None:
        raise ValueError("answers must be as many as the programme's questions")
    if chosen.keys() != chosen_of(answered.questions).keys():
        raise ValueError("chosen must have the numbers of the programme's questions alone")
    return answered


def _answered(steps: Programme, answer: Callable[[Question], tuple[Question, ExactIntArray]]) -> Answered:
    questions: list[Question] = []
    answers: list[ExactIntArray] = []
    question, most = next(steps), 0.0
    while True:
        asked, found = answer(question)
        most = max(most, apart(question, asked))
        questions.append(asked)
        answers.append(found)
        try:
            question = steps.send((asked, found))
        except StopIteration as end:
            return Answered(end.value, questions, answers, most)


def _counted(before: State, users: Users, lengths: Lengths, asked: Asked, is_first: bool) -> Estimate:
    """Return the estimate where numbers of users alone are asked for, and what it leaves."""
    after = replace(before, users=users.field, overdispersion=users.overdispersion, lengths=lengths)
    after = after.taken_apart(users.before, asked)
    after = after if is_first else after.learned(asked)
    nothing = Number(np.zeros_like(users.mean), np.ones_like(users.mean))
    return Estimate(Number(users.mean, users.variance), nothing, nothing, users.off, users.off, after)


def _estimate(day: Day, check: Check, far: ExactIntArray, lengths: Lengths) -> Estimate:
    """Return the estimate from a day's answers, and what it leaves."""
    before, users = day.before, day.users
    a_user, records = day.records()
    values = day.values(before.residuals, records)
    residuals = day.residuals(check, far, values.field)
    values = day.values(residuals, records)
    mean_records = float(np.clip(records.mean.sum() / users.mean.sum(), 1.0, day.asked.cap))
    after = replace(
        before,
        users=users.field,
        records=a_user.field,
        values=values.field,
        overdispersion=users.overdispersion,
        mean_records=mean_records,
        records_variance=before.records_variance * (mean_records / before.mean_records) ** 2,
        residuals=residuals,
        lengths=lengths,
    )
    after = after.taken_apart(users.before, day.asked)
    after = after if day.is_first else after.learned(day.asked)
    one = np.ones_like(values.mean)
    common = [_unfair(day, values.mean), _OF_CITY * np.sqrt(after.scale) * one, *day.unsure_of(values.mean).T]
    size = (1 - day.lean) * math.sqrt(residuals.of_user)
    off = replace(values.off, common=np.column_stack(common))
    link = before.link.told(size, *day.off_over_records(values.mean, records.mean, off))
    off = replace(off, common=np.column_stack([*common, size * np.sqrt(link.variance) * one]))
    mean = np.clip(values.mean - size * link.mean, 0, day.asked.value_range)
    of_means = Number(mean, off.variance(day.asked.basis))
    after = replace(after, link=link)
    return Estimate(Number(users.mean, users.variance), records, of_means, users.off, off, after)


def _unfair(day: Day, mean: FloatArray) -> FloatArray:
    """Return the deviation that comes of users far from the centres being scaled down more than others, shape (G,)."""
    lean = day.lean
    return (1 - lean) / (1 + lean) * (mean - day.sums.centre)
