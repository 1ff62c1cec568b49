"""The file of covariates: what it may hold, what is told of a wrong one, and what an estimate learns from it."""

import datetime as dt
from pathlib import Path
from typing import Any

import h3
import numpy as np
import polars as pl
import pytest
from support import DATE, HEADER, Dataset, table

from tasks.account import ledger
from tasks.account.chain import releases
from tasks.base.config import Config
from tasks.base.errors import BadConfig, BadInput
from tasks.kinds.estimated.owner_covariates import covariate_names, with_covariates
from tasks.planning.preview import preview_plan
from tasks.upkeep.evaluate import evaluate_day
from tasks.upkeep.verify import verify_ledger

RESOLUTION = 7
HERE, THERE, ELSEWHERE = (h3.latlng_to_cell(47.05 + 0.1 * n, 8.31, RESOLUTION) for n in range(3))


@pytest.fixture
def wanting(dataset: Dataset) -> Dataset:
    """Return a dataset that is estimated, in UTC, with a file of covariates that does not exist yet."""
    dataset.set(mechanism="estimated")
    dataset.set(target_error=None)
    dataset.set(covariates="roads.parquet", occupancy_covariates=False)
    return dataset


def write(dataset: Dataset, columns: dict[str, Any]) -> Config:
    pl.DataFrame(columns).write_parquet(dataset.folder / "roads.parquet")
    return dataset.config


def cells() -> pl.DataFrame:
    """Return four cells: two hexagons at 8 and at 9 o'clock."""
    starts = [dt.datetime(DATE.year, DATE.month, DATE.day, hour, tzinfo=dt.UTC) for hour in (8, 8, 9, 9)]
    names = pl.Series([h3.str_to_int(cell) for cell in (HERE, THERE) * 2], dtype=pl.UInt64)
    return pl.DataFrame({"slot_start": starts, "h3_cell": names})


def numbers(dataset: Dataset, columns: dict[str, Any]) -> dict[str, list[float]]:
    found = with_covariates(cells(), write(dataset, columns))
    return {name: found[f"covariate.{name}"].to_list() for name in covariate_names(found)}


def test_hexagons_hours_or_both_are_found_texts_are_indicators_and_the_unlisted_have_the_mean(wanting: Dataset) -> None:
    always = {"is listed": [1.0] * 4}
    by_cell = {"h3_cell": [HERE, THERE], "limit": [30, 50], "class": ["main", "side"], "bus lane": [True, False]}
    assert numbers(wanting, by_cell) == {
        "limit": [30, 50, 30, 50], "class=main": [1, 0, 1, 0], "class=side": [0, 1, 0, 1], "bus lane": [1, 0, 1, 0],
    } | always  # fmt: skip
    by_hour = {"hour": list(range(24)), "timetable": [float(hour) for hour in range(24)]}
    assert numbers(wanting, by_hour) == {"timetable": [8, 8, 9, 9]} | always
    both = {"h3_cell": [HERE, HERE, THERE, ELSEWHERE], "hour": [8, 9, 8, 8], "timetable": [20.0, 25.0, None, 30.0]}
    assert numbers(wanting, both) == {"timetable": [20, 25, 25, 25], "is listed": [1, 1, 1, 0]}
    as_numbers = pl.Series([h3.str_to_int(HERE)], dtype=pl.UInt64)
    assert numbers(wanting, {"h3_cell": as_numbers, "limit": [30]})["is listed"] == [1, 0, 1, 0]


def test_hours_are_those_of_the_local_day(wanting: Dataset) -> None:
    wanting.set(timezone="Europe/Zurich")
    by_hour = {"hour": list(range(24)), "timetable": [float(hour) for hour in range(24)]}
    assert numbers(wanting, by_hour)["timetable"] == [9, 9, 10, 10]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"limit": [30]}, "needs a column h3_cell or hour"),
        ({"h3_cell": [HERE]}, "makes 0 covariates"),
        ({"h3_cell": [HERE, HERE], "limit": [30, 30]}, "2 rows have the h3_cell of another row"),
        ({"h3_cell": [HERE, "bern"], "limit": [30, 30]}, "1 of 2 names in h3_cell, as 'bern', are no hexagons"),
        ({"h3_cell": [h3.cell_to_parent(HERE, 5)], "limit": [30]}, "no hexagons of resolution 7"),
        ({"h3_cell": [2**63], "limit": [30]}, "no hexagons of resolution 7"),
        ({"h3_cell": [None], "limit": [30]}, "no hexagons of resolution 7"),
        ({"hour": [24], "limit": [30]}, "whole numbers from 0 to 23"),
        ({"hour": [None, 3], "limit": [30, 30]}, "whole numbers from 0 to 23"),
        ({"hour": [8], "limit": [float("inf")]}, "limit must hold finite numbers"),
        ({"hour": [8], "limit": pl.Series([None], dtype=pl.Float64)}, "limit must hold finite numbers"),
        ({"hour": [8], "limit": [1e200]}, "limit must hold finite numbers, at most 1,000,000,000 in size"),
        ({"hour": [8], "is listed": [1.0]}, "two covariates would be named 'is listed'"),
        ({"hour": [8], "a": ["x"], "a=x": [1.0]}, "two covariates would be named 'a=x'"),
        ({"hour": [8], "when": [DATE]}, "when is of type Date"),
        ({"hour": list(range(24)), "name": [f"road {n}" for n in range(24)]}, "name holds 24 different texts"),
        ({"hour": [8]} | {f"number {n}": [1.0] for n in range(51)}, "makes 51 covariates"),
        ({"hour": pl.Series([], dtype=pl.Int64), "limit": pl.Series([], dtype=pl.Int64)}, "has no rows"),
    ],
)
def test_a_wrong_file_is_told_before_anything_is_spent(wanting: Dataset, columns: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=rf"^roads\.parquet: .*{message}"):
        with_covariates(cells(), write(wanting, columns))


