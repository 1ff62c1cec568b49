"""Budget report: summarises what users have lost and have left, without naming any user."""

import datetime as dt
from collections import Counter
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from statistics import quantiles

from tasks.account.budgets import Account
from tasks.account.chain import charges
from tasks.account.entry import Entry
from tasks.account.in_words import in_days, promise_in_words
from tasks.base.config import Config
from tasks.base.config_source import WHO
from tasks.base.errors import contained

_N_BARS = 10


@dataclass(frozen=True)
class BudgetReport:
    """What users have lost and have left, without naming any user; losses are shown as epsilons.

    In pure epsilon they are exact. In zCDP they are rounded up, what is left is rounded down, and they do not add up.

    Attributes:
        n_users: Number of users that have lost anything.
        worst_total: The worst user's loss by all releases.
        worst_used: The part of the worst user's losses that counts against the limit on the day after the last one.
        left: What that leaves of the limit.
        n_days_left: How many days in full that pays, if every user of them loses the most that a day may cost.
        statement: The guarantee of everything released so far, in a sentence.
        deciles: Smallest, each tenth, and largest of the users' losses by all releases; empty without users.
        bars: For each tenth of the worst total, its ends, and the number of users who lost at most that and more than
            the one before.
    """

    n_users: int
    worst_total: str
    worst_used: str
    left: str
    n_days_left: int
    statement: str
    deciles: list[float]
    bars: list[tuple[float, float, int]]

    @property
    def pays_in_words(self) -> str:
        """How many more days in full the budget pays."""
        return f"pays {in_days(self.n_days_left)} in full"

    @property
    def deciles_in_words(self) -> list[str]:
        """The deciles as text of three digits, rounded up: no loss is shown below what it is."""
        up = Context(prec=3, rounding=ROUND_CEILING)
        return [format(up.create_decimal(repr(loss)).normalize(), "f") for loss in self.deciles]


@contained
def report_budget(entries: list[Entry], config: Config) -> BudgetReport:
    """Return where the users' budgets stand after the ledger's entries."""
    account = Account(entries, config)
    currency = account.currency
    dates = [entry.date for entry in charges(entries)]
    tomorrow = max(dates, default=dt.date.min) + dt.timedelta(days=1)
    used = max(account.used(tomorrow).values(), default=0) if entries else 0
    losses, who = sorted(account.total.values()), WHO[config.columns.user_is]
    worst = losses[-1] if losses else 0
    inner = quantiles(losses, n=_N_BARS, method="inclusive") if len(losses) > 1 else losses * (_N_BARS - 1)
    bars = Counter(max(1, -(-loss * _N_BARS // worst)) for loss in losses)
    ends = [float(currency.epsilon(worst * number // _N_BARS)) for number in range(_N_BARS + 1)]
    return BudgetReport(
        n_users=len(losses),
        worst_total=format(currency.epsilon(worst), "f"),
        worst_used=format(currency.epsilon(used), "f"),
        left=format(currency.epsilon_left(config.budget.epsilon_total, used), "f"),
        n_days_left=max(0, account.limit - used) // config.privacy.loss_per_day,
        statement=f"Everything released so far together is {currency.in_words(worst)} for each {who}, if its amounts "
        f"were fixed in advance. The promise is the limit: each {who} loses at most "
        f"{promise_in_words(currency, config.budget, used)}."
        + ("" if currency.name == "pure" else " Losses are counted in rho, which adds up; epsilons do not."),
        deciles=[float(currency.epsilon(int(loss))) for loss in [*losses[:1], *inner, *losses[-1:]]],
        bars=[(ends[number - 1], ends[number], bars[number]) for number in range(1, _N_BARS + 1)],
    )
