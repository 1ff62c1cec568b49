"""A day's private questions, one after the other: each is made from public numbers and the noisy answers before it."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dpmath.core.accounting import ExactIntArray
from dpmath.estimate import shrinkage
from dpmath.estimate.asked import Asked, Guess
from dpmath.estimate.checked import Asking, checked
from dpmath.estimate.design import RADIUS, as_measured, design, lengthened, parts, whole_numbers
from dpmath.estimate.law_programme import law_programme
from dpmath.estimate.level import LIKELY, Answer, Users, level
from dpmath.estimate.measurement import ROOM_BITS, Measurement
from dpmath.estimate.posterior import Estimate, estimated, expected_after
from dpmath.estimate.questions import (
    LARGEST_DEVIATION,
    SHARE_BITS,
    Centre,
    Measured,
    Question,
    Questions,
    Shrunk,
    Spread,
)
from dpmath.estimate.state import POINTS, State, first_state
from dpmath.estimate.taken import Design, Read, Reading, Taken
from dpmath.estimate.view import View, scale_of

LEVELS = ("level", "level again")
_ROOM_VARIANCE = 0.1
"""Of the room of one user's vector about the mean."""


def programme(state: State | None, asked: Asked) -> Asking:
    """Ask a day's questions and return its estimate.

    Args:
        state: The state before the day; None on the first day.
        asked: The day, and what each question may cost.

    Source:
        HV-E4.
    """
    earlier: list[Taken] = []
    readings: list[Reading] = []
    if state is None:
        view, coarse, _ = yield from _measured(_seen((yield from _begun(asked)), asked), asked, "coarse")
        state = estimated(view, [coarse]).state
        view = _seen(replace(state, shrink=shrinkage.of_other_questions(view.state.shrink)), asked)
    else:
        view = _seen(state.later(asked.n_days).with_hexagons(asked.day), asked)
        levels: list[_Level] = []
        for name in LEVELS:
            levels.append((yield from _levelled(view, asked, name, levels)))
            # whether the day is unlike all others the last answer tells best, and so what those before it told
            readings = [one.read.reading(levels[-1].unlike) for one in levels]
            earlier = [one.taken(reading) for one, reading in zip(levels, readings, strict=True)]
            view = expected_after(replace(view, odd=_odd(levels)), earlier)
    _, unknown = view.state.shrink
    view, last, reading = yield from _measured(view, asked, "map")
    found = estimated(view, [*earlier, last])
    moved = np.log(found.state.factors["residual"] / view.state.factors["residual"])
    found = yield from checked(found, asked, float(moved))
    found = replace(found, read=replace(found.read, readings=(*readings, reading)))
    # as far as lengths were told, they were by what was expected; what has been learned since changes that
    told = max(0.0, 1 - found.state.shrink[1] / unknown)
    now = np.clip(view.strata.values(found.mean, found.view.today.mean), 0.0, POINTS)
    after = replace(found.view, state=found.state)
    longer = told * lengthened(view, after, now - view.expected_of_strata, last.design.loading, asked.norm)
    found = replace(found, state=replace(found.state, shrink=shrinkage.expecting(found.state.shrink, longer)))
    return found if asked.limits is None else (yield from law_programme(found, asked.limits, asked))


def _seen(state: State, asked: Asked) -> View:
    return View.of(asked.day, state, asked.covariates)


def _begun(asked: Asked) -> Generator[Question, tuple[Question, ExactIntArray], State]:
    """Ask for the values' centre and scale, and return the first state."""
    day, basis = asked.day, asked.basis  # before the first question: what is public fails before anything is drawn
    _, (total,) = yield Centre(asked.sums("centre", 1 << SHARE_BITS), asked.value_range)
    share, noise = asked.share_of("centre", int(total), 1 << SHARE_BITS)
    mean, spread = asked.guess.centre, asked.guess.deviation
    kept = spread**2 / (spread**2 + (noise * POINTS) ** 2)
    centre = mean + kept * (share * POINTS - mean)

    about = round(float(np.clip(centre, 0.0, POINTS)) / POINTS * (1 << SHARE_BITS))
    _, (total,) = yield Spread(asked.sums("spread", LARGEST_DEVIATION), asked.value_range, about)
    share, noise = (0.5 * POINTS * one for one in asked.share_of("spread", int(total), LARGEST_DEVIATION))
    log2, log2_spread = _log2_scale(share, noise, spread**2 * (1 - kept), asked.guess)
    scale = scale_of(day.occupancy, POINTS * 2 ** (log2 + 0.5 * log2_spread))
    return first_state(day, basis, centre, spread**2 * (1 - kept), scale, (log2_spread * np.log(2)) ** 2)


def _log2_scale(measured: float, noise: float, centre_variance: float, guess: Guess) -> tuple[float, float]:
    """Return mean and standard deviation of log2(scale / range), from the noisy mean of users' deviations.

    These are from where the centre is supposed to be, so the error of that is in each of them.
    """
    mean, spread = np.log2(guess.spread / POINTS), guess.log2_deviation
    ladder = np.linspace(-10, -1, 361)
    expected = np.sqrt((POINTS * 2**ladder) ** 2 + centre_variance)
    fit = -0.5 * ((ladder - mean) / spread) ** 2 - 0.5 * ((measured - expected) / noise) ** 2
    weight = np.exp(fit - fit.max())
    weight /= weight.sum()
    found = float(weight @ ladder)
    return found, float(np.sqrt(weight @ (ladder - found) ** 2))