def test_a_file_that_is_missing_damaged_or_of_another_format_is_told(wanting: Dataset) -> None:
    with pytest.raises(BadInput, match=r"roads.parquet: cannot be read as estimate.covariates"):
        with_covariates(cells(), wanting.config)
    (wanting.folder / "roads.parquet").write_bytes(b"no table")
    with pytest.raises(BadInput, match=r"roads.parquet: cannot be read as estimate.covariates"):
        with_covariates(cells(), wanting.config)
    wanting.edit("roads.parquet", "roads.xlsx")
    with pytest.raises(BadInput, match=r"must be a .parquet or a .csv file"):
        with_covariates(cells(), wanting.config)
    wanting.edit("roads.xlsx", "roads.csv")
    Path(wanting.folder / "roads.csv").write_text("hour,limit\n8,30\n9,50\n")
    assert with_covariates(cells(), wanting.config)["covariate.limit"].to_list() == [30, 30, 50, 50]


def test_a_file_that_no_mechanism_reads_is_refused(wanting: Dataset) -> None:
    wanting.set(mechanism="planned")
    with pytest.raises(BadConfig, match=r"estimate\.covariates is of no use to mechanism planned"):
        _ = wanting.config


def write_city(dataset: Dataset, date: dt.date, seed: int) -> None:
    """Write a day of 40 hexagons in a row, of which every other one is slow, and a file that says which."""
    rng, lines = np.random.default_rng(seed), []
    for bus in range(40):
        for hour in range(7, 11):
            place = int(rng.integers(40))
            for minute in range(0, 60, 20):
                value = (20 if place % 2 else 70) + rng.normal(0, 3)
                lines.append(f"bus{bus:02},{date}T{hour:02}:{minute:02}:00Z,{47 + 0.05 * place},8.31,{value:.2f}")
    dataset.write(f"day-{date}.csv", HEADER + "\n".join(lines) + "\n")


def test_an_estimate_learns_from_the_file_and_needs_it_no_more_to_be_verified(wanting: Dataset) -> None:
    """Buses see each hexagon once or twice a day; one column tells the slow from the fast at once."""
    wanting.set(epsilon_per_day=10.0, definition=None)
    wanting.set(epsilon_total=50.0)
    names = [h3.latlng_to_cell(47 + 0.05 * place, 8.31, RESOLUTION) for place in range(40)]
    write(wanting, {"h3_cell": names, "limit": [30 if place % 2 else 70 for place in range(40)]})
    errors = []
    for number in range(2):
        write_city(wanting, DATE + dt.timedelta(days=number), number)
        wanting.run_day(DATE + dt.timedelta(days=number))
        errors.append(evaluate_day(DATE + dt.timedelta(days=number), None, wanting.config)[0]["mean_absolute_error"])
    first, second = releases(ledger.read_entries(wanting.config))
    assert set(first.stated["covariates"]) == {"is listed", "limit"}
    assert second.states.get("before") == first.states.get("after")
    assert "roads" not in str(first.settings)
    assert table(wanting).height > 60
    assert errors[1] < 12, "4 with the file, 20 without it"
    write_city(wanting, DATE + dt.timedelta(days=2), 2)
    wanting.prepare(DATE + dt.timedelta(days=2))
    planned = preview_plan(DATE + dt.timedelta(days=2), wanting.config)
    assert planned["median_error"] < 12, "a plan of a later day reads the file too"
    (wanting.folder / "roads.parquet").unlink()
    assert verify_ledger(wanting.config).n_releases == 2


@pytest.mark.slow
def test_other_covariates_begin_anew_and_say_so(wanting: Dataset, caplog: pytest.LogCaptureFixture) -> None:
    names = [h3.latlng_to_cell(47 + 0.05 * place, 8.31, RESOLUTION) for place in range(40)]
    for number, facts in enumerate([{"limit": [30.0] * 40}, {"limit": [50.0] * 40}, {"width": [3.0] * 40}]):
        write(wanting, {"h3_cell": names, **facts})
        write_city(wanting, DATE + dt.timedelta(days=number), number)
        wanting.set(epsilon_total=50.0) if number == 0 else None
        wanting.run_day(DATE + dt.timedelta(days=number))
    before = [entry.states.get("before") is None for entry in releases(ledger.read_entries(wanting.config))]
    assert before == [True, False, True]
    assert caplog.text.count("the estimate begins anew") == 1
    assert verify_ledger(wanting.config).n_releases == 3


@pytest.mark.slow
def test_cells_that_are_not_similar_are_learned_each_alone_and_a_change_begins_anew(wanting: Dataset) -> None:
    """The same hexagons are slow on each day, and every other one is: a neighbour tells nothing."""
    wanting.set(covariates=None)
    wanting.set(epsilon_per_day=20.0, definition=None)
    wanting.set(epsilon_total=500.0)
    errors = []
    for number in range(4):
        date = DATE + dt.timedelta(days=number)
        if number == 1:
            wanting.set(similar_cells=False)
        write_city(wanting, date, number)
        wanting.run_day(date)
        errors.append(evaluate_day(date, None, wanting.config)[0]["mean_absolute_error"])
    entries = releases(ledger.read_entries(wanting.config))
    assert [entry.settings["estimate"].get("similar_cells") for entry in entries] == [None, False, False, False]
    assert [entry.states.get("before") is None for entry in entries] == [True, True, False, False]
    assert errors[3] < errors[1], "a cell's own value is remembered: 0.64 to 0.73 of it"
    assert verify_ledger(wanting.config).n_releases == 4
