"""How it is said what users lose and what the budget pays: the promise, a day in part, days to come."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from dpmath.core.currency import Currency
from tasks.base.config import Config
from tasks.base.config_sections import Budget
from tasks.base.config_source import UserIs
from tasks.base.owner import Spender

PAID_IN_PART = "paid_in_part"
"""The field of the entry of a release that the budget did not pay in full; no other has it."""
_PROTECTED: dict[UserIs | None, str] = {
    None: "each user, all values of the day",
    "spelling": "each user, as its id is written, all values of the day",
    "day": "each user of one day, all values of that day",
    "record": "each record, its value",
}


def promise_in_words(currency: Currency, budget: Budget, used: int) -> str:
    """Return what no user loses more than: the limit, or more that counted against it before it was lowered."""
    window = f" for any {budget.window_days} days" if budget.window_days else " for everything ever released"
    return currency.in_words(max(currency.within(budget.epsilon_total), used)) + window


def so_far_in_words(currency: Currency, of_day: int, total: int, user_is: UserIs | None) -> str:
    """Return how the guarantee begins, however the program words the rest."""
    day, everything = currency.in_words(of_day), currency.in_words(total)
    return f"{_PROTECTED[user_is]}: {day}; everything released so far together: {everything}"


def guarantee_in_words(currency: Currency, config: Config, of_day: int, total: int, used: int) -> str:
    """Return the guarantee of a day and of all releases, in a sentence, from what they cost the worst user.

    Args:
        currency: What losses are counted in.
        config: Says the limit, and whom it protects.
        of_day: The largest loss by the day.
        total: The largest loss by everything released so far.
        used: The most that counts against the limit.
    """
    promise = promise_in_words(currency, config.budget, used)
    so_far = so_far_in_words(currency, of_day, total, config.columns.user_is)
    return f"{so_far} if its amounts were fixed in advance; the promise is the limit, {promise}"


def paid_in_part_in_words(stated: Mapping[str, Any]) -> str | None:
    """Return that the budget does not pay a day in full, in a sentence; None if nothing of that is stated."""
    part = stated.get(PAID_IN_PART)
    if part is None:
        return None
    return (
        f"Paid in part: {part['users_short']:,} of {part['users']:,} users have too little left of the budget. As a "
        f"mean over records, the day has {Decimal(part['share']):.1%} of epsilon_per_day."
    )


def in_days(n: int) -> str:
    """Return a number of days to come as text."""
    return f"{n:,} more day{'' if n == 1 else 's'}"


def describe_account(worst_total: int, worst_used: int, config: Spender) -> dict[str, str | None]:
    """Return how losses are counted, what all releases cost the worst user, and what is left of the limit."""
    currency, budget = config.privacy.currency, config.budget
    limit, in_window = currency.within(budget.epsilon_total), budget.window_days is not None
    return {
        "definition": currency.name,
        "delta": None if currency.delta is None else format(currency.delta, "f"),
        "loss_unit": f"2^-{currency.unit_bits}",
        "loss_total_after": str(worst_total),
        "loss_window_after": str(worst_used) if in_window else None,
        "loss_total_limit": str(limit),
        "loss_left": str(max(0, limit - worst_used)),
        "epsilon_total_after": in_digits(currency.epsilon(worst_total)),
        "epsilon_window_after": in_digits(currency.epsilon(worst_used)) if in_window else None,
        "epsilon_total_limit": str(budget.epsilon_total),
        "epsilon_left": in_digits(currency.epsilon_left(budget.epsilon_total, worst_used)),
    }


def in_digits(number: Decimal) -> str:
    """Return a number as an entry has it."""
    return format(number, "f")
