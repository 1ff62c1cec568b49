"""Questions about areas and periods: answered from published files alone, as dense matrices answer them, or refused."""

import datetime as dt
import warnings
from dataclasses import replace
from pathlib import Path

import geopandas
import numpy as np
import polars as pl
import pytest
import shapely
from answered import ZONE, dense, districts, joint, row_of
from estimates import day, restate, say_again, write_day
from support import Dataset

import hexveil
from dpmath.joint.factors import Factors
from dpmath.joint.loadings import Loadings
from tasks.answers.ask import ask
from tasks.answers.rows import FALSE_DISCOVERIES
from tasks.answers.sums import Sums, shares_of, shares_of_days, together
from tasks.answers.times import hours_of, period_of, weekdays_of
from tasks.base.errors import HexveilError
from tasks.output_formats.hindsight import MOVED
from tasks.output_formats.joint import joint_frame


def test_the_mean_of_a_day_and_its_error_are_those_of_the_dense_covariance(published: Path) -> None:
    table = joint(published, day(1))
    row = row_of(ask(published, first=str(day(1)), last=str(day(1))))
    share = table["n_records"].to_numpy() / table["n_records"].sum()
    assert row["mean"] == pytest.approx(share @ table["cell_mean"].to_numpy())
    assert row["mean_sd"] == pytest.approx(np.sqrt(share @ dense(table) @ share))
    assert (row["mean_ci95_low"], row["mean_ci95_high"]) == pytest.approx(
        (row["mean"] - 1.96 * row["mean_sd"], row["mean"] + 1.96 * row["mean_sd"])
    )
    assert (row["n_days"], row["n_cells"], row["n_records"]) == (1, table.height, table["n_records"].sum())
    statistics = pl.read_parquet(published / f"date={day(1)}" / "statistics.parquet", hive_partitioning=False)
    own = (statistics["mean_area"] == "cell").to_numpy()
    assert table.filter(own)["cell_mean"].clip(0, None).to_list() == pytest.approx(
        statistics.filter(own)["mean"].to_list()
    )
    assert np.sqrt(np.diag(dense(table)))[own] == pytest.approx(statistics.filter(own)["mean_sd"].to_numpy(), rel=0.02)


def test_days_go_together_by_what_lasts_as_the_later_day_knows_it(published: Path) -> None:
    """If they are added, also by what users differ by; if they are compared, without that."""
    again = [1.5, 2.5, 4.0]
    for number, one in enumerate(again):
        say_again(published, day(number), one)
    tables = [joint(published, day(number)) for number in range(3)]
    shares = [table["n_records"].to_numpy() / table["n_records"].sum() for table in tables]
    variance = [share @ dense(table) @ share for table, share in zip(tables, shares, strict=True)]
    lasting = [share @ dense(table, "lasting_") @ share for table, share in zip(tables, shares, strict=True)]
    change_of = np.array([-1, 1, 1])
    covariance, compared_covariance = np.diag(variance), np.diag(variance)
    for one, other in ((0, 1), (0, 2), (1, 2)):
        for of_both, signs in ((covariance, np.ones(3)), (compared_covariance, change_of)):
            factor = again[other] if signs[one] * signs[other] > 0 else 1
            both = min(factor * max(lasting[other], 0), variance[one], variance[other])
            of_both[one, other] = of_both[other, one] = both
    weight = np.array([table["n_records"].sum() for table in tables], dtype=float)
    mean = weight / weight.sum()
    row = row_of(ask(published))
    assert row["mean_sd"] == pytest.approx(np.sqrt(mean @ covariance @ mean))
    assert row["mean_sd"] > 1.02 * np.sqrt(mean**2 @ variance), "days are not independent"
    compared = row_of(ask(published, first=str(day(1)), last=str(day(2)), compare=f"{day(0)}:{day(0)}"))
    change = np.array([-1, *(weight[1:] / weight[1:].sum())])
    assert compared["change"] == pytest.approx(compared["mean"] - compared["mean_before"])
    least = change**2 @ (np.array(variance) - np.clip(lasting, 0, variance))
    assert compared["change_sd"] == pytest.approx(np.sqrt(max(change @ compared_covariance @ change, least)))


def test_parts_add_up_to_the_whole(published: Path) -> None:
    whole = row_of(ask(published))
    for by in ("day", "week", "month", "hour", "area", "day,hour", "area,hour", "week,area"):
        parts = ask(published, by=by).table
        assert parts["n_records"].sum() == pytest.approx(whole["n_records"]), by
        assert parts["n_cells"].sum() == whole["n_cells"]
        assert (parts["mean"] * parts["n_records"]).sum() / whole["n_records"] == pytest.approx(whole["mean"])
    assert set(ask(published, by="area").table["area"]) == {
        cell for number in range(3) for cell in joint(published, day(number))["h3_cell"]
    }


