"""The comparison of maps: its guesses, its tables and its place in the documentation; no map is released here."""

import datetime as dt
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tasks.base.config import load_config
from tests.bench import map_tables, page, year_of_maps
from tests.bench.guesses import NoisyMeans, best_constant, noisy_means, precise_constant, shrunk, true_day
from tests.bench.maps import CITIES, config_of

DAY = dt.datetime(2026, 3, 2, 8, tzinfo=dt.UTC)


def config(epsilon: float = 2):
    return config_of(CITIES[-1], Path("unused"), epsilon, {})


def pairs(n_cells: int, n_users: int) -> pl.DataFrame:
    """Return users with 10 records in every cell: the values of cell g are g km/h, and the last is missing."""
    cell, user = (each.ravel() for each in np.indices((n_cells, n_users)))
    missing = 4_000  # the midpoint of 0 to 80 km/h, in ticks of 0.01
    return pl.DataFrame(
        {
            "slot_start": [DAY] * cell.size,
            "h3_cell": cell.astype(np.uint64),
            "user_id": user.astype(str),
            "n_records": 10,
            "n_missing": 1,
            "total_ticks": 900 * cell + missing,
        }
    )


def test_the_true_mean_of_a_cell_is_that_of_its_values_without_the_missing_ones() -> None:
    day = true_day(pairs(4, 3), config())
    assert day.mean.tolist() == pytest.approx([0, 1, 2, 3])
    assert day.records.tolist() == [30] * 4
    assert best_constant(day).tolist() == pytest.approx([1.5] * 4)


@pytest.mark.statistical
def test_noisy_means_err_as_much_as_they_say() -> None:
    """A chi-squared of 4,000 draws leaves these limits less than once in 1e9."""
    day = true_day(pairs(4_000, 3), config(1000))
    noisy = noisy_means(day, config(1000))
    truth = (9 * day.mean + 40) / 10  # with the midpoint for what is missing
    assert ((noisy.mean - truth) ** 2 / noisy.variance).mean() == pytest.approx(1, abs=0.14)


def test_means_are_shrunk_the_more_the_noisier_they_are(rng: np.random.Generator) -> None:
    mean = rng.uniform(20, 60, 500)
    nearly_exact, nothing = (shrunk(NoisyMeans(mean, np.full(500, noise)), config()) for noise in (1e-6, 1e6))
    assert nearly_exact == pytest.approx(mean, abs=1e-3)
    assert nothing == pytest.approx(np.full(500, mean.mean()))
    uneven = NoisyMeans(mean, np.where(mean > 40, 1e9, 1.0))
    assert precise_constant(uneven)[0] == pytest.approx(mean[mean <= 40].mean())


def measured(n_days: int = 2) -> tuple[pl.DataFrame, pl.DataFrame]:
    dates = [DAY.date() + dt.timedelta(days=number) for number in range(n_days)]
    setting = [
        {"city": "demo city", "epsilon": epsilon, "draw": 0, "date": date} for epsilon in (1, 2) for date in dates
    ]
    guesses = ("estimated", "planned", "best constant", "yesterday's release", "James-Stein")
    errors = {"skill": 0.5, "error": 3.0, "cells": 7, "covered_records": 0.25, "covered_error": 2.0}
    group = {"cells": 10, "mean_absolute_error": 1.0, "bias": 0.0}
    rows = [{**one, "guess": guess, **errors} for one in setting for guess in guesses]
    groups = [
        {**one, "by": by, "group": number, **group, "coverage_of_cells": 0.9 + number / 100}
        for one in setting
        for by in ("published mean", "records", "hour")
        for number in range(5)
    ]
    return pl.DataFrame(rows), pl.DataFrame(groups)


def test_the_tables_say_what_was_measured() -> None:
    tables = list(map_tables.tables(*measured()).values())
    assert tables[0].row(0) == ("demo city", "estimated", "0.5 / 3.0", "0.5 / 3.0")
    assert tables[1].row(0) == ("demo city", 1, "estimated", "0.5 (0.5)", "0.5 (0.5)")
    assert tables[2].row(0) == ("demo city", "1", "7", "25.0", "2.0")
    assert tables[3].filter(epsilon=1)["of cells, %"].to_list() == ["90, 91, 92, 93, 94"] * 2 + ["90 to 94"]


def test_the_page_and_the_documentation_show_the_maps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, groups = measured()
    rows.write_csv(tmp_path / "maps.csv")
    groups.write_csv(tmp_path / "maps_groups.csv")
    assert "Skill of the estimate on each day" in page.write_page(tmp_path, "3").read_text()
    text = map_tables.PAGE.read_text()
    copied = tmp_path / "page.md"
    copied.write_text(text)
    monkeypatch.setattr(map_tables, "PAGE", copied)
    monkeypatch.setattr(map_tables, "PICTURE", tmp_path / "picture.png")
    for _ in range(2):
        others = {"year": ("Months", pl.DataFrame({"month": ["2026-01"]})), "large": ("Days", pl.DataFrame())}
        map_tables.write_docs(*page.read_maps(tmp_path), others)
    assert copied.read_text().count("| demo city | estimated | 0.5 / 3.0 | 0.5 / 3.0 |") == 1
    assert copied.read_text().count("| 2026-01 |") == 1
    assert (tmp_path / "picture.png").exists()


def test_365_days_of_the_year_cost_at_most_the_epsilon_of_all(tmp_path: Path) -> None:
    config = load_config(year_of_maps.write_config(tmp_path))
    currency, privacy = config.privacy.currency, config.privacy
    of_all = currency.within(config.budget.epsilon_total)
    assert 0.99 * of_all < 365 * currency.within(privacy.epsilon_per_day) <= of_all


def test_a_year_is_shown_by_its_months(tmp_path: Path) -> None:
    took = {"seconds": 90.0, "cpu_seconds": 80.0, "peak_mib": 9.0, "store_mib": 8.0}
    account = {"epsilon_total_after": "9.99", "epsilon_left": "0.01", "in_words": "(9.99, 1e-6)-DP"}
    whole = {"n_days": 3, "epsilon_per_day": 0.4, **took, **account}
    pl.DataFrame([whole]).write_csv(tmp_path / "year_of_maps.csv")
    error = {"mean_absolute_error": 2.0, "mean_absolute_error_of_best_constant": 6.0}
    dates = [dt.date(2026, 1, 30), dt.date(2026, 1, 31), dt.date(2026, 2, 1)]
    days = [{"date": date, "cells": 700, "skill": 0.8, **error, "coverage_of_cells": 0.95} for date in dates]
    pl.DataFrame(days).write_csv(tmp_path / "year_of_maps_days.csv")
    text = page.write_page(tmp_path, "3").read_text()
    assert "<td>2026-01</td><td>2</td>" in text
    assert "<td>2026-02</td><td>1</td>" in text
    assert "(9.99, 1e-6)-DP" in text
