"""What a day may ask: its charges and each user's ball, from the limit of a day and what each user loses by it."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpmath.estimate.asked import Asked, Guess
from dpmath.estimate.charges import charges, limit_of, reach_of
from dpmath.estimate.day import Day
from dpmath.estimate.law_charges import FIRST, LATER, law_charges, limit_of_map, tells
from dpmath.estimate.measurement import Norm
from dpmath.estimate.state import POINTS, State
from tasks.account.screenings import full_charges
from tasks.base.config import Config

_LOG2_OF_GUESS = 1.0
"""How far the log2 of a guessed spread may be off: a factor of two either way."""


@dataclass(frozen=True)
class Known:
    """What is known before a release.

    Attributes:
        state: The state; None if nothing fits.
        name: The hash of its file; None if there is none.
        n_releases: How many releases it is made from.
        n_days: How many days ago it was, at least 1, in whichever order days are released.
    """

    state: State | None
    name: str | None
    n_releases: int
    n_days: int


def norm_of(config: Config) -> Norm:
    """Return the norm of the balls: l1 with Laplace noise in pure epsilon, else l2 with Gaussian noise."""
    return "l1" if config.privacy.definition == "pure" else "l2"


def asked_of(day: Day, losses: Sequence[int], known: Known, config: Config) -> Asked:
    """Return what a day's questions are made from.

    Args:
        day: The day.
        losses: What the day is charged to each user, in the account's unit.
        known: What is known before.
        config: Gives the limit of a day, the ticks and the covariates.
    """
    known_law = known.state is not None and known.state.shapes is not None
    return _asked(day, losses, known.state is None, known.n_days, config, known_law)


def asked_later(day: Day, config: Config) -> Asked:
    """Return what the questions of a day that is not the first would be made from, if no user were short of budget.

    Screening the day is paid first, as in a plan.
    """
    most = config.privacy.loss_per_day
    losses = most - full_charges(day.occupancy.n_users, config)
    return _asked(day, losses.tolist(), first=False, n_days=1, config=config, known_law=True)


def _asked(day: Day, losses: Sequence[int], first: bool, n_days: int, config: Config, known_law: bool) -> Asked:
    budgets, norm = np.array(losses, dtype=object), norm_of(config)
    limit = limit_of(budgets, config.privacy.loss_per_day, norm)
    radius = reach_of(budgets, limit, day.occupancy.n_users, norm)
    asks_law = config.statistics.of_laws and tells(limit, radius)
    of_law = (LATER if known_law else FIRST) if asks_law else {}
    of_day = (*charges(first, limit_of_map(limit, of_law), norm), *law_charges(limit, of_law))
    return Asked(
        day=day,
        value_range=config.value.n_ticks,
        radius=radius,
        charges={charge.name: charge for charge in of_day},
        norm=norm,
        of_occupancy=config.estimate.occupancy_covariates,
        similar_cells=config.estimate.similar_cells,
        n_days=n_days,
        guess=_guess_of(config),
        limits=limits_in_points(config) if asks_law else None,
    )


def limits_in_points(config: Config) -> tuple[float, ...]:
    """Return the limits above which shares are published, in points."""
    lower, span = Fraction(config.value.lower), config.value.span
    return tuple(float((Fraction(limit) - lower) / span * int(POINTS)) for limit in config.statistics.limits)


def _guess_of(config: Config) -> Guess:
    """Return what the owner guesses of values, in points."""
    value, usual = config.value, Guess()
    point = float(value.span) / POINTS
    typical = usual.centre if value.typical is None else float(value.typical - value.lower) / point
    if value.spread is None:
        return Guess(centre=typical)
    spread = float(value.spread) / point
    return Guess(typical, max(spread, usual.deviation if value.typical is None else 0.0), spread, _LOG2_OF_GUESS)