def test_hours_are_local_and_weekdays_count(published: Path) -> None:
    table = joint(published, day(0)).with_columns(hour=pl.col("slot_start").dt.convert_time_zone(ZONE).dt.hour())
    some = table.filter(pl.col("hour").is_between(8, 9))
    row = row_of(ask(published, last=str(day(0)), hours="8-10"))
    assert (row["n_cells"], row["n_records"]) == (some.height, some["n_records"].sum())
    by_hour = ask(published, last=str(day(0)), hours="8-10", by="hour").table
    assert by_hour["hour"].to_list() == [8, 9]
    weekday = f"{day(1):%a}".lower()
    assert row_of(ask(published, days=weekday, by="day"))["day"] == str(day(1))


def test_times_are_read_as_people_write_them() -> None:
    assert weekdays_of("mon-fri") == frozenset(range(5))
    assert weekdays_of("Sat, sun") == {5, 6}
    assert weekdays_of("fri-mon") == {4, 5, 6, 0}
    assert hours_of("22-5") == {22, 23, 0, 1, 2, 3, 4}
    assert hours_of("7,16-18") == {7, 16, 17}
    assert hours_of("0-24") == frozenset(range(24))
    assert period_of(dt.date(2026, 12, 31), "week") == "2026-W53"
    assert period_of(dt.date(2027, 1, 3), "week") == "2026-W53"
    assert period_of(dt.date(2026, 12, 31), "month") == "2026-12"


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"hours": "25-26"}, "must be like 7-11"),
        ({"hours": "7-7"}, "must be like 7-11"),
        ({"days": "monday"}, "must be like mon-fri"),
        ({"by": "year"}, "must name one of day, week and month"),
        ({"by": "day,week"}, "must name one of day, week and month"),
        ({"first": "2026-13-01"}, "must be a day like"),
        ({"first": "2026-01-17", "last": "2026-01-16"}, "give --from before --to"),
        ({"first": "2031-01-01", "last": "2031-02-01"}, "there are 2026-01-15 to 2026-01-17"),
        ({"first": "2031-01-01"}, "no such day since 2031-01-01 is published; there are 2026-01-15"),
        ({"last": "2025-01-01"}, "no such day by 2025-01-01 is published; there are 2026-01-15"),
        ({"compare": "2026-01-17:2026-01-15"}, "the first day before the last"),
        ({"compare": "2026-01-15", "by": "day"}, "leave out --by"),
        ({"hexagons": "here"}, "here is no H3 cell"),
        ({"hexagons": "871fb4662ffffff", "where": "x"}, "not both"),
        ({"width": 50.0}, "give where too"),
        ({"where": "nowhere.geojson"}, "cannot read nowhere.geojson"),
        ({"hours": "3"}, "no hexagon with records"),
        ({"hexagons": ""}, "is no H3 cell"),
        ({"compare": ""}, "must be a day like"),
        ({"hexagons": "871fb4662ffffff", "by": "area"}, "by area answers for every hexagon"),
        ({"where": "x", "width": -60.0}, "must be metres above 0"),
        ({"of": "n_users"}, "published where presence is secret"),
    ],
)
def test_what_cannot_be_answered_is_said_in_a_sentence(published: Path, question: dict, message: str) -> None:
    with pytest.raises(HexveilError, match=message):
        ask(published, **question)


def with_grid(published: Path, date: dt.date, **grid: int) -> None:
    """Let the manifest of a day say another grid."""
    restate(published, date, lambda stated: stated["grid"].update(grid))


def test_hours_that_cut_a_slot_are_refused(published: Path) -> None:
    for number in range(3):
        with_grid(published, day(number), slot_minutes=240)
    for hours in ("7-11", "8-9", "8-13", "8-12,15"):
        with pytest.raises(HexveilError, match="slots of 240 minutes: hours must not cut one, as"):
            ask(published, hours=hours)
    assert row_of(ask(published, hours="20-12"))["n_records"] > 0
    with_grid(published, day(2), slot_minutes=60)
    with pytest.raises(HexveilError, match=f"{day(0)} is published in slots of 240"):
        ask(published, hours="7-11")


def test_the_share_with_records_is_that_of_the_grid_of_each_day(published: Path) -> None:
    cell = max(joint(published, day(0))["h3_cell"])
    n_slots = joint(published, day(0)).filter(pl.col("h3_cell") == cell).height
    about = {"hexagons": cell.upper(), "first": str(day(0)), "last": str(day(0))}
    assert row_of(ask(published, **about))["share_with_records"] == pytest.approx(n_slots / 24)
    with_grid(published, day(2), slot_minutes=30, h3_resolution=8)
    assert row_of(ask(published, **about))["share_with_records"] == pytest.approx(n_slots / 24)
    assert "These days are of several grids." in ask(published).notes
    of_both = sum(joint(published, day(one)).filter(pl.col("h3_cell") == cell).height for one in (0, 2))
    both = row_of(ask(published, hexagons=cell, days=f"{day(0):%a},{day(2):%a}"))
    assert both["share_with_records"] == pytest.approx(of_both / (24 + 7 * 48))


