"""The account where presence is secret: flat. Each day costs everybody the same, for ever; no file names a user."""

import datetime as dt
from typing import Any

from tasks.account.amendments import check_budget
from tasks.account.entry import Entry
from tasks.account.in_words import describe_account, in_days, in_digits, promise_in_words
from tasks.account.presence_release import PresenceRelease, presence_releases
from tasks.account.witnesses import (
    check_marks,
    check_nothing_unpaid,
    check_same_users,
    mark_paid,
    marked_ids,
    published_folders,
)
from tasks.base.errors import BudgetExceeded
from tasks.presence.config import PresenceConfig


def check_account(entries: list[Entry], config: PresenceConfig) -> None:
    """Check that a further day may be added: same users and currency, no looser budget, a whole ledger.

    Raises:
        HexveilError: It may not.
        LedgerBroken: The ledger lacks what was paid.
    """
    check_same_users(entries, config)
    check_budget(entries, config)
    marked = marked_ids(config)
    check_marks(marked, entries, config)
    check_nothing_unpaid(published_folders(config), entries, config)
    mark_paid([one for one in presence_releases(entries) if one.release_id not in marked], config)


def check_paid(date: dt.date, entries: list[Entry], config: PresenceConfig) -> None:
    """Check that the budget pays a day in full. There is no day in part: all have as much left.

    Raises:
        BudgetExceeded: It does not.
    """
    currency, budget = config.privacy.currency, config.budget
    after = used_with(date, config.privacy.loss_per_day, entries, config)
    if after > currency.within(budget.epsilon_total):
        raise BudgetExceeded(
            f"{date} is withheld, and nothing was spent: budget.epsilon_total = {budget.in_words} has too little "
            f"left for privacy.epsilon_per_day = {config.privacy.epsilon_per_day}. `hexveil ledger show` says what it "
            "was spent on. Lower epsilon_per_day to what is left"
        )


def total(entries: list[Entry]) -> int:
    """Return what all releases cost everybody, in the currency's unit."""
    return sum(entry.loss for entry in presence_releases(entries))


def used_with(date: dt.date, loss: int, entries: list[Entry], config: PresenceConfig) -> int:
    """Return what counts against the limit if a day costs so much more: all, or the most within any window with it."""
    spent = [(entry.date, entry.loss) for entry in presence_releases(entries)]
    n_days = config.budget.window_days
    if n_days is None:
        return loss + sum(one for _, one in spent)
    ends = {date, *(day for day, _ in spent if 0 < (day - date).days < n_days)}
    return loss + max(sum(one for day, one in spent if 0 <= (end - day).days < n_days) for end in ends)


def described_cost(date: dt.date, loss: int, entries: list[Entry], config: PresenceConfig) -> dict[str, Any]:
    """Return what an entry states of the cost of a day, and of all with it."""
    currency = config.privacy.currency
    everything, used = total(entries) + loss, used_with(date, loss, entries, config)
    return {
        **describe_account(everything, used, config),
        "loss": str(loss),
        "epsilon": in_digits(currency.epsilon(loss)),
        "in_words": in_words(date, loss, entries, config),
    }


def in_words(date: dt.date, loss: int, entries: list[Entry], config: PresenceConfig) -> str:
    """Return what a day promises, and all released with it, in a sentence."""
    currency = config.privacy.currency
    of_day = loss + sum(entry.loss for entry in presence_releases(entries) if entry.date == date)
    whom = "each user of one day" if config.columns.user_is == "day" else "each user"
    everything = currency.in_words(total(entries) + loss)
    promise = promise_in_words(currency, config.budget, used_with(date, loss, entries, config))
    return (
        f"{whom}, that it was there at all, where, when and how often, and all its values of the day: "
        f"{currency.in_words(of_day)}; everything released so far together: "
        f"{everything} if its amounts were fixed in advance; the promise is the limit, {promise}"
    )


def account_in_words(entries: list[Entry], config: PresenceConfig) -> str:
    """Return what was spent and how many more days the budget pays, in a sentence."""
    currency, loss = config.privacy.currency, config.privacy.loss_per_day
    spent, limit = total(entries), currency.within(config.budget.epsilon_total)
    if config.budget.window_days is not None:
        return f"In all, everybody has lost {currency.in_words(spent)}. The budget is {config.budget.in_words}."
    more = in_days(max(0, limit - spent) // loss)
    return (
        f"In all, everybody has lost {currency.in_words(spent)}, there or not. The budget of "
        f"{config.budget.in_words} pays {more}."
    )


def of_day(date: dt.date, entries: list[Entry]) -> list[PresenceRelease]:
    """Return the releases of a day, its first and its revisions."""
    return [entry for entry in presence_releases(entries) if entry.date == date]
