"""What of a day the budget pays: how many users have too little left, and which share of epsilon_per_day they have."""

import datetime as dt
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import polars as pl

from dpmath.core.accounting import ExactIntArray
from dpmath.core.occupancy import Occupancy
from tasks.account.entry import Stated
from tasks.account.in_words import PAID_IN_PART, paid_in_part_in_words
from tasks.base import frames
from tasks.base.config import Config
from tasks.base.errors import BudgetExceeded
from tasks.kinds.stored_plan import StoredPlan

_MOST_LOSSES = 4096
"""Of so many different losses each one's epsilon is computed. More of them are rounded down to parts of a full loss."""
_DIGITS = Decimal("0.0001")


@dataclass(frozen=True)
class Payment:
    """What of a day the budget pays.

    Attributes:
        budgets: One row per user: user_hash, n_records of the day, and loss_units, what the user may lose by it.
        n_short: How many of them have less left than a day may cost.
        share: What a user has left, as a share of epsilon_per_day of at most 1: its mean over the day's records.
    """

    budgets: pl.DataFrame
    n_short: int
    share: Decimal

    @property
    def n_users(self) -> int:
        """Number of users of the day."""
        return self.budgets.height

    def is_all_left(self, config: Config) -> bool:
        """Return whether no user of the day has spent anything: what is short is the budget itself."""
        return min(self.budgets["loss_units"], default=0) >= config.privacy.currency.within(config.budget.epsilon_total)

    @property
    def in_words(self) -> str | None:
        """That the budget does not pay the day in full, in a sentence; None if it does."""
        return paid_in_part_in_words(self.stated)

    @property
    def stated(self) -> Stated:
        """What the entry states of it: nothing of a day that is paid in full."""
        if not self.n_short:
            return {}
        return {PAID_IN_PART: {"users": self.n_users, "users_short": self.n_short, "share": f"{self.share:f}"}}


def payment_of_day(user_hashes: list[str], occupancy: Occupancy, left: ExactIntArray, config: Config) -> Payment:
    """Return what of a day is paid, from what each of its users has left, shape (L,)."""
    n_records = np.bincount(occupancy.user, occupancy.n_records, minlength=occupancy.n_users).astype(np.int64)
    full = config.privacy.loss_per_day
    units = frames.exact_series(_within_a_day(int(one), full) for one in left)
    budgets = pl.DataFrame({"user_hash": user_hashes, "n_records": n_records, "loss_units": units})
    return payment_of(budgets.sort("user_hash"), config)


def payment_of(budgets: pl.DataFrame, config: Config) -> Payment:
    """Return what of a day is paid, from one row per user, as in ``Payment``."""
    full, left = config.privacy.loss_per_day, [int(one) for one in budgets["loss_units"]]
    share = _share(left, budgets["n_records"].to_list(), config)
    return Payment(budgets, sum(one < full for one in left), share)


def check_payment(date: dt.date, payment: Payment, config: Config) -> None:
    """Check that enough of a day is paid.

    Raises:
        BudgetExceeded: Its share is below ``budget.least_share``.
    """
    least = config.budget.least_share
    if payment.share >= least:
        return
    if payment.is_all_left(config):
        raise BudgetExceeded(
            f"{date} is withheld, and nothing was spent: budget.epsilon_total = {config.budget.in_words} pays "
            f"{payment.share:.1%} of privacy.epsilon_per_day = {config.privacy.epsilon_per_day}, and "
            f"budget.least_share asks for {least:.1%}. None of its users has spent anything yet. Lower "
            "epsilon_per_day, or raise epsilon_total"
        )
    raise BudgetExceeded(
        f"{date} is withheld, and nothing was spent: {payment.n_short:,} of {payment.n_users:,} users have less left "
        f"of budget.epsilon_total = {config.budget.in_words} than privacy.epsilon_per_day = "
        f"{config.privacy.epsilon_per_day}. As a mean over records they can pay {payment.share:.1%} of it, and "
        f"budget.least_share asks for {least:.1%}. `hexveil ledger show` says what the budget was spent on. Lower "
        "epsilon_per_day to what is left, or lower least_share: then such a day is published, and says so."
    )


def unlike_account(plan: StoredPlan, left: Callable[[str], int], config: Config) -> str | None:
    """Return what in a plan's record of users' budgets is not so; None if nothing.

    Args:
        plan: The stored plan. It has such a record if a user is short.
        left: Returns what the account leaves to a user, before the release.
        config: Says what a day may cost.
    """
    full, of_pairs = config.privacy.loss_per_day, plan.pairs.group_by("user_hash").agg(pl.col("n_records").sum())
    if plan.budgets is None:
        short = any(left(user) < full for user in of_pairs["user_hash"])
        return "users have less left than a day may cost, and the plan does not say so" if short else None
    joined = of_pairs.join(plan.budgets, on="user_hash", how="left", suffix="_of_day")
    if not (joined["n_records"] <= joined["n_records_of_day"]).fill_null(value=False).all():
        return "the users' budgets are not those of the plan's users"
    if plan.budgets["n_records"].sum() != plan.cells["n_records"].sum():
        return "the users' budgets are not those of the day's records"
    held = plan.budgets.select("user_hash", "loss_units").iter_rows()
    if any(int(units) > _within_a_day(left(user), full) for user, units in held):
        return "the users' budgets are more than the account leaves"  # less, if a day planned before was not released
    return None


def paid(plan: StoredPlan, config: Config) -> Stated:
    """Return what the entry of a stored plan states of its payment."""
    return {} if plan.budgets is None else payment_of(plan.budgets, config).stated


def _within_a_day(left: int, full: int) -> int:
    return max(0, min(left, full))


def _share(left: list[int], n_records: list[int], config: Config) -> Decimal:
    """Return the mean over records of the epsilon of what their users have left, as a share of that of a day."""
    currency, full = config.privacy.currency, config.privacy.loss_per_day
    records = Counter[int]()
    for one, n in zip(left, n_records, strict=True):
        records[one] += n
    if len(records) > _MOST_LOSSES:
        step, coarse = full // _MOST_LOSSES + 1, Counter[int]()
        for one, n in records.items():
            coarse[one if one == full else one // step * step] += n
        records = coarse
    paid = sum(currency.epsilon(one) * n for one, n in records.items())
    return (Decimal(paid) / (currency.epsilon(full) * records.total())).quantize(_DIGITS)