def test_what_all_hexagons_have_is_of_those_of_each_grid(dataset: Dataset) -> None:
    dataset.set(mechanism="estimated", epsilon_per_day=4.0, epsilon_total=40.0, timezone=ZONE)
    shares = []
    for number, resolution in enumerate((7, 8)):
        dataset.set(h3_resolution=resolution)
        write_day(dataset, day(number))
        dataset.run_day(day(number))
        shares += ask(dataset.folder / "store" / "published", first=day(number)).table["share_with_records"].to_list()
    both = ask(dataset.folder / "store" / "published")
    assert row_of(both)["share_with_records"] == pytest.approx(np.mean(shares))
    assert shares == pytest.approx([0.25] * 2, abs=0.05)
    apart = ask(dataset.folder / "store" / "published", by="area").table
    assert min(apart["share_with_records"].to_list()) >= 4 / 24, "a day of another grid is none of a hexagon's"
    with pytest.raises(HexveilError, match="no area has records on these days and hours in both periods"):
        ask(dataset.folder / "store" / "published", by="area", first=day(1), compare=str(day(0)))


def test_what_is_missing_of_what_was_asked_is_said(published: Path, tmp_path: Path) -> None:
    assert len(ask(published).notes) == 1
    found = ask(published, first="2026-01-10", compare="2026-01-12:2026-01-15").notes
    assert "5 of the days asked about from 2026-01-10 to 2026-01-17 are not published" in found[1]
    assert "3 of the days asked about from 2026-01-12 to 2026-01-15 are not published" in found[2]
    assert ask(published, first=day(1), last=day(4)).notes[1].endswith(f" are not published: {day(3)}, {day(4)}.")
    path = districts(sorted(joint(published, day(0))["h3_cell"].unique()), tmp_path / "areas.geojson")
    frame = geopandas.read_file(path)
    far = geopandas.GeoDataFrame({"code": [3], "name": ["Far"]}, geometry=[shapely.box(0, 0, 1, 1)], crs="EPSG:4326")
    geopandas.pd.concat([frame, far]).to_file(path, driver="GeoJSON")
    assert "1 areas have no records on these days and hours: Far." in ask(published, where=path).notes


def test_a_notebook_is_warned_of_missing_days_and_not_of_usual_notes(published: Path) -> None:
    with pytest.warns(UserWarning, match="are not published") as warned:
        hexveil.ask(published, first=day(1), last=day(4))
    assert len(warned) == 1
    assert Path(warned[0].filename) == Path(__file__), "the line that asks"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hexveil.ask(published, by="area", compare=f"{day(0)}:{day(0)}", first=day(1))


def test_a_notebook_gets_a_table(published: Path) -> None:
    found = hexveil.ask(published, by="day")
    assert isinstance(found, pl.DataFrame)
    assert found.height == 3


def test_changes_are_listed_by_the_rule_of_benjamini_and_hochberg(published: Path) -> None:
    found = ask(published, first=str(day(2)), compare=f"{day(0)}:{day(0)}", by="area,hour").table
    p = np.sort(found["p_value"].to_numpy())
    passing = np.flatnonzero(p <= FALSE_DISCOVERIES * np.arange(1, p.size + 1) / p.size)
    assert found["changed"].sum() == (passing.max() + 1 if passing.size else 0)


def test_no_interval_goes_beyond_what_values_can_be(published: Path) -> None:
    wide = ask(published, by="day").table
    lower = round(min(wide["mean"].to_list()) - 0.01, 6)
    for date in map(day, range(3)):
        restate(published, date, lambda stated: stated["settings"]["value"].update(lower=str(lower)))
    narrow = ask(published, by="day").table
    assert narrow["mean_ci95_low"].min() == lower
    assert narrow["mean_ci95_high"].to_list() == wide["mean_ci95_high"].to_list()
    assert narrow["mean_sd"].to_list() == wide["mean_sd"].to_list()


def test_what_no_two_days_have_in_common_is_left_in_a_difference() -> None:
    """By the numbers of areas that differ from day to day, the difference of two days would have no error."""
    days = [Sums(10, 5.0, 4.0, 3.9, 1, 1), Sums(10, 7.0, 4.2, 4.1, 1, 1), Sums(10, 6.0, 4.0, 3.9, 1, 1)]
    change, variance = together(days, np.array([-1, 0.5, 0.5]))
    assert change == pytest.approx(1.5)
    assert variance >= 0.1 * (1 + 1 / 4 + 1 / 4)
    mean, variance = together(days, shares_of_days(days, [True] * 3))
    assert mean == pytest.approx(6.0)
    assert 3.9 < variance < 4.2


