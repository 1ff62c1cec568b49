"""Report: what a day's release came to, in numbers that anyone may see."""

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from statistics import median

import polars as pl

from tasks import ledger
from tasks.config import Config
from tasks.errors import contained
from tasks.private_files import published_folder
from tasks.release import release_id
from tasks.validate import KEPT


@dataclass(frozen=True)
class DayReport:
    """A released day in numbers.

    Attributes:
        release_id: What the ledger knows it by.
        rows: Rows of the day by what became of them: "kept", or the reason for quarantine.
        n_published: Cells published.
        n_withheld: Cells that could not keep their promise.
        worst_error: Largest promised error of a published mean, in the value's unit.
        median_error: Median promised error of a published mean, in the value's unit.
        epsilon: The most that any one user lost by this release.
        epsilon_total: The most that any one user has lost over everything released up to it.
        folder: Where the files are.
    """

    release_id: str
    rows: dict[str, int]
    n_published: int
    n_withheld: int
    worst_error: float
    median_error: float
    epsilon: Decimal
    epsilon_total: Decimal
    folder: Path

    @property
    def n_rows(self) -> int:
        """Rows of the day that were read."""
        return sum(self.rows.values())

    @property
    def n_kept(self) -> int:
        """Records of the day that were used."""
        return self.rows.get(KEPT, 0)


@contained
def report_day(date: dt.date, config: Config) -> DayReport:
    """Return what a released day came to, from the ledger and the published files."""
    entry = ledger.find_release(release_id(date, config), config)
    if entry is None:
        raise LookupError(f"{date} has not been released")
    folder = published_folder(entry["date"], config)
    errors = pl.read_parquet(folder / "statistics.parquet", hive_partitioning=False)["mean_error_bound"].to_list()
    return DayReport(
        release_id=entry["release_id"],
        rows=entry["rows"],
        n_published=entry["cells"]["published"],
        n_withheld=entry["cells"]["withheld"],
        worst_error=max(errors),
        median_error=median(errors),
        epsilon=Decimal(entry["epsilon"]),
        epsilon_total=Decimal(entry["epsilon_total_after"]),
        folder=folder,
    )
