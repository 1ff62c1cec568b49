"""Plan a range of days: mechanisms work on several days in parallel processes; losses are counted day by day."""

import datetime as dt
import logging
import multiprocessing
import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tasks.account import ledger
from tasks.account.budgets import Account
from tasks.account.witnesses import check_same_users
from tasks.base.child_processes import end_with_parent, undisturbed
from tasks.base.config import Config
from tasks.base.errors import WITHHELD, BudgetExceeded, HexveilError, TemporaryFailure, contained
from tasks.base.logs import say, warn
from tasks.base.steps import step
from tasks.kinds.day import PlannedDay
from tasks.kinds.plan import Plan, store_plan
from tasks.planning.plan import planned_day, read_day
from tasks.planning.presence import DAYS_APART, Known, presence_of, refuse_wrong_users, users_apart
from tasks.proposals.mechanisms import propose
from tasks.proposals.request import Proposal

Shortage = Literal["refuse", "spread", "clip"]
"""What to do if the budget does not pay for every day of a range in full."""

log = logging.getLogger("hexveil.ahead")


@dataclass(frozen=True)
class _Open:
    """A day that is being planned: the request to the mechanism, and its future answer."""

    date: dt.date
    day: PlannedDay
    answer: Future[Proposal]


class RangePlans:
    """The plans of a range of days. Each is made as if the days before it were released. Spends nothing.

    Only the mechanism works in other processes. It reads the occupancy and budgets, and takes nearly all of the time.
    When a day is counted, the budgets in its request are compared with the account. If they differ, the mechanism runs
    again. So the plans are the same as if days were planned one after the other.

    Attributes:
        plans: Hash of each day's stored plan.
        problems: What is wrong with each day that cannot be planned.
        withheld: Those of them that the budget does not pay for, or of which nothing can be published.
    """

    def __init__(self, dates: list[dt.date], shortage: Shortage, config: Config) -> None:
        """Begin with the losses in the ledger.

        Args:
            dates: The days that will be planned, in order.
            shortage: "clip" continues if the budget does not pay for a day in full: users who have too little left are
                clipped harder or left out.
            config: Says the budget.

        Raises:
            HexveilError: The ledger counts the losses of other users.
        """
        self.plans: dict[dt.date, str] = {}
        self.problems: dict[dt.date, str] = {}
        self.withheld: list[dt.date] = []
        self._dates, self._shortage, self._storage = dates, shortage, config.storage_path
        self._entries = ledger.read_entries(config)
        check_same_users(self._entries, config)
        self._account = Account(self._entries, config)
        self._users: dict[dt.date, list[str]] = {}
        self._n_workers = os.cpu_count() or 1
        self._open: deque[_Open] = deque()
        spawn = multiprocessing.get_context("spawn")  # a fork has the engine's locks without its threads
        with undisturbed():
            self._workers = ProcessPoolExecutor(self._n_workers, spawn, initializer=end_with_parent)

    def close(self) -> None:
        """Cancel the days that are not planned yet."""
        self._workers.shutdown(wait=False, cancel_futures=True)

    def ask(self, date: dt.date, config: Config) -> None:
        """Request the plan of a prepared day, and count the plans that are finished. It does all of a day or nothing.

        Each waiting day is in memory, so only as many wait as keep every core busy.
        """
        if date not in self._dates or config.storage_path != self._storage:
            raise ValueError("the day is not one of the range that is being planned")
        while self._open and (len(self._open) > self._n_workers or self._open[0].answer.done()):
            self.take(config)
        try:
            day = read_day(date, config, self._account)
        except HexveilError as error:
            self._note(date, error)
            return
        self._open.append(_Open(date, day, self._asked(day, config)))

    def take(self, config: Config) -> bool:
        """Wait for the oldest requested plan and count it. Return False if none is left.

        Raises:
            BudgetExceeded: The budget does not pay for every day in full. The message says how far it reaches.
        """
        if not self._open:
            return False
        date = self._open[0].date
        try:
            self._count(date, _answered(self._open[0], self._account, config), config)
        except BudgetExceeded as error:
            if self._shortage != "clip":
                raise self._too_small(date, config) from None
            self._note(date, error)
        except HexveilError as error:
            self._note(date, error)
        self._open.popleft()
        return True

    def _asked(self, day: PlannedDay, config: Config) -> Future[Proposal]:
        try:
            with undisturbed():
                return self._workers.submit(propose, config.privacy.mechanism, day.request)
        except BrokenProcessPool as error:
            broken: Future[Proposal] = Future()
            broken.set_exception(error)
            return broken

    def _count(self, date: dt.date, plan: Plan, config: Config) -> None:
        short = min(self._account.left(date, plan.user_hashes)) < self._account.currency.within(
            config.privacy.epsilon_per_day
        )
        if short and self._shortage != "clip":
            raise self._too_small(date, config)
        of_range = (users for day, users in self._users.items() if abs((day - date).days) >= DAYS_APART)
        known = Known(users_apart(date, self._entries, config).union(*of_range), self._account.total)
        refuse_wrong_users(presence_of(date, config, plan.user_hashes, known), config)
        self._users[date] = plan.user_hashes
        self.plans[date] = store_plan(plan, config)
        self._account.add(date, dict(zip(plan.user_hashes, plan.losses, strict=True)))

    def _note(self, date: dt.date, problem: HexveilError) -> None:
        """Record what is wrong with a day. A failure of the machine is raised instead, so that the step is retried."""
        if isinstance(problem, TemporaryFailure):
            raise problem
        self.problems[date] = str(problem)
        if isinstance(problem, WITHHELD):
            self.withheld.append(date)

    def _too_small(self, date: dt.date, config: Config) -> BudgetExceeded:
        paid, dates = list(self.plans), self._dates
        reach = f"{len(paid)} of {len(dates)} days in full" + (f", {paid[0]} to {paid[-1]}" if paid else "")
        until = f"Backfill --to {paid[-1]}, or" if paid else "Give"
        return BudgetExceeded(
            f"budget.epsilon_total = {config.budget.epsilon_total} pays {reach}, at privacy.epsilon_per_day = "
            f"{config.privacy.epsilon_per_day}; on {date} a user would be short of it. Nothing was spent. {until} "
            "--spread, which gives every day of the range the same smaller epsilon, or --clip, which goes on as the "
            "daily run does: users who are short are clipped to what they have left."
        )


