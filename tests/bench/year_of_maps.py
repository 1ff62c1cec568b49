"""A year of maps: the demo city backfilled for one epsilon in all, and how good each day is beside its true values."""

import datetime as dt
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl

from tasks.account.chain import releases
from tasks.account.ledger import read_entries
from tasks.base.config import Config, load_config
from tasks.records.synthetic import write_city
from tasks.upkeep.evaluate import evaluate_day
from tests.bench.measure import ALONE, HEXVEIL
from tests.bench.memory import measured

YEAR = Path("var/bench/year")
EPSILON_TOTAL = 10
N_DAYS = 365
FIRST = dt.date(2026, 1, 1)

_DEMO = Path(__file__).parents[2] / "deploy" / "config" / "demo.toml"
_MEASURES = ("cells", "skill", "mean_absolute_error", "mean_absolute_error_of_best_constant", "coverage_of_cells")

Row = dict[str, Any]


def measure_year(n_days: int = N_DAYS) -> tuple[Row, list[Row]]:
    """Backfill days of the demo city by the command line, each with its share of a year's epsilon.

    Args:
        n_days: How many of the year's days, from its first.

    Returns:
        What the whole took and the account after it; and of each day how far its release is from the true values.
    """
    shutil.rmtree(YEAR, ignore_errors=True)
    dates = [FIRST + dt.timedelta(days=number) for number in range(n_days)]
    write_city(YEAR / "raw", dates)
    path = write_config(YEAR)
    command = [HEXVEIL, "backfill", "--config", str(path), "--from", str(dates[0]), "--to", str(dates[-1])]
    finished = measured(command, ALONE)
    config = load_config(path)
    rows = [{"date": date, **_evaluated(date, config)} for date in dates]
    whole = {
        "n_days": n_days,
        "epsilon_per_day": float(config.privacy.epsilon_per_day),
        **_account(config),
        "seconds": finished.seconds,
        "cpu_seconds": finished.cpu_seconds,
        "peak_mib": finished.peak_mib,
        "store_mib": sum(file.stat().st_size for file in config.storage_path.rglob("*") if file.is_file()) / 2**20,
    }
    shutil.rmtree(YEAR)
    return whole, rows


def write_config(folder: Path) -> Path:
    """Write the demo city's configuration, with a day's share of the year's epsilon, and return its path."""
    text = _DEMO.read_text()
    currency = load_config(_DEMO).privacy.currency
    of_a_day = currency.epsilon_within(currency.within(Decimal(EPSILON_TOTAL)) // N_DAYS)
    changes = {
        "../../var/demo/raw/": "raw/",
        "../../var/demo/store": "store",
        "epsilon_per_day = 2.0": f"epsilon_per_day = {of_a_day}",
        "epsilon_total = 100.0": f"epsilon_total = {EPSILON_TOTAL}",
        "[storage]": "[publish]\nmap = false\n[storage]",
    }
    for old, new in changes.items():
        if old not in text:
            raise ValueError(f"{_DEMO.name} has no {old}")
        text = text.replace(old, new)
    path = folder / "year.toml"
    path.write_text(text)
    return path


def by_month(days: pl.DataFrame) -> pl.DataFrame:
    """Return the means over the days of each month."""
    month = pl.col("date").dt.strftime("%Y-%m").alias("month")
    return days.group_by(month, maintain_order=True).agg(pl.len().alias("days"), pl.col(_MEASURES).mean().round(3))


def _evaluated(date: dt.date, config: Config) -> Row:
    evaluation, _ = evaluate_day(date, None, config)
    return {name: evaluation[name] for name in _MEASURES}


def _account(config: Config) -> Row:
    """Return what the ledger says after the last release: the most that any one user has lost, and what is left."""
    stated = releases(read_entries(config))[-1].stated
    return {name: stated[name] for name in ("epsilon_total_after", "epsilon_left", "in_words")}
