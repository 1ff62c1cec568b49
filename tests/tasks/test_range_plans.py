"""Days planned side by side: the plans are those of one day after the other, whatever becomes of the processes."""

import datetime as dt
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import CLIP_USER, DATE, HEADER, Dataset, choose, later_day, slow

from dpmath.core.accounting import LOSS_UNITS
from tasks.account import ledger
from tasks.account.budgets import Account
from tasks.base.errors import BudgetExceeded, HexveilError
from tasks.kinds.plan import store_plan
from tasks.kinds.table import load_plan
from tasks.planning.plan import make_plan
from tasks.planning.range_plans import finish_plans, plan_ahead, planning_range
from tasks.proposals.mechanisms import MECHANISMS

N_DAYS = 6


@pytest.fixture
def week(busy_dataset: Dataset) -> tuple[Dataset, list[dt.date]]:
    """Return days of which each costs its users 2 of a budget of 5."""
    busy_dataset.set(**CLIP_USER | {"target_error": 49.0})
    return busy_dataset, [DATE, *(later_day(busy_dataset, number) for number in range(1, N_DAYS))]


def one_after_the_other(dataset: Dataset, dates: list[dt.date]) -> tuple[dict[dt.date, str], set[dt.date]]:
    """Return the plans of prepared days, each made when those before it were counted, and the days without one."""
    account = Account(ledger.read_entries(dataset.config), dataset.config)
    plans, unplanned = {}, set()
    for date in dates:
        try:
            plan = make_plan(date, dataset.config, account)
        except HexveilError:
            unplanned.add(date)
            continue
        plans[date] = store_plan(plan, dataset.config)
        account.add(date, dict(zip(plan.user_hashes, plan.losses, strict=True)))
    return plans, unplanned


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "total", "window"), [("clip-user", "5.0", ""), slow("planned", "0.9", "\nwindow_days = 3")]
)
def test_plans_made_side_by_side_are_those_of_one_day_after_the_other(
    week: tuple[Dataset, list[dt.date]], mechanism: str, total: str, window: str
) -> None:
    """Those that were begun before it was known what the days before them cost are made again."""
    dataset, dates = week
    dataset.set(mechanism=mechanism)
    dataset.edit("epsilon_total = 5.0", f"epsilon_total = {total}{window}")
    dataset.set(least_share=0.0)
    found = dataset.plan_range(dates, "clip")
    plans, unplanned = one_after_the_other(dataset, dates)
    assert found.plans == plans
    assert found.problems.keys() == unplanned
    assert len({load_plan(plan, dataset.config).files["losses"] for plan in plans.values()}) > 1


KINDS = ("estimated", "planned", "levy")
"""One mechanism of each kind of release; the others are planned by the same code."""


@pytest.mark.quick(1)
@pytest.mark.parametrize("mechanism", [*KINDS, *(slow(one) for one in MECHANISMS if one not in KINDS)])
def test_a_range_is_planned_by_every_mechanism(week: tuple[Dataset, list[dt.date]], mechanism: str) -> None:
    dataset, dates = week
    dataset.set(target_error=40.0)
    choose(dataset, mechanism)
    dataset.set(epsilon_total=80.0)
    found = dataset.plan_range(dates[:2])
    assert found.problems == {}
    assert len(found.plans) == 2


@pytest.mark.slow
def test_a_budget_that_does_not_pay_every_day_is_refused_where_it_ends(week: tuple[Dataset, list[dt.date]]) -> None:
    dataset, dates = week
    with pytest.raises(BudgetExceeded, match=rf"pays 2 of 6 days in full, {dates[0]} to {dates[1]}.*on {dates[2]}"):
        dataset.plan_range(dates)
    assert ledger.ledger_path(dataset.config).read_bytes() == b""


def test_a_day_that_cannot_be_planned_is_reported_and_the_others_are(week: tuple[Dataset, list[dt.date]]) -> None:
    dataset, dates = week
    dataset.set(epsilon_total=50.0)
    for number, date in enumerate(dates):
        if number == 1:
            dataset.write("day1.csv", HEADER + f"bus1,{date}T08:00:00Z,47.05,8.31,30\n")
        if number != 3:
            dataset.prepare(date)
    config = dataset.config
    with planning_range(dates, "refuse", config) as plans:
        for date in dates:
            plan_ahead.fn(date, config)
        finish_plans.fn(config)
    assert plans.plans.keys() == {dates[number] for number in (0, 2, 4, 5)}
    assert "cannot keep a promise" in plans.problems[dates[1]]
    assert "last prepared with other settings" in plans.problems[dates[3]]
    assert plans.withheld == [dates[1]]


@pytest.mark.slow
def test_a_process_that_is_killed_costs_time_and_nothing_else(week: tuple[Dataset, list[dt.date]]) -> None:
    dataset, dates = week
    dataset.set(epsilon_total=50.0)
    for date in dates:
        dataset.prepare(date)
    config = dataset.config
    with planning_range(dates, "refuse", config) as plans:
        for date in dates[:3]:
            plan_ahead.fn(date, config)
        for process in multiprocessing.active_children():
            process.kill()
            process.join()
        for date in dates[3:]:
            plan_ahead.fn(date, config)
        finish_plans.fn(config)
    assert (plans.plans, set(plans.problems)) == one_after_the_other(dataset, dates)


def test_what_a_user_may_lose_by_a_day_is_no_more_than_a_day_may_cost(week: tuple[Dataset, list[dt.date]]) -> None:
    dataset, _ = week
    account = Account([], dataset.config)
    account.add(DATE, {"a": 4 * LOSS_UNITS, "b": LOSS_UNITS})
    assert account.may_lose(DATE, ["a", "b", "c"]).tolist() == [LOSS_UNITS, 2 * LOSS_UNITS, 2 * LOSS_UNITS]


PLAN_ON = """
import datetime as dt, multiprocessing, sys, time
from pathlib import Path
from tasks.planning.range_plans import plan_ahead, planning_range
from tasks.base.config import load_config

config, date = load_config(Path(sys.argv[1])), dt.date.fromisoformat(sys.argv[2])
planning = planning_range([date], "refuse", config)
plans = planning.__enter__()
plan_ahead.fn(date, config)
plans.take(config)
print(*[process.pid for process in multiprocessing.active_children()], flush=True)
time.sleep(600)
"""


@pytest.mark.slow
def test_processes_that_plan_end_with_the_one_they_work_for(week: tuple[Dataset, list[dt.date]]) -> None:
    dataset, _ = week
    dataset.prepare()
    command = [sys.executable, "-c", PLAN_ON, str(dataset.config_file), str(DATE)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        helpers = [Path(f"/proc/{number}") for number in process.stdout.readline().split()]
        assert helpers
        assert all(helper.exists() for helper in helpers)
        os.kill(process.pid, signal.SIGKILL)
    deadline = time.monotonic() + 30
    while any(helper.exists() for helper in helpers):
        assert time.monotonic() < deadline
        time.sleep(0.05)
