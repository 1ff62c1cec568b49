"""Spread what is left of a budget evenly over a range of days."""

import datetime as dt
import logging
from decimal import ROUND_DOWN, Context, Decimal
from fractions import Fraction

from tasks.account import ledger, private_files
from tasks.account.budgets import Account
from tasks.account.chain import charges, releases
from tasks.account.definitions import check_definition
from tasks.account.entry import Entry
from tasks.account.stopped import Stopped, stops
from tasks.base.config import Config
from tasks.base.config_privacy import LEAST_EPSILON_PER_DAY
from tasks.base.errors import BudgetExceeded
from tasks.base.logs import say
from tasks.base.steps import step

log = logging.getLogger("hexveil.backfill")


@step("spread the budget of {config.dataset.name}")
def spread_budget(dates: list[dt.date], config: Config) -> Config:
    """Return the configuration with the epsilon_per_day that the budget can pay for every day of a range in full.

    Days of the range that were released with at most that epsilon are part of the spread. So an interrupted backfill
    continues with the same number.

    Args:
        dates: Every day of the range, released or not.
        config: Says the budget, and the most for a day.

    Raises:
        BudgetExceeded: Nothing is left to spread.
    """
    entries = ledger.read_entries(config)
    check_definition(entries, config)
    spent = {
        one.date: one.epsilon_per_day if one.currency == config.privacy.currency else Decimal("Infinity")
        for one in releases(entries)
        if one.revision is None
    }
    spread, past = set(dates), list[Stopped]()
    while True:
        epsilon = _even_share(spread, past, entries, config)
        spending = _with_epsilon(epsilon, config)
        dearer = {date for date in spread & spent.keys() if spent[date] > epsilon}
        asked_otherwise = [one for one in stops(entries) if one.settings != spending.public_settings()]
        if not dearer and all(one in past for one in asked_otherwise):
            break
        spread -= dearer
        past += [one for one in asked_otherwise if one not in past]
    say(log, "budget is spread", epsilon_per_day=epsilon, n_days=len(spread))
    return spending


def _with_epsilon(epsilon: Decimal, config: Config) -> Config:
    """Return the configuration with another epsilon of a day: as many cells, each with the same share of the day."""
    privacy = config.privacy.model_copy(update={"epsilon_per_day": epsilon})
    if privacy.cell_epsilon is not None:
        share = Fraction(privacy.cell_epsilon) * Fraction(epsilon) / Fraction(config.privacy.epsilon_per_day)
        privacy = privacy.model_copy(update={"cell_epsilon": _rounded_down(share)})
    return config.model_copy(update={"privacy": privacy})


def _even_share(spread: set[dt.date], past: list[Stopped], entries: list[Entry], config: Config) -> Decimal:
    """Return what the budget leaves for each of some days, after all releases except the first ones of these days.

    A stop of one of these days is part of its share, unless it is one of the ``past``: the day will be asked again.
    """
    account = Account([], config)
    for entry in charges(entries):
        date = entry.date
        if date not in spread or entry.revision is not None or entry in past:
            account.add(date, private_files.losses(entry, config))
    used = max((max(account.used(date).values(), default=0) for date in spread), default=0)
    n_days = max(1, min(len(spread), config.budget.window_days or len(spread)))
    epsilon = account.currency.epsilon_within(max(0, account.limit - used) // n_days)
    if epsilon < LEAST_EPSILON_PER_DAY:
        raise BudgetExceeded(
            f"too little is left of budget.epsilon_total = {config.budget.epsilon_total} to spread: some user of the "
            "dataset has spent it. Give --clip, which leaves such users out, or raise the budget."
        )
    return min(config.privacy.epsilon_per_day, epsilon)


def _rounded_down(share: Fraction) -> Decimal:
    """Return a share rounded down to six digits."""
    return Context(prec=6, rounding=ROUND_DOWN).divide(Decimal(share.numerator), Decimal(share.denominator))
