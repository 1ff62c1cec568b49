"""Budget report: where the users' budgets stand, naming nobody."""

import datetime as dt
from collections import Counter
from dataclasses import dataclass
from statistics import quantiles

from dpmath.core.accounting import LOSS_UNITS
from dpmath.core.privacy_loss import PureLoss
from tasks.account.budgets import Account
from tasks.account.chain import releases
from tasks.account.entry import Entry
from tasks.base.config import Config
from tasks.base.errors import contained

_N_BARS = 10


@dataclass(frozen=True)
class BudgetReport:
    """Where the users' budgets stand, naming nobody; losses as exact decimal numbers.

    Attributes:
        n_users: Users that have lost anything.
        worst_total: What the worst user has lost by everything released.
        worst_used: What counts of the worst user's losses against the limit for the day after the last one.
        left: What that leaves.
        deciles: Least, each tenth, and largest of the users' losses by everything released; empty without users.
        bars: How many users have lost at most each tenth of the worst total, and more than the tenth before.
    """

    n_users: int
    worst_total: str
    worst_used: str
    left: str
    deciles: list[float]
    bars: list[int]


@contained
def report_budget(entries: list[Entry], config: Config) -> BudgetReport:
    """Return where the users' budgets stand after the ledger's entries."""
    account = Account(entries, config)
    dates = [entry.date for entry in releases(entries)]
    tomorrow = max(dates, default=dt.date.min) + dt.timedelta(days=1)
    used = max(account.used(tomorrow).values(), default=0) if entries else 0
    losses = sorted(account.total.values())
    worst = losses[-1] if losses else 0
    inner = quantiles(losses, n=_N_BARS, method="inclusive") if len(losses) > 1 else losses * (_N_BARS - 1)
    bars = Counter(max(1, -(-loss * _N_BARS // worst)) for loss in losses)
    return BudgetReport(
        n_users=len(losses),
        worst_total=str(PureLoss(worst)),
        worst_used=str(PureLoss(used)),
        left=str(PureLoss(used).left_of(PureLoss(account.limit))),
        deciles=[loss / LOSS_UNITS for loss in [*losses[:1], *inner, *losses[-1:]]],
        bars=[bars[number] for number in range(1, _N_BARS + 1)],
    )
