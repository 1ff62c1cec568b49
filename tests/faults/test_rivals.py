"""Many hands at once: each day is released once, whoever comes first, and the others wait."""

import datetime as dt
import shutil
from pathlib import Path

import pytest
import victim
from support import DATE, Campaign, Dataset, all_files, later_day

from tasks.account import ledger
from tasks.upkeep import verify

N_RIVALS = 8
N_ROUNDS = 5


@pytest.fixture
def dates(either: Dataset) -> list[dt.date]:
    either.set(epsilon_total=50.0)
    return [DATE, *(later_day(either, n) for n in range(1, N_RIVALS))]


def compete(dataset: Dataset, dates: list[dt.date]) -> None:
    """Run one process a date at once, in a fresh storage; all must end well, with each day released once."""
    shutil.rmtree(dataset.folder / "store", ignore_errors=True)
    rivals = [victim.start(victim.whole_day, dataset.folder, date) for date in dates]
    assert [victim.exit_code(rival) for rival in rivals] == [0] * len(dates)
    entries = ledger.read_entries(dataset.config)
    assert sorted(entry.stated["date"] for entry in entries) == sorted({date.isoformat() for date in dates})
    assert verify.verify_ledger(dataset.config).n_releases == len(entries)
    assert len(all_files(dataset)) == sum(len(entry.stated["files"]) for entry in entries)
    assert {path.name for path in Path(dataset.folder / "store" / "private" / "releases").iterdir()} == {
        name for entry in entries for of in ("files", "kept") for name in entry.stated.get(of, {}).values()
    }


@pytest.mark.slow
def test_eight_processes_at_the_same_day_release_it_once(either: Dataset, campaign: Campaign) -> None:
    for _ in range(campaign.size(N_ROUNDS)):
        compete(either, [DATE] * N_RIVALS)


@pytest.mark.slow
def test_eight_processes_at_eight_days_release_each_once(
    either: Dataset, dates: list[dt.date], campaign: Campaign
) -> None:
    for _ in range(campaign.size(N_ROUNDS)):
        compete(either, dates)


def test_of_rivals_for_the_last_of_a_budget_none_overspends(either: Dataset, dates: list[dt.date]) -> None:
    """A budget for two of five days: the others are refused, clipped to what is left, or told to plan anew."""
    either.set(epsilon_total=3.0)
    rivals = [victim.start(victim.whole_day, either.folder, date) for date in dates[:5]]
    assert {victim.exit_code(rival) for rival in rivals} == {0, 1}
    assert verify.verify_ledger(either.config).n_releases >= 2
    assert max(float(entry.stated["epsilon_total_after"]) for entry in ledger.read_entries(either.config)) <= 3
