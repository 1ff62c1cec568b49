"""The table of all days is one table for whatever reads a folder, and it is checked as the days' own files are."""

from collections.abc import Callable
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pytest
from support import Dataset, later_day

from tasks.account.chain import releases
from tasks.account.ledger import list_entries
from tasks.base.errors import LedgerBroken
from tasks.upkeep.verify import verify_ledger

READERS: dict[str, Callable[[Path], list[tuple[object, ...]]]] = {
    "pandas": lambda table: list(pd.read_parquet(table)[["date", "h3_cell", "mean"]].itertuples(index=False)),
    "duckdb": lambda table: duckdb.execute(f"select date, h3_cell, mean from read_parquet('{table}/*/*')").fetchall(),
    "polars": lambda table: (
        pl.read_parquet(table / "*" / "*", hive_partitioning=True).select("date", "h3_cell", "mean").rows()
    ),
}


@pytest.fixture
def two_days(busy_dataset: Dataset) -> Dataset:
    busy_dataset.set(target_error=49.0, epsilon_total=9.0)

    def released() -> str:
        busy_dataset.run_day(later_day(busy_dataset, 1))
        return busy_dataset.run_day()

    busy_dataset.once("two days in a table", released)
    return busy_dataset


@pytest.fixture
def table(two_days: Dataset) -> Path:
    return two_days.folder / "store" / "published" / "table"


@pytest.mark.slow
@pytest.mark.quick(1)
@pytest.mark.parametrize("reader", READERS)
def test_every_row_of_every_day_is_read_once(reader: str, two_days: Dataset, table: Path) -> None:
    two_days.run_day(revision="again")
    rows = READERS[reader](table)
    released = [entry for entry in releases(list_entries(two_days.config)) if entry.revision is None]
    assert len(released) == 2
    expected = [
        (str(entry.date), *row)
        for entry in released
        for row in pl.read_csv(two_days.published("statistics.csv", entry.date)).select("h3_cell", "mean").rows()
    ]
    assert sorted((str(date)[:10], *row) for date, *row in rows) == sorted(expected)


def test_a_changed_or_unreleased_file_of_the_table_is_found_and_a_missing_one_is_made_again(
    two_days: Dataset, table: Path
) -> None:
    first, second = (path / "statistics.pq" for path in sorted(table.iterdir()))
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    with pytest.raises(LedgerBroken, match=r"statistics.pq is not the file that was released; run the day again"):
        verify_ledger(two_days.config)
    first.unlink()
    verify_ledger(two_days.config)
    two_days.run_day(later_day(two_days, 1))
    assert first.read_bytes() == content
    (table / first.parent.name / "more.pq").write_bytes(content)
    with pytest.raises(LedgerBroken, match=r"more.pq was never released; remove it"):
        verify_ledger(two_days.config)


def test_a_day_in_the_table_that_was_never_released_is_found(two_days: Dataset, table: Path) -> None:
    (table / "date=2026-01-20").mkdir()
    with pytest.raises(LedgerBroken, match=r"table/date=2026-01-20 was never released; remove it"):
        verify_ledger(two_days.config)
