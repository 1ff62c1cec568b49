"""What a day may ask: its charges and each user's ball, from the limit of a day and what each user loses by it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpmath.estimate.charges import charges, limit_of, reach_of
from dpmath.estimate.day import Day
from dpmath.estimate.measurement import Norm
from dpmath.estimate.programme import Asked
from dpmath.estimate.state import State
from tasks.account.screenings import full_charges
from tasks.base.config import Config


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
    """Return the norm of the balls: l2 with Gaussian noise in zCDP, l1 with Laplace noise in pure epsilon."""
    return "l2" if config.privacy.definition == "zcdp" else "l1"


def asked_of(day: Day, losses: Sequence[int], known: Known, config: Config) -> Asked:
    """Return what a day's questions are made from.

    Args:
        day: The day.
        losses: What the day is charged to each user, in the account's unit.
        known: What is known before.
        config: Gives the limit of a day, the ticks and the covariates.
    """
    return _asked(day, losses, known.state is None, known.n_days, config)


def asked_later(day: Day, config: Config) -> Asked:
    """Return what the questions of a day that is not the first would be made from, if no user were short of budget.

    Screening the day is paid first, as in a plan.
    """
    most = config.privacy.loss_per_day
    losses = most - full_charges(day.occupancy.n_users, config)
    return _asked(day, losses.tolist(), first=False, n_days=1, config=config)


def _asked(day: Day, losses: Sequence[int], first: bool, n_days: int, config: Config) -> Asked:
    budgets, norm = np.array(losses, dtype=object), norm_of(config)
    limit = limit_of(budgets, config.privacy.loss_per_day, norm)
    return Asked(
        day=day,
        value_range=config.value.n_ticks,
        radius=reach_of(budgets, limit, day.occupancy.n_users, norm),
        charges={charge.name: charge for charge in charges(first, limit, norm)},
        norm=norm,
        of_occupancy=config.estimate.occupancy_covariates,
        similar_cells=config.estimate.similar_cells,
        n_days=n_days,
    )
