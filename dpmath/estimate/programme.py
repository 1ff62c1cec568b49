"""A day's private questions, one after the other: each is made from public numbers and the noisy answers before it."""

from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dpmath.core.accounting import LOSS_UNITS, ExactIntArray
from dpmath.core.occupancy import IntArray
from dpmath.estimate import shrinkage
from dpmath.estimate.basis import Basis, fit_basis
from dpmath.estimate.bounded_sums import BoundedSums
from dpmath.estimate.charges import Charge
from dpmath.estimate.covariates import covariates
from dpmath.estimate.day import Day, FloatArray
from dpmath.estimate.design import RADIUS, as_measured, design, whole_numbers
from dpmath.estimate.likelihood import ON_FIRST_DAY, ON_LATER_DAY, Ladders
from dpmath.estimate.measurement import ROOM_BITS, Norm
from dpmath.estimate.posterior import Estimate, estimated
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

CHECKED_AT = 1.5
"""A pair is counted if it is this many standard deviations from its cell's estimate."""
_NORMAL_BEYOND = 0.1336144
_RISE = 1.5 * 0.1295176
"""How much the share beyond CHECKED_AT standard deviations rises with the log of the variance."""
_LARGEST_STEP = 1.5
_ROOM_VARIANCE = 0.1
"""Of the room of one user's vector about the mean."""
_EXPECTED_CENTRE = (50.0, 25.0)
_EXPECTED_LOG2_SCALE = (-3.0, 1.5)


