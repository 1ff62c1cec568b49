"""Budget report: summarises what users have lost and have left, without naming any user."""

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
    """What users have lost and have left, without naming any user; losses are exact decimal numbers.

    Attributes:
        n_users: Number of users that have lost anything.
        worst_total: The worst user's loss by all releases.
        worst_used: The part of the worst user's losses that counts against the limit on the day after the last one.
        left: What that leaves of the limit.
        deciles: Smallest, each tenth, and largest of the users' losses by all releases; empty without users.
        bars: For each tenth of the worst total, the number of users who lost at most that and more than the one before.
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