@dataclass(frozen=True)
class _Level:
    """A question how far a day is off as a whole, and its answer.

    Attributes:
        view: The day as it was expected.
        question: The question as it was asked.
        answers: Its noisy answer.
        read: The same as a share of the limit, with what was supposed of users.
        before: How likely the day was unlike all others; None before the first question.
    """

    view: View
    question: Question
    answers: ExactIntArray
    read: Answer
    before: float | None

    @cached_property
    def unlike(self) -> float:
        """How likely the day is unlike all others with this answer."""
        return self.read.unlike_others(self.before)

    def taken(self, reading: Reading) -> Taken:
        """Return the sum by what it is a share of."""
        return _taken(self.view, *_as_asked(self.question), self.answers, reading)


def _odd(levels: Sequence[_Level]) -> float:
    """Return what the variance of a day's level is times that of others: anywhere, if it is unlike all."""
    first, last = levels[0], levels[-1]
    if abs(last.unlike) <= LIKELY:
        return 1.0
    variance = float(first.read.users.anywhere(first.unlike)[-1]) ** 2 / 12
    return max(1.0, variance / float(first.view.state.of_the_day[0]))


def _levelled(
    view: View, asked: Asked, name: str, earlier: Sequence[_Level]
) -> Generator[Question, tuple[Question, ExactIntArray], _Level]:
    """Ask how far users are from what is expected of them.

    If a day differs much as a whole, vectors of the map would all be cut, and the map be off by what is lost.
    """
    users, unlike = Users.of(view, asked.reach), earlier[-1].unlike if earlier else None
    meant = level(view, users, asked.reach, asked.noise(name) / RADIUS, unlike)
    question, answers = yield Measured(_numbers(meant, view, asked, name))
    most = max(float(asked.radius.sum()), 1.0)
    read = Answer(int(answers[0]) / most, users, meant.length, asked.noise(name) / most)
    return _Level(view, question, answers, read, unlike)


def _measured(
    view: View, asked: Asked, name: str
) -> Generator[Question, tuple[Question, ExactIntArray], tuple[View, Taken, Reading]]:
    """Ask the large measurement and the mean room of its vectors; return the view with both, sums, and reading."""
    meant = design(view, asked.norm, asked.noise(name) / RADIUS, asked.reach)
    numbers, length, fields = _numbers(meant, view, asked, name), meant.length, meant.fields
    del meant  # its loadings are as many as those of what is done, which take its memory
    question, answers = yield Measured(numbers)
    _, (total,) = yield Shrunk(asked.sums(f"{name} shrink", 1 << ROOM_BITS))
    room, deviation = asked.share_of(f"{name} shrink", int(total), 1 << ROOM_BITS)
    shrink, reach = view.state.shrink, asked.reach
    if reach.any():
        variance = deviation**2 + _ROOM_VARIANCE * float((reach**2).sum() / reach.sum() ** 2)
        shrink = shrinkage.updated(shrink, room, variance, length)
    measurement, done = _as_asked(question)  # who replays it may mean it otherwise, by rounding
    part = parts(view, done.loading, fields, asked.norm)
    kept = shrinkage.kept(shrink, length, part)
    reading = Reading(kept.share, 1.0, kept.error)
    taken = _taken(view, measurement, done, answers, reading)
    return replace(view, state=replace(view.state, shrink=shrink)), taken, reading


def _numbers(meant: Design, view: View, asked: Asked, name: str) -> Measurement:
    inverse_scale = asked.charges[name].inverse_scale
    return whole_numbers(meant, view, asked.value_range, asked.radius, inverse_scale, asked.norm)


def _as_asked(question: Question) -> tuple[Measurement, Design]:
    """Return a measurement as it was asked, in whole numbers and as the design that they stand for."""
    if not isinstance(question, Measured):
        raise ValueError("the answers are not those of a measurement")
    return question.measurement, as_measured(question.measurement)


def _taken(view: View, measurement: Measurement, done: Design, answers: ExactIntArray, reading: Reading) -> Taken:
    """Return the sums of a measurement, of which balls keep a share, about the centre of the values."""
    np.multiply(done.loading, reading.share, out=done.loading)  # they are many
    centre = measurement.centre * (POINTS / measurement.value_range)
    sums = np.array([int(one) for one in answers], dtype=float) / RADIUS
    expected = (view.strata.pair_sums(done.weight) * (centre - view.state.centre)) @ done.loading
    return Taken(done, sums + expected, reading.noise * measurement.deviation / RADIUS, expected, reading.error)


def taken_again(view: View, questions: Questions, read: Read) -> list[Taken]:
    """Return the sums that a released day was estimated from, from its questions and noisy answers.

    Args:
        view: The day, as any state with its functions and centre expects it.
        questions: Each question as it was asked, and its noisy answers, in their order.
        read: How they were read.

    Raises:
        ValueError: There are too few of them.

    Source:
        HV-E4.
    """
    asked = [(*_as_asked(one), answers) for one, answers in questions if type(one) is Measured]
    last = asked[max(0, len(asked) - len(read.readings)) :]
    return [_taken(view, *one, reading) for one, reading in zip(last, read.readings, strict=True)]


def answered(asking: Asking, answers: Questions) -> Estimate:
    """Return the estimate from questions that were asked, and their noisy answers.

    Args:
        asking: The programme of the day.
        answers: Each question as it was asked, and its noisy answers, in their order.

    Raises:
        ValueError: There are too few or too many of them.

    Source:
        HV-E4.
    """
    replies = iter(answers)
    try:
        next(asking)
        while True:
            asking.send(next(replies))
    except StopIteration as end:
        if next(replies, None) is not None or end.value is None:
            raise ValueError("the answers are not those of the day's questions") from None
        estimate: Estimate = end.value
        return estimate