@dataclass(frozen=True)
class Asked:
    """What the questions of a day are made from, apart from the state.

    Attributes:
        day: The day.
        value_range: Largest value of a record, in ticks.
        radius: Radius of each user's ball, shape (L,).
        charges: The charge of each question, by name.
        norm: The norm of the balls.
        of_occupancy: Whether covariates of the occupancy are used.
        similar_cells: Whether a cell is taken to be similar to its neighbours in place and time.
        n_days: How many days ago the state was that of.
    """

    day: Day
    value_range: int
    radius: IntArray
    charges: dict[str, Charge]
    norm: Norm
    of_occupancy: bool = True
    similar_cells: bool = True
    n_days: int = 1

    @cached_property
    def covariates(self) -> FloatArray:
        """The covariates of each cell, shape (G, n)."""
        return covariates(self.day, self.of_occupancy)

    @cached_property
    def basis(self) -> Basis:
        """The functions of a dataset whose first day this is."""
        return fit_basis(self.day, self.covariates, self.similar_cells)

    @property
    def reach(self) -> FloatArray:
        """Radius of each user's ball, as a share of the full radius, shape (L,)."""
        return self.radius / RADIUS

    def noise(self, name: str) -> float:
        """Return the standard deviation of a question's noise."""
        scale = LOSS_UNITS / self.charges[name].inverse_scale
        return scale if self.norm == "l2" else float(np.sqrt(2)) * scale

    def sums(self, name: str, limit: IntArray | int) -> BoundedSums:
        """Return sums of numbers within limits, by the reach of each user: who is short of budget counts for less."""
        limits = np.broadcast_to(np.atleast_2d(limit), (self.radius.size, np.atleast_2d(limit).shape[1]))
        return BoundedSums(limits * self.radius[:, None] // RADIUS, self.charges[name].inverse_scale, self.norm)

    def share_of(self, name: str, total: int, limit: int) -> tuple[float, float]:
        """Return the noisy mean over users of a number from 0 to a limit, as a share of it, and its standard deviation.

        Users count by their reach. Where nobody has any, the deviation is infinite.
        """
        whole = float(self.reach.sum()) * limit
        return (total / whole, self.noise(name) / whole) if whole else (0.0, np.inf)


def programme(state: State | None, asked: Asked) -> Asking:
    """Ask a day's questions and return its estimate.

    Args:
        state: The state before the day; None on the first day.
        asked: The day, and what each question may cost.

    Source:
        HV-E4.
    """
    if state is None:
        state = yield from _begun(asked)
        state = (yield from _measured(_seen(state, asked), asked, "coarse", ON_FIRST_DAY)).state.rescaled()
        state, raised = state.with_rest_by_place()
        state = replace(state, shrink=shrinkage.of_other_questions(state.shrink))
        taken_back = {"own": (1 / raised, *ON_FIRST_DAY["own"])} if raised > 1 else {}
        return (yield from _checked(_seen(state, asked), asked, {**ON_FIRST_DAY, **taken_back}))
    return (yield from _checked(_seen_later(state, asked), asked, ON_LATER_DAY))


def _seen(state: State, asked: Asked) -> View:
    return View.of(asked.day, state, asked.covariates)


def _seen_later(state: State, asked: Asked) -> View:
    """Return the day as the state of an earlier day expects it."""
    return _seen(state.later(asked.n_days).with_hexagons(asked.day), asked)


def _begun(asked: Asked) -> Generator[Question, tuple[Question, ExactIntArray], State]:
    """Ask for the values' centre and scale, and return the first state."""
    day, basis = asked.day, asked.basis  # before the first question: what is public fails before anything is drawn
    _, (total,) = yield Centre(asked.sums("centre", 1 << SHARE_BITS), asked.value_range)
    share, noise = asked.share_of("centre", int(total), 1 << SHARE_BITS)
    mean, spread = _EXPECTED_CENTRE
    kept = spread**2 / (spread**2 + (noise * POINTS) ** 2)
    centre = mean + kept * (share * POINTS - mean)

    about = round(float(np.clip(centre, 0.0, POINTS)) / POINTS * (1 << SHARE_BITS))
    _, (total,) = yield Spread(asked.sums("spread", LARGEST_DEVIATION), asked.value_range, about)
    share, noise = (0.5 * POINTS * one for one in asked.share_of("spread", int(total), LARGEST_DEVIATION))
    log2, log2_spread = _log2_scale(share, noise, spread**2 * (1 - kept))
    scale = scale_of(day.occupancy, POINTS * 2 ** (log2 + 0.5 * log2_spread))
    return first_state(day, basis, centre, spread**2 * (1 - kept), scale, (log2_spread * np.log(2)) ** 2)


def _log2_scale(measured: float, noise: float, centre_variance: float) -> tuple[float, float]:
    """Return mean and standard deviation of log2(scale / range), from the noisy mean of users' deviations.

    These are from where the centre is supposed to be, so the error of that is in each of them.
    """
    mean, spread = _EXPECTED_LOG2_SCALE
    ladder = np.linspace(-10, -1, 361)
    expected = np.sqrt((POINTS * 2**ladder) ** 2 + centre_variance)
    fit = -0.5 * ((ladder - mean) / spread) ** 2 - 0.5 * ((measured - expected) / noise) ** 2
    weight = np.exp(fit - fit.max())
    weight /= weight.sum()
    found = float(weight @ ladder)
    return found, float(np.sqrt(weight @ (ladder - found) ** 2))


def _measured(
    view: View, asked: Asked, name: str, chosen: Ladders
) -> Generator[Question, tuple[Question, ExactIntArray], Estimate]:
    """Ask the large measurement and the mean room of its vectors, and return the estimate from both."""
    state, strata, noise = view.state, view.strata, asked.noise(name) / RADIUS
    meant = design(view, asked.norm, noise, asked.reach)
    scale = asked.charges[name].inverse_scale
    numbers = whole_numbers(meant, view, asked.value_range, asked.radius, scale, asked.norm)
    question, answers = yield Measured(numbers)
    if not isinstance(question, Measured):
        raise ValueError("the answers are not those of a measurement")
    _, (total,) = yield Shrunk(asked.sums(f"{name} shrink", 1 << ROOM_BITS))
    room, deviation = asked.share_of(f"{name} shrink", int(total), 1 << ROOM_BITS)
    shrink, reach = state.shrink, asked.reach
    if reach.any():
        variance = deviation**2 + _ROOM_VARIANCE * float((reach**2).sum() / reach.sum() ** 2)
        shrink = shrinkage.updated(shrink, room, variance, meant.length)
    kept = shrinkage.kept(shrink, meant.length, meant.part)
    done = as_measured(question.measurement)
    done = replace(done, loading=done.loading * kept.share)
    weighed = strata.weighed(done.weight)
    expected = np.clip(weighed.values(view.expected, state.mean), 0.0, POINTS)
    off = expected - question.measurement.centre * (POINTS / asked.value_range)  # centres are whole ticks
    sums = np.array([int(one) for one in answers], dtype=float) / RADIUS
    sums -= (strata.pair_sums(done.weight) * off) @ done.loading
    found = estimated(view, done, sums, noise, kept.error, chosen)
    return replace(found, state=replace(found.state, shrink=shrink))


def _checked(
    view: View, asked: Asked, chosen: Ladders
) -> Generator[Question, tuple[Question, ExactIntArray], Estimate]:
    """Ask the measurement of the map, then how many pairs are far from it, and return the estimate."""
    found = yield from _measured(view, asked, "map", chosen)
    occupancy = asked.day.occupancy
    n_classes = RESIDUAL_CLASSES[0] * RESIDUAL_CLASSES[1]
    of_mean = np.maximum(found.variance - found.residual_part, 0.0)[occupancy.cell]
    residual = view.residual_variance * found.residual_factor
    deviation = np.sqrt(residual + of_mean)
    in_ticks = asked.value_range / POINTS
    limit = check_limits(occupancy, view.residual_class, n_classes, asked.norm)
    of_strata = np.clip(view.strata.values(found.mean, found.state.mean), 0.0, POINTS)
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
    widened = _widened(found, view, counted - _NORMAL_BEYOND * weight.sum(axis=0), response, noise**2 + sampling)
    state = widened.state.rescaled(view.state.scale_error[1])
    return replace(widened, state=state.with_places_as_told().with_days_as_told())


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
    shift = 0.5 * np.log(found.residual_factor)
    residual = state.residual + shift + np.clip(gain.T @ surplus, -_LARGEST_STEP, _LARGEST_STEP)
    after = replace(
        state, residual=residual, residual_covariance=covariance - gain.T @ (response[:, None] * covariance)
    )
    wider = replace(view, state=replace(view.state, residual=residual, residual_covariance=after.residual_covariance))
    occupancy = view.day.occupancy
    part = np.bincount(occupancy.cell, view.share_of_cell**2 * wider.residual_variance, occupancy.n_cells).astype(float)
    after_day, before_day = (
        np.maximum(one - found.residual_part, 0.0) + part for one in (found.variance, found.variance_before)
    )
    return replace(
        found,
        state=replace(after, n_days=after.n_days + 1),
        variance=after_day,
        variance_before=before_day,
        residual_variance=wider.residual_variance,
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
