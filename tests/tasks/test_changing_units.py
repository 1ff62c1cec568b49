"""A source whose unit changes from a day on, and ranges with days that have no records."""

import datetime as dt

import numpy as np
import pytest
from support import DATE, HEADER, Dataset, table

from flows.backfill import backfill
from tasks.base.errors import BadConfig, HexveilError
from tasks.engines.trial import read_records
from tasks.planning.preview import preview_plan

NEXT = DATE + dt.timedelta(days=1)
CHANGE = f"[[value.change]]\nfrom = {NEXT}\nfactor = 3.6\n[grid]"


@pytest.mark.slow
def test_init_takes_larger_hexagons_where_most_cells_would_have_one_record(dataset: Dataset) -> None:
    rng = np.random.default_rng(3)
    places = rng.uniform((45, 5), (48, 10), (4000, 2))
    rows = "".join(f"plane{n % 500},{DATE}T08:00:{n % 60:02}Z,{a:.4f},{o:.4f},10\n" for n, (a, o) in enumerate(places))
    dataset.write("sky.csv", HEADER + rows)
    held = read_records(DATE, dataset.config)
    assert held.grid == {"h3_resolution": 5, "slot_minutes": 60}
    assert held.reason.startswith("With h3_resolution = 7 and slots of 60 minutes 3,")
    dataset.prepare()
    assert any("cells have one record" in one for one in preview_plan(DATE, dataset.config)["cautions"])


def rows(date: dt.date) -> str:
    return HEADER + "".join(f"bus{n},{date}T08:00:00Z,47.05,8.31,10\n" for n in range(5))


def test_from_a_day_on_values_are_in_another_unit_and_the_ledger_says_so(dataset: Dataset) -> None:
    dataset.edit("[grid]", CHANGE)
    for date in (DATE, NEXT):
        dataset.write(f"{date}.csv", rows(date))
        dataset.prepare(date)
    total = dict(dataset.query("select local_date, sum(total_ticks) from user_cell group by all"))
    assert total == {DATE: 5 * 1000, NEXT: 5 * 3600}
    assert dataset.config.public_settings()["value"]["change"] == [{"from": str(NEXT), "factor": "3.6"}]
    assert dataset.config.with_settings(dataset.config.public_settings()).value == dataset.config.value


def test_changes_are_in_order_and_each_once(dataset: Dataset) -> None:
    dataset.edit("[grid]", CHANGE.replace("[grid]", CHANGE))
    with pytest.raises(BadConfig, match="change must have its days in order, each once"):
        _ = dataset.config


@pytest.mark.slow
def test_a_backfill_over_holes_ends_well_if_it_may_skip_them(busy_dataset: Dataset) -> None:
    days = [DATE + dt.timedelta(days=n) for n in range(3)]
    with pytest.raises(HexveilError, match="2 of 3 days have problems"):
        backfill(busy_dataset.config_file, days[0], days[-1])
    backfill(busy_dataset.config_file, days[0], days[-1], skip_missing=True)
    assert table(busy_dataset).height
    unusable = "".join(f"bus{n},{days[1]}T08:00:00Z,none,8.31,10\n" for n in range(5))
    busy_dataset.write("unusable.csv", HEADER + unusable)
    with pytest.raises(HexveilError, match="1 of 3 days have problems"):
        backfill(busy_dataset.config_file, days[0], days[-1], skip_missing=True)