@step("begin to plan {config.dataset.name}")
def begin_plans(dates: list[dt.date], shortage: Shortage, config: Config) -> RangePlans:
    """Return the plans of a range, none of them made. The arguments are those of ``RangePlans``."""
    return RangePlans(dates, shortage, config)


_current: ContextVar[RangePlans] = ContextVar("range plans")


@contextmanager
def planning_range(dates: list[dt.date], shortage: Shortage, config: Config) -> Iterator[RangePlans]:
    """Plan a range in the block. Its steps find the plans here: as an argument, a scheduler would store them.

    The arguments are those of ``RangePlans``.
    """
    with closing(begin_plans(dates, shortage, config)) as plans:
        before = _current.set(plans)
        try:
            yield plans
        finally:
            _current.reset(before)


@step("plan {config.dataset.name} {date}")
def plan_ahead(date: dt.date, config: Config) -> None:
    """Request the plan of a prepared day, so that it is made while the next day is prepared.

    Raises:
        BudgetExceeded: The budget does not pay for every day in full. The message says how far it reaches.
    """
    _current.get().ask(date, config)


@step("plan the days of {config.dataset.name}")
def finish_plans(config: Config) -> None:
    """Wait for all unfinished plans; raises what ``plan_ahead`` does."""
    while _current.get().take(config):
        pass
    say(log, "planned", n_days=len(_current.get().plans))


@contained
def _answered(asked: _Open, account: Account, config: Config) -> Plan:
    """Return the plan of a requested day, made with what each user may lose now."""
    day = asked.day.with_budgets(account.may_lose(asked.date, asked.day.user_hashes), config)
    if _same_request(day, asked.day):
        try:
            return planned_day(asked.date, day, asked.answer.result(), config)
        except BrokenProcessPool:
            warn(log, "a process that planned was ended, so days are planned one after the other", date=asked.date)
    return planned_day(asked.date, day, propose(config.privacy.mechanism, day.request), config)


def _same_request(day: PlannedDay, before: PlannedDay) -> bool:
    """Return whether the mechanism would be asked the same: the budgets are, and what the screening costs."""
    now, then = day.request.budgets, before.request.budgets
    return (
        now is not None
        and then is not None
        and np.array_equal(now, then)
        and np.array_equal(day.charges, before.charges)
    )
