"""A day's private questions, one after the other: each is made from public numbers and the noisy answers before it."""

from collections.abc import Generator
from dataclasses import replace

import numpy as np

from dpmath.core.accounting import ExactIntArray
from dpmath.estimate import shrinkage
from dpmath.estimate.asked import Asked, Guess
from dpmath.estimate.day import FloatArray
from dpmath.estimate.design import RADIUS, as_measured, design, whole_numbers
from dpmath.estimate.law_programme import law_programme
from dpmath.estimate.level import Reading, level, reading_of
from dpmath.estimate.measurement import ROOM_BITS, Measurement
from dpmath.estimate.posterior import Design, Estimate, Taken, estimated, expected_after
from dpmath.estimate.questions import (
    LARGEST_DEVIATION,
    SHARE_BITS,
    Centre,
    Check,
    Measured,
    Question,
    Questions,
    Shrunk,
    Spread,
    check_limits,
)
from dpmath.estimate.state import POINTS, RESIDUAL_CLASSES, State, first_state
from dpmath.estimate.view import View, scale_of

Asking = Generator[Question, tuple[Question, ExactIntArray], Estimate]
"""Yields a question; is sent the question as it was asked, and its noisy answers; returns the estimate."""

LEVELS = ("level", "level again")
CHECKED_AT = 1.5
"""A pair is counted if it is this many standard deviations from its cell's estimate."""
_NORMAL_BEYOND = 0.1336144
_RISE = 1.5 * 0.1295176
"""How much the share beyond CHECKED_AT standard deviations rises with the log of the variance."""
_LARGEST_STEP = 1.5
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
    if state is None:
        view, coarse = yield from _measured(_seen((yield from _begun(asked)), asked), asked, "coarse")
        state = estimated(view, [coarse]).state
        view = _seen(replace(state, shrink=shrinkage.of_other_questions(view.state.shrink)), asked)
    else:
        view = _seen(state.later(asked.n_days).with_hexagons(asked.day), asked)
        for name in LEVELS:
            earlier.append((yield from _levelled(view, asked, name)))
            view = expected_after(view, earlier)
    view, last = yield from _measured(view, asked, "map")
    found = yield from _checked(estimated(view, [*earlier, last]), asked)
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


def _levelled(view: View, asked: Asked, name: str) -> Generator[Question, tuple[Question, ExactIntArray], Taken]:
    """Ask how far users are from what is expected of them.

    If a day differs much as a whole, vectors of the map would all be cut, and the map be off by what is lost.
    """
    meant = level(view, asked.reach, asked.noise(name) / RADIUS, name == LEVELS[0])
    question, answers = yield Measured(_numbers(meant, view, asked, name))
    most = max(float(asked.radius.sum()), 1.0)
    reading = reading_of(int(answers[0]) / most, view, meant.length, asked.noise(name) / most)
    return _taken(view, asked, name, question, answers, reading)


def _measured(
    view: View, asked: Asked, name: str
) -> Generator[Question, tuple[Question, ExactIntArray], tuple[View, Taken]]:
    """Ask the large measurement and the mean room of its vectors; return the view with what it tells, and the sums."""
    meant = design(view, asked.norm, asked.noise(name) / RADIUS, asked.reach)
    question, answers = yield Measured(_numbers(meant, view, asked, name))
    _, (total,) = yield Shrunk(asked.sums(f"{name} shrink", 1 << ROOM_BITS))
    room, deviation = asked.share_of(f"{name} shrink", int(total), 1 << ROOM_BITS)
    shrink, reach = view.state.shrink, asked.reach
    if reach.any():
        variance = deviation**2 + _ROOM_VARIANCE * float((reach**2).sum() / reach.sum() ** 2)
        shrink = shrinkage.updated(shrink, room, variance, meant.length)
    kept = shrinkage.kept(shrink, meant.length, meant.part)
    taken = _taken(view, asked, name, question, answers, Reading(kept.share, 1.0, kept.error))
    return replace(view, state=replace(view.state, shrink=shrink)), taken


def _numbers(meant: Design, view: View, asked: Asked, name: str) -> Measurement:
    inverse_scale = asked.charges[name].inverse_scale
    return whole_numbers(meant, view, asked.value_range, asked.radius, inverse_scale, asked.norm)


