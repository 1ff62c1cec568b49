"""What each user has lost and may still lose, from the private loss files: by keyed user hash.

Losses are in the unit of the definition that the ledger counts in, see ``dpmath.core.currency``.
"""

import datetime as dt
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable
from decimal import Decimal
from functools import lru_cache, partial
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from dpmath.core.accounting import ExactIntArray
from dpmath.core.currency import Currency
from tasks.account import private_files
from tasks.account.chain import charges
from tasks.account.definitions import check_definition
from tasks.account.entry import Entry
from tasks.base import durable
from tasks.base.config import Config
from tasks.base.errors import LedgerBroken

Losses = dict[str, int]
K = TypeVar("K", bound=Hashable)


class Account:
    """What every user has lost by the releases made, and by planned releases that are added.

    Attributes:
        currency: What losses are counted in.
        budget: The limit, and the window that it applies to.
        total: Each user's loss by all releases, made and added.
    """

    def __init__(self, entries: list[Entry], config: Config) -> None:
        """Compute the account from a ledger's entries, with the configuration's budget.

        Raises:
            HexveilError: The ledger counts losses by another definition than the configuration.
        """
        check_definition(entries, config)
        self._config = config
        self.currency = config.privacy.currency
        self.budget = config.budget
        self.total = Counter(totals(entries, config))
        self._released = [(entry.date, entry.losses) for entry in charges(entries)]
        self._added: list[tuple[dt.date, Losses]] = []
        self._added_sum = _SlidingSum()

    @property
    def limit(self) -> int:
        """What any user may lose, in total or within a window, by the budget as it is now: verifying changes it."""
        return _limit(self.currency, self.budget.epsilon_total)

    def add(self, date: dt.date, losses: Losses) -> None:
        """Add the losses of a planned day."""
        self._added.append((date, losses))
        self.total.update(losses)

    def of_day(self, date: dt.date) -> Counter[str]:
        """Return what each user lost by all that was released of a day: its stops, its release, its revisions.

        The sums of windows are not used: they are computed from the last window's, and a day would take its place.
        """
        total, folder = Counter[str](), private_files.plans(self._config)
        for name in (name for day, name in self._released if day == date):
            total.update(_read_losses(folder, name))
        for losses in (losses for day, losses in self._added if day == date):
            total.update(losses)
        return total

    def used(self, date: dt.date) -> Counter[str]:
        """Return what counts against each user's limit for a release of that day.

        That is everything, or with ``budget.window_days`` the most within any window that contains the day. Windows are
        of the days that were released, not of the time of release. So neither a backfill nor a wrong clock changes
        them.
        """
        n_days = self.budget.window_days
        if n_days is None:
            return self.total
        last = date + dt.timedelta(days=n_days - 1)
        held = {day for days in (self._released, self._added) for day, _ in days if date < day <= last}
        worst = Counter[str]()
        for end in sorted(held | {date}):  # a window that ends on another day contains no more than one of these
            worst |= self._within(end - dt.timedelta(days=n_days - 1), end)
        return worst

    def may_pay(self, losses: Losses, used: Losses, most: int) -> bool:
        """Return whether no loss passes what a day may cost, and no user's used losses pass the limit."""
        return max(losses.values()) <= most and max(used[user] for user in losses) <= self.limit

    def left(self, date: dt.date, user_hashes: list[str]) -> list[int]:
        """Return what each user may still lose by a release of that day; below 0 if the limit was lowered."""
        used = self.used(date)
        return [self.limit - used[user] for user in user_hashes]

    def may_lose(self, date: dt.date, user_hashes: list[str]) -> ExactIntArray:
        """Return what each user may lose by a release of that day, at most what a day may cost.

        So the plan does not depend on what a user has left above that.
        """
        epsilon = self._config.privacy.epsilon_per_day
        most = self.currency.within(epsilon)
        most += self.currency.epsilon(most) < epsilon  # rounded up: the request itself has the exact limit of a day
        return np.array([min(most, left) for left in self.left(date, user_hashes)], dtype=object)

    def _within(self, first: dt.date, last: dt.date) -> Counter[str]:
        """Return what each user lost by the releases of the days from ``first`` to ``last``."""
        folder = private_files.plans(self._config)
        released = Counter(name for day, name in self._released if first <= day <= last)
        added = Counter(number for number, (day, _) in enumerate(self._added) if first <= day <= last)
        return _released_sums[folder].of(released, partial(_read_losses, folder)) + self._added_sum.of(
            added, lambda number: self._added[number][1]
        )


class _SlidingSum(Generic[K]):
    """The sum of some releases' losses. It is computed from the last sum, by what was removed and what was added."""

    def __init__(self) -> None:
        self._last = Counter[K](), Counter[str]()

    def of(self, wanted: Counter[K], losses: Callable[[K], Losses]) -> Counter[str]:
        """Return the sum. A key must always have the same losses. If they cannot be read, nothing has changed."""
        counted, before = self._last
        gone, new = counted - wanted, wanted - counted
        if gone.total() > wanted.total():
            gone, new, before = Counter[K](), wanted, Counter[str]()
        total = before.copy()
        for key in gone.elements():
            total.subtract(losses(key))
        for key in new.elements():
            total.update(losses(key))
        self._last = wanted, +total
        return total


_released_sums: defaultdict[Path, _SlidingSum[str]] = defaultdict(_SlidingSum)
"""The last sum of released losses for each folder. The files in a folder are named by their hash."""


@lru_cache(maxsize=64)
def _limit(currency: Currency, epsilon: Decimal) -> int:
    """Return the limit; it is asked for each user."""
    return currency.within(epsilon)


@lru_cache(maxsize=64)
def _read_losses(folder: Path, name: str) -> Losses:
    """Return the losses of a file, after checking its hash."""
    return private_files.read_losses(folder, name)


def totals(entries: list[Entry], config: Config) -> Losses:
    """Return what all releases together cost each user. If the stored sum is missing, the losses are added again.

    Raises:
        LedgerBroken: The losses do not add up to the totals of the last release.
    """
    charged = charges(entries)
    if not charged:
        return {}
    name = charged[-1].totals
    kept = durable.read_named_by_hash(private_files.totals(config), name)
    if kept is not None:
        return dict(json.loads(kept))
    total = Counter[str]()
    for entry in charged:
        total.update(private_files.losses(entry, config))
    if durable.sha256(durable.canonical_json(total)) != name:
        raise LedgerBroken(
            f"the losses in {private_files.plans(config)} do not add up to the totals that the last release "
            "was written with; restore the folder from backup"
        )
    return dict(total)
