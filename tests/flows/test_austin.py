"""The whole chain on one real day."""

import csv
import datetime as dt
import gzip
import json
import re
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from support import Dataset, Hexveil, by_the_planner

from dpmath.core.accounting import LOSS_UNITS
from tasks.account import ledger, private_files
from tasks.base.config import load_config
from tasks.planning.plan import read_day
from tasks.planning.preview import preview_plan
from tasks.proposals.mechanisms import PROMISING, propose

CONFIG = Path(__file__).parents[2] / "deploy" / "config" / "austin.toml"
DAY = "2016-11-25"
PLAIN_MEANS = """
select avg(least(greatest(value, 0), 100))
from raw_record
where observed_at::date = '2016-11-25'
group by time_bucket(interval '1 hour', observed_at), h3_cell(latitude, longitude, 7)
order by time_bucket(interval '1 hour', observed_at), h3_cell(latitude, longitude, 7)
"""


@pytest.fixture
def config_file(real_data: Path, tmp_path: Path) -> Path:
    text = by_the_planner(CONFIG.read_text())
    assert "../../../shared/data/capmetro" in text
    copied = tmp_path / "austin.toml"
    copied.write_text(
        text.replace("../../../shared/data/capmetro", str(real_data)).replace(
            "../../var/austin", str(tmp_path / "store")
        )
    )
    return copied


def rows_of_the_day(real_data: Path) -> list[dict[str, str]]:
    """Read the day with the standard library alone."""
    with gzip.open(real_data / "capmetro_austin_2016-11-24_27.csv.gz", "rt", newline="") as file:
        return [row for row in csv.DictReader(file) if row["ts"].startswith(DAY)]


def test_a_real_day_reconciles_keeps_its_promises_and_charges_what_its_plan_costs(
    hexveil: Hexveil, config_file: Path, real_data: Path
) -> None:
    ended = hexveil("run", "--config", config_file, "--date", DAY)
    assert ended.returncode == 0, ended.stderr
    config = load_config(config_file)
    rows = rows_of_the_day(real_data)
    assert f"{len(rows):,} read" in ended.stdout

    entry = ledger.read_entries(config)[0]
    published = pl.read_parquet(
        config.storage_path / "published" / f"date={DAY}" / "statistics.parquet", hive_partitioning=False
    )
    assert published.height == entry.stated["cells"]["published"] > 0
    assert (published["mean_error_bound"] <= 10).all()

    plan = json.loads((private_files.plans(config) / entry.stated["plan"]).read_bytes())
    cells, pairs = (pl.read_parquet(private_files.plans(config) / plan["files"][name]) for name in ("cells", "pairs"))
    assert cells["n_records"].sum() == len(rows)
    scales = {
        (slot, cell): scale
        for slot, cell, scale in cells.select("slot_start", "h3_cell", "mean_inverse_scale").iter_rows()
    }
    losses: dict[str, Fraction] = defaultdict(Fraction)
    for slot, cell, user, width in pairs.select("slot_start", "h3_cell", "user_hash", "mean_width").iter_rows():
        losses[user] += Fraction(width * scales[slot, cell], LOSS_UNITS)
    assert Fraction(entry.stated["epsilon"]) == max(losses.values()) <= 2
    assert hexveil("ledger", "verify", "--config", config_file).returncode == 0


@pytest.mark.slow
def test_with_no_noise_and_an_infinite_budget_the_real_means_are_the_plain_ones(config_file: Path) -> None:
    dataset = Dataset(config_file.parent)
    config_file.rename(dataset.config_file)
    dataset.set(epsilon_per_day=1000000.0)
    dataset.set(epsilon_total=1000000.0)
    dataset.set(target_error=None)
    date = dt.date.fromisoformat(DAY)
    dataset.release(date, noise=lambda scales: np.zeros(scales.size, dtype=object))
    path = config_file.parent / "store" / "published" / f"date={DAY}" / "statistics.parquet"
    published = pl.read_parquet(path, hive_partitioning=False)
    plain = dataset.query(PLAIN_MEANS)
    assert published.height == len(plain) == 1580
    assert published["mean"].to_list() == pytest.approx([mean for (mean,) in plain], abs=0.01)


@pytest.mark.theorem("HV-L5")
@pytest.mark.slow
def test_every_real_day_is_planned_within_one_percent_of_its_bound(config_file: Path) -> None:
    dataset = Dataset(config_file.parent)
    config_file.rename(dataset.config_file)
    for day in ("2015-09-06", "2016-11-24", "2016-11-25", "2016-11-26", "2016-11-27"):
        date = dt.date.fromisoformat(day)
        dataset.prepare(date)
        summary = preview_plan(date, dataset.config)
        assert 0 <= summary["gap"] <= 0.01, day
        assert 0 < summary["records_covered"] <= summary["records_upper_bound"], day
        assert summary["worst_error"] <= 10, day


@pytest.mark.slow
def test_the_table_of_the_benchmarks_is_what_the_mechanisms_give(config_file: Path) -> None:
    page = (CONFIG.parents[2] / "docs" / "explanation" / "benchmarks.md").read_text()
    table = re.findall(r"^\| (`\w[\w-]*`|no plan)[^|]*\| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", page, re.MULTILINE)
    stated = {name.strip("`"): [int(number) for number in numbers] for name, *numbers in table}
    dataset = Dataset(config_file.parent)
    config_file.rename(dataset.config_file)
    date = dt.date.fromisoformat(DAY)
    dataset.prepare(date)
    request = replace(read_day(date, dataset.config).request, count="cells")
    found: dict[str, list[int | None]] = defaultdict(list)
    for epsilon in (1, 2, 5, 10):
        for mechanism in PROMISING:
            proposal = propose(mechanism, replace(request, epsilon=Fraction(epsilon), budgets=None))
            found[mechanism].append(int(proposal.sums[0].published.sum()))
            if mechanism == "planned":
                found["no plan"].append(proposal.upper_bound)
    assert found == stated