def _taken(view: View, asked: Asked, name: str, question: Question, answers: ExactIntArray, reading: Reading) -> Taken:
    """Return the sums of a measurement, of which balls keep a share, about the centre of the values."""
    if not isinstance(question, Measured):
        raise ValueError("the answers are not those of a measurement")
    done = as_measured(question.measurement)
    np.multiply(done.loading, reading.share, out=done.loading)  # they are many
    centre = question.measurement.centre * (POINTS / asked.value_range)
    sums = np.array([int(one) for one in answers], dtype=float) / RADIUS
    expected = (view.strata.pair_sums(done.weight) * (centre - view.state.centre)) @ done.loading
    return Taken(done, sums + expected, reading.noise * asked.noise(name) / RADIUS, expected, reading.error)


def _checked(found: Estimate, asked: Asked) -> Generator[Question, tuple[Question, ExactIntArray], Estimate]:
    """Ask how many pairs are far from the estimate, and return it with intervals that allow for that."""
    view, occupancy = found.view, asked.day.occupancy
    n_classes = RESIDUAL_CLASSES[0] * RESIDUAL_CLASSES[1]
    of_mean = np.maximum(found.variance - found.residual_part, 0.0)[occupancy.cell]
    residual = found.residual_variance
    deviation = np.sqrt(residual + of_mean)
    in_ticks = asked.value_range / POINTS
    limit = check_limits(occupancy, view.residual_class, n_classes, asked.norm)
    of_strata = np.clip(view.strata.values(found.mean, view.today.mean), 0.0, POINTS)
    check = Check(
        asked.sums("check", limit),
        np.rint(of_strata * in_ticks).astype(np.int64)[view.strata.of_pair],
        np.rint(CHECKED_AT * deviation * occupancy.n_records * in_ticks).astype(np.int64),
        view.residual_class,
    )
    question, answers = yield check
    if not isinstance(question, Check):
        raise ValueError("the answers are not those of a check")
    weight = question.sums.limit / (1 << ROOM_BITS)
    counted = np.array([int(one) for one in answers], dtype=float) / (1 << ROOM_BITS)
    noise = asked.noise("check") / (1 << ROOM_BITS)
    share = np.zeros(weight.shape)  # of the variance that is residual, as a mean over each user's pairs of a class
    n_pairs = np.zeros(weight.shape)
    np.add.at(share, (occupancy.user, view.residual_class), residual / deviation**2)
    np.add.at(n_pairs, (occupancy.user, view.residual_class), 1)
    response = _RISE * (weight * share / np.maximum(n_pairs, 1)).sum(axis=0)
    sampling = _NORMAL_BEYOND * (weight**2 / np.maximum(n_pairs, 1)).sum(axis=0)
    return _widened(found, view, counted - _NORMAL_BEYOND * weight.sum(axis=0), response, noise**2 + sampling)


def _widened(found: Estimate, view: View, surplus: FloatArray, response: FloatArray, variance: FloatArray) -> Estimate:
    """Return an estimate whose intervals and next state have the residual variances that the check tells of.

    Args:
        found: The estimate.
        view: The day as it was expected.
        surplus: How much more of each class was far from the estimate than expected, shape (n,).
        response: How much the surplus rises with the log of the class's residual variance, shape (n,).
        variance: Variance of the surplus, shape (n,).
    """
    state = found.state
    covariance = state.residual_covariance
    gain = np.linalg.solve(
        np.diag(variance) + (response[:, None] * covariance) * response, response[:, None] * covariance
    )
    step = np.clip(gain.T @ surplus, -_LARGEST_STEP, _LARGEST_STEP)
    after = covariance - gain.T @ (response[:, None] * covariance)
    factor = np.exp(step + np.diag(after - covariance) / 2)[view.residual_class]
    n_records = view.day.occupancy.n_records
    mean = float(np.average(factor, weights=n_records))  # of what earlier sums are thought to have had too
    told = tuple(replace(one, residual=mean * one.residual) for one in state.told)
    after = replace(
        state, told=told, residual=state.residual + step, residual_covariance=after, n_days=state.n_days + 1
    )
    residual = found.residual_variance * factor
    occupancy = view.day.occupancy
    part = np.bincount(occupancy.cell, view.share_of_cell**2 * residual, occupancy.n_cells).astype(float)
    after_day, before_day = (
        np.maximum(one - found.residual_part, 0.0) + part for one in (found.variance, found.variance_before)
    )
    return replace(
        found,
        state=after,
        variance=after_day,
        variance_before=before_day,
        residual_variance=residual,
        residual_part=part,
    )


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
