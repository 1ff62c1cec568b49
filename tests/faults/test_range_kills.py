"""A backfill that is killed wherever it is, and run again, is a backfill that was not: same plans, same charges."""

import datetime as dt
import random
import shutil

import pytest
import victim
from support import DATE, Campaign, Dataset, Say, later_day

from tasks.account import ledger
from tasks.account.entry import Stated
from tasks.upkeep import verify

MADE_ANEW = ("hash", "previous_hash", "files", "intended_at", "committed_at", "attempt")


def account_of(dataset: Dataset) -> list[Stated]:
    """Return what the ledger says that a run made again says too."""
    entries = ledger.read_entries(dataset.config)
    assert verify.verify_ledger(dataset.config).n_releases == len(entries)
    return [{key: entry.stated[key] for key in entry.stated if key not in MADE_ANEW} for entry in entries]


@pytest.fixture
def days(either: Dataset, n_days: int) -> tuple[Dataset, list[dt.date]]:
    either.set(mechanism="planned")
    either.set(epsilon_total=50.0)
    private = either.folder / "store" / "private"
    private.mkdir(parents=True)
    (private / "user-key").write_bytes(bytes(range(32)))
    return either, [DATE, *(later_day(either, number) for number in range(1, n_days))]


def copy_of(dataset: Dataset, name: str) -> Dataset:
    folder = dataset.folder.with_name(f"{dataset.folder.name}-{name}")
    shutil.copytree(dataset.folder, folder, copy_function=shutil.copy2)
    return Dataset(folder)


def killed_and_run_again(days: tuple[Dataset, list[dt.date]], n_kills: int, say: Say) -> None:
    """Kill backfills one after the other, each going on where the last one was, until one is faster than its kill."""
    dataset, dates = days
    reference, timed = copy_of(dataset, "reference"), copy_of(dataset, "timed")
    for date in dates:
        reference.run_day(date)
    expected = account_of(reference)
    assert len(expected) == len(dates)
    longest, n_killed = victim.seconds_of(victim.whole_range, timed.folder, dates), 0
    while n_killed < n_kills:
        victims = copy_of(dataset, f"killed-{n_killed}")
        backfill = victim.whole_range, victims.folder, dates
        while n_killed < n_kills and victim.killed(random.uniform(0, longest), *backfill):
            n_killed += 1
        victim.run(*backfill)
        assert account_of(victims) == expected
        shutil.rmtree(victims.folder)
    say(f"{n_killed} backfills were killed at a random moment, and all was well after")


@pytest.mark.parametrize("n_days", [2])
def test_days_backfilled_and_killed_twice_equal_days_run_one_by_one(
    days: tuple[Dataset, list[dt.date]], say: Say
) -> None:
    killed_and_run_again(days, 2, say)


@pytest.mark.slow
@pytest.mark.parametrize("n_days", [4])
def test_days_backfilled_and_killed_many_times_equal_days_run_one_by_one(
    days: tuple[Dataset, list[dt.date]], campaign: Campaign, say: Say
) -> None:
    killed_and_run_again(days, campaign.size(10), say)
