"""A day that is being planned: its cells, its users, and what it asks of a mechanism. All of it is public."""

import datetime as dt
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

import polars as pl

from dpmath.core.accounting import ExactIntArray
from dpmath.core.bias import rounding_errors, variance_error
from dpmath.core.occupancy import Occupancy
from tasks.account.screenings import charges_within
from tasks.base.config import Config
from tasks.kinds.payment import Payment, payment_of_day
from tasks.proposals.request import Request


@dataclass(frozen=True)
class PlannedDay:
    """What a plan is made from: the cells with the owner's covariates, the users by keyed hash, and the request.

    ``charges`` are what it costs each user to screen the day, and ``payment`` is what of it users have left.
    """

    cells: pl.DataFrame
    user_hashes: list[str]
    charges: ExactIntArray
    payment: Payment
    request: Request

    @classmethod
    def of(
        cls,
        cells: pl.DataFrame,
        user_hashes: list[str],
        occupancy: Occupancy,
        budgets: ExactIntArray,
        config: Config,
    ) -> "PlannedDay":
        """Return a day if users may lose so much by it: the screening is paid first, the mechanism has the rest."""
        charges = charges_within(budgets, config)
        request = after_screening(request_of(occupancy, budgets - charges, config), charges, config)
        payment = payment_of_day(user_hashes, occupancy, budgets, config)
        return cls(cells, user_hashes, charges, payment, request)

    def with_budgets(self, budgets: ExactIntArray, config: Config) -> "PlannedDay":
        """Return the day if users may lose so much by it."""
        return PlannedDay.of(self.cells, self.user_hashes, self.request.occupancy, budgets, config)


@dataclass(frozen=True, eq=False)
class GridDay:
    """A day in some grid; each is itself alone, so what is made of it can be kept.

    Attributes:
        date: The local day.
        cells: One row per cell: slot_start, h3_cell.
        occupancy: Pairs of cell and user, numbered by the rows above.
        config: Gives the grid, the value, the definition and the limit of a day.
    """

    date: dt.date
    cells: pl.DataFrame
    occupancy: Occupancy
    config: Config

    def with_epsilon(self, epsilon: Decimal) -> "GridDay":
        """Return the day with another limit."""
        privacy = self.config.privacy.model_copy(update={"epsilon_per_day": epsilon})
        return replace(self, config=self.config.model_copy(update={"privacy": privacy}))


def request_of(occupancy: Occupancy, budgets: ExactIntArray | None, config: Config) -> Request:
    """Return what the configuration asks of its mechanism for an occupancy array.

    Args:
        occupancy: The occupancy array, L users.
        budgets: What each user may still lose, shape (L,); None is no limit.
        config: Says the bounds and the request.
    """
    n_ticks, privacy = config.value.n_ticks, config.privacy
    return Request(
        occupancy=occupancy,
        value_ranges=[n_ticks, n_ticks**2] if config.statistics.variance else [n_ticks],
        epsilon=Fraction(privacy.epsilon_per_day),
        target=promised_share(config),
        budgets=budgets,
        cell_epsilon=None if privacy.cell_epsilon is None else Fraction(privacy.cell_epsilon),
        currency=privacy.currency,
        noise=privacy.sum_noise,
        count=privacy.count or "records",
    )


def after_screening(request: Request, charges: ExactIntArray, config: Config) -> Request:
    """Return a request with what the screening leaves of a day's epsilon.

    Args:
        request: The request.
        charges: What the screening costs each user, shape (L,).
        config: Says what a day may cost.
    """
    if not charges.any():
        return request
    most = request.currency.within(config.privacy.epsilon_per_day) - max(charges)
    return replace(request, epsilon=Fraction(request.currency.epsilon_within(most)))


def promised_share(config: Config) -> Fraction | None:
    """Return the promised error of every published sum as a share of its range; None if nothing is promised."""
    privacy, span, tick = config.privacy, config.value.span, Fraction(config.value.tick)
    mean_rounding, variance_rounding = rounding_errors(config.value.n_ticks)
    shares = []
    if privacy.target_error is not None:
        shares.append((Fraction(privacy.target_error) - mean_rounding * tick) / span)
    if privacy.target_error_variance is not None:
        at_share_one = variance_error(span**2, span, span)
        shares.append((Fraction(privacy.target_error_variance) - variance_rounding * tick**2) / at_share_one)
    return min(shares, default=None)