def test_users_who_come_again_count_in_sums_of_days_and_not_in_differences() -> None:
    days = [Sums(10, 5.0, 4.0, 0.5, 1, 1, again=again) for again in (7.0, 3.0)]
    for share, shared in (([0.5, 0.5], 1.5), ([-1.0, 1.0], 0.5)):
        _, variance = together(days, np.array(share))
        assert variance == pytest.approx(4 * np.square(share).sum() + 2 * np.prod(share) * shared)
    apart = [replace(day, chain=number) for number, day in enumerate(days)]
    _, variance = together(apart, np.array([0.5, 0.5]))
    assert variance == pytest.approx(2 + 0.5 * 1.0), "users come again also where nothing else is learned"
    _, most = together([replace(day, again=100.0) for day in days], np.array([0.5, 0.5]))
    assert most == pytest.approx(4), "no more than each has by itself"


@pytest.mark.parametrize(("first", "second"), [(0.3, 0.3), (0.3, 0.9), (0.9, 0.3), (0.999, 0.1), (0.0, 1.0)])
def test_shares_on_two_days_are_compared_as_those_of_one_sample_above_two_points(first: float, second: float) -> None:
    """What is off by the same in both shares cancels; else it would where nearly all are above on one day alone."""
    known = [(share, 0.04 * share * (1 - share)) for share in (first, second)]
    days = [Sums(10, share, variance, variance, 1, 1, is_share=True) for share, variance in known]
    places = (np.arange(3000) + 0.5) / 3000
    exact = 0.04 * np.var(1.0 * (places < second) - (places < first))
    assert together(days, np.array([-1.0, 1.0]))[1] == pytest.approx(exact, abs=1e-8)
    as_means = [replace(day, is_share=False) for day in days]
    half = np.array([0.5, 0.5])
    assert together(days, half) == together(as_means, half), "those that are added count as if all were alike"


def test_periods_that_overlap_are_compared_by_what_each_day_has_in_both(published: Path) -> None:
    first, last = str(day(0)), str(day(2))
    found = ask(published, first=first, last=last, compare=f"{first}:{first}").table.to_dicts()[0]
    assert found["change"] == pytest.approx(found["mean"] - found["mean_before"])
    assert 0 < found["change_sd"] < found["mean_sd"] + found["mean_before_sd"]
    swapped = ask(published, first=first, last=first, compare=f"{first}:{last}").table.to_dicts()[0]
    assert swapped["change"] == pytest.approx(-found["change"])
    assert swapped["change_sd"] == pytest.approx(found["change_sd"])
    with pytest.raises(HexveilError, match="both periods are the same days"):
        ask(published, first=first, last=last, compare=f"{first}:{last}")


def test_a_notebook_may_give_lists_and_days(published: Path) -> None:
    cells = sorted(joint(published, day(0))["h3_cell"].unique())[:2]
    said = ask(
        published, hexagons=", ".join(cells) + ",", hours="8,9", by="day,hour", first=str(day(1)), days="fri,sat"
    )
    given = ask(
        published,
        hexagons=cells,
        hours=[8, 9],
        by=["day", "hour"],
        first=dt.datetime.combine(day(1), dt.time()),
        days=["fri", "sat"],
    )
    assert given.table.equals(said.table)
    assert said.table.height > 2
    compared = ask(published, first=day(2), last=day(2), compare=[day(0), day(1)], hours=8).table
    assert compared.equals(ask(published, first=str(day(2)), compare=f"{day(0)}:{day(1)}", hours="8").table)


def test_shares_move_with_means_that_were_learned_of_since() -> None:
    none = np.zeros((2, 0))
    nothing = Factors(np.arange(2), np.zeros(2, dtype=np.int64), none, none, none, none, np.zeros(2))
    found = Loadings(nothing, nothing, 1.0, 1.0)
    cells = pl.DataFrame(
        {"h3_cell": ["871f83210ffffff", "871f83211ffffff"], "slot_start": [dt.datetime(2026, 3, 2, 8)] * 2}
    )
    n_records = pl.Series([1, 1])
    joint = joint_frame(cells, {"n_records": n_records, "cell_mean": pl.Series([30.0, 40.0])}, found, 1.0)
    since = joint.with_columns(pl.Series(MOVED, [2.0, -1.0]))
    numbers = {"limit": [30.0, 30.0], "share_above": [0.5, 0.99], "by_mean": [0.02, -0.05]}
    shares = joint_frame(cells, {name: pl.Series(each) for name, each in numbers.items()}, found, 1.0)
    assert shares_of(joint, shares, 30.0).number.tolist() == [0.5, 0.99]
    assert shares_of(since, shares, 30.0).number.tolist() == pytest.approx([0.54, 1.0])
