"""Backfill: what of a range of days is released, and how to spread a budget over it."""

import datetime as dt
import logging
from dataclasses import dataclass
from decimal import ROUND_DOWN, Context, Decimal
from fractions import Fraction

from dpmath.accounting import LOSS_UNITS
from tasks import ledger, private_files
from tasks.amendments import check_budget
from tasks.budget import Account
from tasks.chain import releases
from tasks.config import Config
from tasks.errors import BudgetExceeded, HexveilError
from tasks.identity import find_entry
from tasks.logs import say
from tasks.sections import LEAST_EPSILON_PER_DAY
from tasks.steps import step

_MOST_DAYS = 3660

log = logging.getLogger("hexveil.backfill")


@dataclass(frozen=True)
class ReleasedRange:
    """What has been released of a range of days.

    Attributes:
        dates: Every day, in order.
        released: Id of each release that has been made.
        problems: What is wrong with each day that was released as something else.
    """

    dates: list[dt.date]
    released: dict[dt.date, str]
    problems: dict[dt.date, str]


@step("released days of {config.dataset.name} {first} to {last}")
def released_days(first: dt.date, last: dt.date, config: Config) -> ReleasedRange:
    """Return which days of a range were released.

    Raises:
        HexveilError: The range is empty or longer than ten years, or days are to be released under a looser budget.
    """
    n_days = (last - first).days + 1
    if not 1 <= n_days <= _MOST_DAYS:
        raise HexveilError(f"the range from {first} to {last} must hold 1 to {_MOST_DAYS} days, not {n_days}")
    with ledger.locked(config):
        entries = ledger.read_entries(config)
    of_range = ReleasedRange([first + dt.timedelta(days=shift) for shift in range(n_days)], {}, {})
    for date in of_range.dates:
        try:
            entry = find_entry(date, None, entries, config)
        except HexveilError as error:
            of_range.problems[date] = str(error)
            continue
        if entry is not None:
            of_range.released[date] = entry["release_id"]
    if len(of_range.released) + len(of_range.problems) < n_days:
        check_budget(entries, config)
    return of_range


@step("spread the budget of {config.dataset.name}")
def spread_budget(dates: list[dt.date], config: Config) -> Config:
    """Return the configuration with an epsilon_per_day that every day of a range can be paid with in full.

    Days of the range that were released at no more than that are part of the spread, so that a backfill that was
    interrupted goes on with the same number.

    Args:
        dates: Every day of the range, released or not.
        config: Says the budget, and the most for a day.

    Raises:
        BudgetExceeded: Nothing is left to spread.
    """
    entries = releases(ledger.read_entries(config))
    spent = {dt.date.fromisoformat(one["date"]): _epsilon_per_day(one) for one in entries if one["revision"] is None}
    spread = set(dates)
    while True:
        epsilon = _even_share(spread, entries, config)
        dearer = {date for date in spread & spent.keys() if spent[date] > epsilon}
        if not dearer:
            break
        spread -= dearer
    privacy = config.privacy.model_copy(update={"epsilon_per_day": epsilon})
    if privacy.cell_epsilon is not None:  # as many cells as before, each at the same share of the day
        share = Fraction(privacy.cell_epsilon) * Fraction(epsilon) / Fraction(config.privacy.epsilon_per_day)
        privacy = privacy.model_copy(update={"cell_epsilon": _rounded_down(share)})
    say(log, "budget is spread", epsilon_per_day=epsilon, n_days=len(spread))
    return config.model_copy(update={"privacy": privacy})


def _even_share(spread: set[dt.date], entries: list[ledger.Entry], config: Config) -> Decimal:
    """Return what the budget leaves each of some days, after all releases but their first ones."""
    account = Account([], config)
    for entry in entries:
        date = dt.date.fromisoformat(entry["date"])
        if date not in spread or entry["revision"] is not None:
            account.add(date, private_files.losses(entry, config))
    used = max((max(account.used(date).values(), default=0) for date in spread), default=0)
    n_days = max(1, min(len(spread), config.budget.window_days or len(spread)))
    share = Fraction(max(0, account.limit - used), LOSS_UNITS * n_days)
    epsilon = _rounded_down(share)
    if epsilon < LEAST_EPSILON_PER_DAY:
        raise BudgetExceeded(
            f"too little is left of budget.epsilon_total = {config.budget.epsilon_total} to spread: some user of the "
            "dataset has spent it. Give --clip, which leaves such users out, or raise the budget."
        )
    return min(config.privacy.epsilon_per_day, epsilon)


def _rounded_down(share: Fraction) -> Decimal:
    """Return six digits of a share, none of them too many."""
    return Context(prec=6, rounding=ROUND_DOWN).divide(Decimal(share.numerator), Decimal(share.denominator))


def _epsilon_per_day(entry: ledger.Entry) -> Decimal:
    return Decimal(entry["settings"]["privacy"]["epsilon_per_day"])
