"""The bench of answers: its days are what they are said to be, and its counts of intervals are right."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tasks.answers.sums import Sums
from tests.bench import answers, map_tables, page
from tests.bench.answers import Known, drawn
from tests.bench.made_days import CITIES, made_days
from tests.bench.quantities import QUANTITIES, records_of_day

NOISE = next(city for city in CITIES if city.name == "noise level")
SMALL = replace(
    NOISE,
    dates=NOISE.dates[:2],
    records=lambda draw, date: records_of_day(QUANTITIES["noise level"], draw, date, n_users=50),
)


def test_a_made_day_says_means_and_shares_beside_what_they_were() -> None:
    days = list(made_days(SMALL, 5, 1))
    assert [len(day.said) for day in days] == [3, 3], "the mean, and the shares above two limits"
    records = SMALL.records(1, SMALL.dates[1])
    table = days[1].said[0].cells
    assert table["n_records"].sum() == records.value.size
    weights = table["n_records"].to_numpy()
    lower, upper = SMALL.bounds
    for truth, of_records in zip(
        days[1].truth,
        [(records.value - lower) / (upper - lower) * 100]
        + [100 * ((records.value - lower) / (upper - lower) * 100 > limit + 1e-9) for limit in SMALL.limits],
        strict=True,
    ):
        scale = 1 if truth is days[1].truth[0] else 100
        assert scale * np.average(truth, weights=weights) == pytest.approx(of_records.mean(), abs=0.05)
    again = list(made_days(SMALL, 5, 1))
    assert again[1].said[0].number.tolist() == days[1].said[0].number.tolist(), "a draw can be drawn again"


def test_areas_are_of_neighbours_and_the_same_at_each_run() -> None:
    day = next(made_days(replace(SMALL, dates=SMALL.dates[:1]), 5, 1))
    cells = sorted(set(day.said[0].cells["h3_cell"]))
    areas = drawn(cells, 3)
    assert areas == drawn(cells, 3)
    assert {len(one) for one in areas.areas} == {1, 2, 4, 8, 13}
    names, shares = areas.shares(cells)
    assert shares.sum(axis=0).tolist() == [len(areas.areas[int(name)]) for name in names]


def known(errors: list[float], deviation: float = 1.0) -> Known:
    said = [Sums(10, 50 + error, deviation**2, 0.0, 1, 20) for error in errors]
    return Known(list(range(len(errors))), said, [50.0] * len(errors))


def test_errors_of_days_weeks_and_changes_are_those_of_their_means() -> None:
    one = known([0.0] * 7 + [7.0] * 7)
    assert one.error(range(7, 8)) == pytest.approx((7, 1))
    assert one.error(range(7, 14)) == pytest.approx((7, 1 / np.sqrt(7)))
    assert one.error(range(7, 14), range(7)) == pytest.approx((7, np.sqrt(2 / 7)))
    assert one.error(range(20, 21)) is None
    rows = pl.DataFrame(answers._rows("mean", {("0", 0): one, ("1", 0): known([0.0] * 14)}, 14))
    found = {(row["question"], row["areas"]): (row["held"], row["n"]) for row in rows.iter_rows(named=True)}
    assert found["a day", "small"] == (21, 28)
    assert found["a week", "small"] == (3, 4)
    assert found["a week, change", "small"] == (1, 2)
    assert found["a week, change", "lists"] == (0, 1), "the only list names an area"
    assert found["a day, change", "lists"] == (12, 13)


def test_the_table_says_what_was_measured() -> None:
    rows = [
        {"city": "demo city", "epsilon": epsilon, "draw": 0, "of": "mean", "question": question, **count}
        for epsilon in (1, 2)
        for question in ("a day", "a week, change")
        for count in (
            {"areas": "small", "n": 10, "held": 9},
            {"areas": "large", "n": 10, "held": 8},
            {"areas": "lists", "n": 20, "held": 19},
        )
    ]
    table = answers.table(pl.DataFrame(rows))
    assert table.row(0) == ("demo city", "mean", "a day", "85 (80)", "85 (80)")
    assert table.row(1) == ("demo city", "mean", "a week, change", "85 (80), 5", "85 (80), 5")
    assert "Draws: 1" in answers.caption(pl.DataFrame(rows))


def test_the_table_gets_into_the_documentation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = {"areas": "small", "n": 10, "held": 9}
    row = {"city": "a city", "epsilon": 1, "draw": 0, "of": "mean", "question": "a day", **count}
    pl.DataFrame([row]).write_csv(tmp_path / "answers.csv")
    copied = tmp_path / "page.md"
    copied.write_text(map_tables.PAGE.read_text())
    monkeypatch.setattr(map_tables, "PAGE", copied)
    map_tables.write_docs(*page.read_maps(tmp_path), page.tables_of_docs(tmp_path))
    assert "| a city | mean | a day | 90 (-) |" in copied.read_text()
