"""A map page of a day before the last is kept where it is published, and nowhere else."""

import datetime as dt
from pathlib import Path

import pytest
from support import DATE, Dataset, all_files, later_day

from tasks.account import private_files
from tasks.account.chain import releases
from tasks.account.ledger import read_entries
from tasks.base.errors import LedgerBroken
from tasks.upkeep.backup import back_up
from tasks.upkeep.verify import verify_ledger


@pytest.fixture
def two_days(busy_dataset: Dataset) -> Dataset:
    busy_dataset.with_map()
    busy_dataset.set(epsilon_total=20.0)
    busy_dataset.run_day()
    busy_dataset.run_day(later_day(busy_dataset, 1))
    return busy_dataset


def second_copies(dataset: Dataset) -> list[dt.date]:
    folder = private_files.releases(dataset.config)
    entries = releases(read_entries(dataset.config))
    return [entry.date for entry in entries if (folder / entry.files["map.html"]).exists()]


def test_only_the_last_day_has_its_map_page_twice_and_all_else_goes_on(two_days: Dataset, tmp_path: Path) -> None:
    before = all_files(two_days)
    assert second_copies(two_days) == [DATE + dt.timedelta(days=1)]
    two_days.run_day()
    assert all_files(two_days) == before
    assert verify_ledger(two_days.config).n_releases == 2
    assert back_up(tmp_path / "copy", two_days.config) == 2
    assert (tmp_path / "copy" / "published" / f"date={DATE}" / "map.html").read_bytes() == before[
        f"date={DATE}/map.html"
    ]


@pytest.mark.slow
def test_a_page_that_was_changed_is_no_copy(busy_dataset: Dataset) -> None:
    busy_dataset.with_map()
    busy_dataset.set(epsilon_total=20.0)
    busy_dataset.run_day()
    busy_dataset.published("map.html").write_text("changed")
    busy_dataset.run_day(later_day(busy_dataset, 1))
    assert len(second_copies(busy_dataset)) == 2
    busy_dataset.run_day()
    assert len(second_copies(busy_dataset)) == 1
    assert verify_ledger(busy_dataset.config).n_releases == 2


@pytest.mark.slow
def test_a_page_that_is_lost_is_named_and_hinders_no_other_file(
    two_days: Dataset, caplog: pytest.LogCaptureFixture
) -> None:
    two_days.published("map.html").unlink()
    two_days.published("statistics.csv").unlink()
    two_days.run_day()
    assert two_days.published("statistics.csv").exists()
    assert "page is lost or was changed; restore it from backup" in caplog.text
    with pytest.raises(LedgerBroken, match=r"map\.html.* restore it from backup"):
        verify_ledger(two_days.config)
