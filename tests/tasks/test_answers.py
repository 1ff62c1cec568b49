"""Questions about areas and periods: answered from published files alone, as dense matrices answer them, or refused."""

import datetime as dt
import http.server
import json
import re
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import geopandas
import h3
import numpy as np
import polars as pl
import pytest
import shapely
from estimates import day, restate, say_again, write_day
from support import Dataset

import hexveil
from dpmath.joint.factors import Factors
from dpmath.joint.loadings import Loadings
from tasks.answers.answer import FALSE_DISCOVERIES, Answer
from tasks.answers.area_files import read_areas
from tasks.answers.ask import ask
from tasks.answers.page import answer_page
from tasks.answers.published import Published
from tasks.answers.sums import Sums, chains_of, means_of, shares_of, shares_of_days, together, with_link
from tasks.answers.times import hours_of, period_of, weekdays_of
from tasks.answers.words import in_words
from tasks.base.errors import HexveilError
from tasks.output_formats.geography import outline
from tasks.output_formats.hindsight import MOVED
from tasks.output_formats.joint import JOINT, joint_frame

ZONE = "Europe/Zurich"


@pytest.fixture
def published(dataset: Dataset, tmp_path: Path) -> Path:
    """Return the published files of three days, away from all that is private."""
    # the statistics have values of larger areas, the joint table cells' own
    dataset.set(mechanism="estimated", target_error=2.0, epsilon_per_day=4.0, epsilon_total=40.0, timezone=ZONE)
    for number in range(3):
        write_day(dataset, day(number), seed=number)
    for number in range(3):
        dataset.run_day(day(number))
    return Path(shutil.copytree(dataset.folder / "store" / "published", tmp_path / "elsewhere"))


def joint(published: Path, date: dt.date) -> pl.DataFrame:
    return pl.read_parquet(published / f"date={date}" / "joint.parquet", hive_partitioning=False)


def lists(table: pl.DataFrame, name: str) -> np.ndarray:
    return np.array(table[name].to_list(), dtype=float).reshape(table.height, -1)


def dense(table: pl.DataFrame, prefix: str = "") -> np.ndarray:
    """Return the covariance of the cells' errors, as the page on the published files says it is made."""
    common, against = lists(table, f"{prefix}common"), lists(table, f"{prefix}against")
    found = common @ common.T - against @ against.T
    for label, name in (("h3_cell", "of_hexagon"), ("slot_start", "of_slot")):
        same = np.equal.outer(table[label].to_list(), table[label].to_list())
        found += same * (lists(table, prefix + name) @ lists(table, prefix + name).T)
    return found + (0 if prefix else np.diag(table["variance"].to_numpy()))


def row_of(answer: Answer) -> dict:
    (row,) = answer.table.to_dicts()
    return row


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


def districts(cells: list[str], path: Path) -> Path:
    """Write a district that is one hexagon, and one that has half of it and all of another."""
    first, second = (shapely.Polygon(outline(cell)) for cell in cells[:2])
    west, south, east, north = first.bounds
    half = first.intersection(shapely.box(west, south, (west + east) / 2, north))
    frame = geopandas.GeoDataFrame(
        {"code": [1, 2, 2], "name": ["one", "half and other", "half and other"]},
        geometry=[first, half, second],
        crs="EPSG:4326",
    )
    if path.suffix == ".geojson":
        frame.to_file(path, driver="GeoJSON")
    else:
        frame.to_parquet(path)
    return path


@pytest.mark.parametrize("suffix", ["geojson", "geoparquet"])
def test_a_district_takes_a_hexagon_on_its_edge_by_the_share_inside(
    published: Path, tmp_path: Path, suffix: str
) -> None:
    table = joint(published, day(0))
    cells = sorted(table["h3_cell"].unique())
    where = districts(cells, tmp_path / f"districts.{suffix}")
    answer = ask(published, where=where, last=str(day(0)))
    rows = {row["area"]: row for row in answer.table.to_dicts()}
    records = [table.filter(pl.col("h3_cell") == cell)["n_records"].sum() for cell in cells[:2]]
    assert rows["one"]["n_records"] == records[0]
    assert rows["half and other"]["n_records"] == pytest.approx(0.5 * float(records[0]) + float(records[1]), rel=1e-3)
    assert any("1 hexagons are cut by an area's edge" in note for note in answer.notes)
    alone = row_of(ask(published, hexagons=cells[0], last=str(day(0))))
    assert {**rows["one"], "area": "hexagons"} == pytest.approx(alone)
    slots = table.filter(pl.col("h3_cell") == cells[0]).height
    assert alone["share_with_records"] == pytest.approx(slots / 24)
    assert rows["half and other"]["share_with_records"] < alone["share_with_records"] * 1.5
    coarse = h3.cell_to_parent(cells[0], 3)
    inside = table.filter(pl.col("h3_cell").map_elements(lambda one: h3.cell_to_parent(one, 3), pl.String) == coarse)
    assert row_of(ask(published, hexagons=coarse, last=str(day(0))))["n_records"] == inside["n_records"].sum()


def test_a_corridor_has_a_width(published: Path, tmp_path: Path) -> None:
    cells = sorted(joint(published, day(0))["h3_cell"].unique())
    latitude, longitude = h3.cell_to_latlng(cells[0])
    line = {"type": "LineString", "coordinates": [[longitude - 0.001, latitude], [longitude + 0.001, latitude]]}
    path = tmp_path / "road.geojson"
    path.write_text(json.dumps(line))
    with pytest.raises(HexveilError, match="say how wide they are with --width METRES"):
        ask(published, where=path)
    whole, metres = row_of(ask(published, hexagons=cells[0])), 2 * 111.195 * np.cos(np.radians(latitude))
    for width in (100, 200):
        narrow = row_of(ask(published, where=path, width=width))
        expected = (metres * width + np.pi * (width / 2) ** 2) / h3.cell_area(cells[0], "m^2")
        assert narrow["n_records"] / whole["n_records"] == pytest.approx(expected, rel=0.02)
    assert narrow["area"] == "area 1"
    assert narrow["mean"] == pytest.approx(whole["mean"])


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


def test_files_that_are_no_areas_are_refused(published: Path, tmp_path: Path) -> None:
    path = tmp_path / "areas.geojson"
    for text in ("", "[]", "{}", '{"type": "FeatureCollection", "features": [{"type": "Feature", "geometry": {}}]}'):
        path.write_text(text)
        with pytest.raises(HexveilError, match="is neither GeoJSON nor GeoParquet"):
            ask(published, where=path)
    path.write_text('{"type": "Polygon", "coordinates": [[[8.2, 47], [NaN, 47], [8.5, 47.1], [8.2, 47]]]}')
    with pytest.raises(HexveilError, match="has a coordinate that is no number"):
        ask(published, where=path)
    cells = sorted(joint(published, day(0))["h3_cell"].unique())
    districts(cells, path)
    with pytest.raises(HexveilError, match=r"not every area of .* has the property ward; all have code, name"):
        ask(published, where=path, name="ward")
    assert set(ask(published, where=path, name="code").table["area"]) == {"1", "2"}
    elsewhere = geopandas.read_file(path).to_crs("EPSG:3857")
    elsewhere.to_parquet(tmp_path / "metres.parquet")
    with pytest.raises(HexveilError, match="not in longitude and latitude"):
        ask(published, where=tmp_path / "metres.parquet")


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


def test_an_area_with_latitude_and_longitude_swapped_is_said_to_be_so(published: Path, tmp_path: Path) -> None:
    path = districts(sorted(joint(published, day(0))["h3_cell"].unique()), tmp_path / "areas.geojson")
    frame = geopandas.read_file(path)
    frame.set_geometry(shapely.transform(frame.geometry.values, lambda at: at[:, ::-1])).to_file(path, driver="GeoJSON")
    with pytest.raises(HexveilError, match="latitude and longitude seem to be swapped in the file"):
        ask(published, where=path)
    frame.set_geometry([shapely.box(0, 0, 1, 1)] * 3).to_file(path, driver="GeoJSON")
    with pytest.raises(HexveilError, match=r"is in an area; index\.html shows"):
        ask(published, where=path)


def test_areas_without_a_name_are_told_apart_by_what_differs(published: Path, tmp_path: Path) -> None:
    path = districts(sorted(joint(published, day(0))["h3_cell"].unique()), tmp_path / "areas.geojson")
    frame = geopandas.read_file(path).iloc[[0, 2]].drop(columns=["name"])
    frame.assign(kind="Quartier", label=["East", "West"]).to_file(path, driver="GeoJSON")
    assert set(ask(published, where=path).table["area"]) == {"East", "West"}
    frame.assign(kind="Quartier", name=["East", None]).to_file(path, driver="GeoJSON")
    assert set(ask(published, where=path).table["area"]) == {"area 1", "area 2"}


def test_the_width_of_a_corridor_does_not_depend_on_others(published: Path, tmp_path: Path) -> None:
    cells = sorted(joint(published, day(0))["h3_cell"].unique())
    here, there = (h3.cell_to_latlng(cell)[::-1] for cell in cells[:2])
    line, far = shapely.LineString([here, there]), shapely.LineString([(9, 0), (9, 1)])
    path, found = tmp_path / "lines.geojson", []
    for lines in ([line], [line, far], [shapely.GeometryCollection([line, shapely.box(8.9, 0, 9, 0.1)])]):
        geopandas.GeoDataFrame({"name": ["here", "far"][: len(lines)]}, geometry=lines, crs="EPSG:4326").to_file(path)
        table = ask(published, where=path, width=800.0).table.filter(pl.col("area") == "here")
        found.append(table["n_records"].item())
    assert found[1:] == pytest.approx([found[0]] * 2, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("joint.parquet", b""),
        ("joint.parquet", b"PAR1PAR1"),
        ("manifest.json", b"{}"),
        ("manifest.json", b"[]"),
        ("../datapackage.json", b'{"resources": []}'),
        ("../datapackage.json", b"{}"),
    ],
)
def test_a_damaged_file_is_named(published: Path, name: str, content: bytes) -> None:
    (published / f"date={day(1)}" / name).write_bytes(content)
    with pytest.raises(HexveilError, match=rf"{name.removeprefix('../')}|has no day yet"):
        ask(published)


def test_a_file_that_is_not_the_released_one_is_refused_though_it_can_be_read(published: Path) -> None:
    """Such as one of a copy that was broken off, or that somebody changed."""
    folders = [published / f"date={day(number)}" for number in range(2)]
    own = (folders[1] / JOINT).read_bytes()
    shutil.copy(folders[0] / JOINT, folders[1])
    with pytest.raises(HexveilError, match=rf"date={day(1)}/{JOINT} .* is damaged: .*; copy the folder again"):
        ask(published)
    (folders[1] / JOINT).write_bytes(own)
    restate(published, day(1), lambda stated: stated.update(more=1))
    assert ask(published).table.height == 1
    (folders[1] / "manifest.json").write_bytes((folders[0] / "manifest.json").read_bytes())
    with pytest.raises(HexveilError, match=rf"date={day(1)}/manifest.json .* is damaged"):
        ask(published)


def test_a_package_of_before_names_files_without_hashes(published: Path) -> None:
    said = json.loads((published / "datapackage.json").read_text())
    for one in said["resources"]:
        del one["hash"]
    (published / "datapackage.json").write_text(json.dumps(said))
    assert ask(published).table.height == 1
    said["resources"].append({"path": "date=2026-13-45/joint.parquet"})
    (published / "datapackage.json").write_text(json.dumps(said))
    with pytest.raises(HexveilError, match=r"datapackage.json .* is damaged"):
        ask(published)


def test_a_day_whose_errors_are_not_published_is_refused(dataset: Dataset) -> None:
    write_day(dataset, day(0))
    dataset.set(mechanism="clip-user")
    dataset.run_day()
    with pytest.raises(HexveilError, match=r"has no joint\.parquet"):
        ask(dataset.folder / "store" / "published")
    with pytest.raises(HexveilError, match=r"cannot read datapackage\.json"):
        ask(dataset.folder / "store")


@pytest.fixture
def address(published: Path) -> Iterator[str]:
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(published))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_an_address_answers_as_its_folder_does(published: Path, address: str) -> None:
    assert ask(address, by="day").table.equals(ask(published, by="day").table)
    with pytest.raises(HexveilError, match=r"cannot read datapackage\.json of .*: the server answers 404\. Give"):
        ask(f"{address}/nowhere")


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


@pytest.mark.parametrize("again", ["much", None, "nan", "0.5", "-3", "inf", [2]])
def test_a_manifest_that_says_no_number_of_users_who_come_again_is_refused(published: Path, again: object) -> None:
    say_again(published, day(1), again)
    with pytest.raises(HexveilError, match="again must be a number of at least 1"):
        ask(published)


def test_a_manifest_that_says_nothing_of_users_who_come_again_counts_none(published: Path) -> None:
    (table,) = Published(str(published)).days([day(2)], JOINT)
    assert with_link(means_of(table), 3, {}).again == 1


def test_days_of_different_chains_have_no_error_in_common() -> None:
    days = [Sums(10, 5.0, 4.0, 3.9, 1, 1), Sums(10, 7.0, 4.2, 4.1, 1, 1)]
    apart = [replace(day, chain=number) for number, day in enumerate(days)]
    _, variance = together(days, np.array([-1.0, 1.0]))
    _, without = together(apart, np.array([-1.0, 1.0]))
    assert (variance, without) == (pytest.approx(0.3, abs=0.2), pytest.approx(8.2))
    settings = {"grid": 7, "value": {"upper": 80}}
    other = {"grid": 7, "value": {"upper": 60}}
    stated: list[dict[str, Any]] = [
        {"settings": settings, "learned_from": 0, "model": 1},
        {"settings": settings, "learned_from": 1, "model": 1},
        {"settings": other, "learned_from": 0, "model": 1},
        {"settings": settings, "learned_from": 2, "model": 1},
        {"settings": settings, "learned_from": 3, "model": 2},
        {"settings": settings, "model": 2},
    ]
    assert chains_of(stated) == [0, 0, 1, 0, 2, 2], "whose settings are as before goes on with the days before"
    assert chains_of([stated[1], stated[3]]) == [0, 0]


@pytest.mark.parametrize(
    ("changed", "chains"),
    [
        ({"covariates": ["road"]}, [0, 1]),
        ({"settings": {"estimate": {"similar_cells": False}}}, [0, 1]),
        ({"settings": {"dataset": {"timezone": "UTC"}}}, [0, 1]),
        ({"settings": {"columns": {"only": {"type": ["bus"]}}}}, [0, 1]),
        ({"settings": {"value": {"upper": "60"}}}, [0, 1]),
        ({"settings": {"value": {"upper": "80", "typical": "20"}}}, [0, 0]),
        ({"settings": {"statistics": {"limits": ["30"]}}}, [0, 0]),
        ({"kind": "presence", "settings": {"privacy": {"cap": 2}}}, [0, 1]),
    ],
)
def test_a_chain_begins_where_the_first_day_of_it_is_not_asked_about(changed: dict, chains: list[int]) -> None:
    settings = {"value": {"upper": "80"}}
    after = {"model": 1, "learned_from": 5, **changed, "settings": settings | changed.get("settings", {})}
    before = {"model": 1, "learned_from": 3, "settings": settings, "kind": after.get("kind")}
    assert chains_of([before, after]) == chains
    assert chains_of([{**after, "kind": "presence"}, {**after, "kind": "presence"}]) == [0, 0]


def test_counts_of_people_begin_anew_without_means() -> None:
    days = [{"kind": "presence", "settings": {"statistics": {"mean": mean}}} for mean in (True, False, True)]
    assert chains_of(days) == [0, 1, 0]


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


def snippets(published: Path, cells: list[str]) -> list[str]:
    """Return the Python of the page on the published files, about a day and hexagons that there are."""
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "use.md").read_text()
    for old, new in (
        ("2026-03-02", str(day(0))),
        ("871f83210ffffff", cells[0]),
        ("871f83211ffffff", cells[1]),
        ('"published', f'"{published}'),
        ("'published", f"'{published}"),
    ):
        page = page.replace(old, new)
    return re.findall(r"```python\n(.*?)```", page, re.DOTALL)


def test_the_snippets_of_the_page_say_what_ask_says(published: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells = sorted(joint(published, day(0))["h3_cell"].unique())
    by_factors, by_hour = snippets(published, cells)
    names: dict = {}
    exec(by_factors, names)
    row = row_of(ask(published, hexagons=",".join(cells[:2]), last=str(day(0))))
    assert names["mean"] == pytest.approx(row["mean"])
    assert np.sqrt(names["variance"]) == pytest.approx(row["mean_sd"])
    assert capsys.readouterr().out == f"{row['mean']:.1f}, within {1.96 * row['mean_sd']:.1f}\n"
    exec(by_hour, names)
    asked = ask(published, by="hour").table
    assert names["hours"].pl()["n_records"].to_list() == asked["n_records"].to_list()
    assert names["hours"].pl()["local_hour"].to_list() == asked["hour"].to_list()


def test_a_page_shows_the_areas_with_their_numbers_and_asks_for_nothing(published: Path, tmp_path: Path) -> None:
    cells = sorted(joint(published, day(0))["h3_cell"].unique())
    where = districts(cells, tmp_path / "districts.geojson")
    frame = geopandas.read_file(where)
    frame["name"] = ["<b>one</b>", *frame["name"][1:]]
    frame.to_file(where, driver="GeoJSON")
    answer = ask(published, where=where, by="day")
    page = answer_page(answer).decode()
    n_days = answer.table["day"].n_unique()
    assert page.count("<svg") == n_days
    assert page.count("<path") == answer.table.height
    assert "&lt;b&gt;one&lt;/b&gt;" in page
    assert "<b>" not in page
    for row in answer.table.iter_rows(named=True):
        assert f">{row['mean']:.1f}</text>" in page
        assert f">{row['mean_ci95_low']:.1f} to {row['mean_ci95_high']:.1f}</text>" in page
    assert "default-src 'none'" in page
    assert not re.findall(r'(?:src|href)="(?!data:,)', page)
    assert "<script" not in page


def test_a_page_shows_the_areas_that_have_records_as_large_as_it_can(published: Path, tmp_path: Path) -> None:
    here, far = shapely.box(8.2, 47.0, 8.5, 47.2), shapely.box(1, 1, 2, 2)
    path, pages = tmp_path / "areas.geojson", []
    for shapes in ([here], [here, far]):
        frame = geopandas.GeoDataFrame({"name": ["here", "far"][: len(shapes)]}, geometry=shapes, crs="EPSG:4326")
        frame.to_file(path, driver="GeoJSON")
        pages.append(answer_page(ask(published, where=path)).decode())
    of_one, of_both = (re.findall(r'viewBox="[^"]*"|<path d="[^"]*"', page) for page in pages)
    assert of_both == of_one
    assert "1 areas have no records on these days and hours: far." in pages[1]


def test_numbers_have_the_digits_that_their_deviation_leaves() -> None:
    def said(mean: float, sd: float, name: str = "mean", **more: object) -> list[object]:
        low, high = mean - 1.96 * sd, mean + 1.96 * sd
        return list(
            in_words({name: mean, f"{name}_sd": sd, f"{name}_ci95_low": low, f"{name}_ci95_high": high} | more).values()
        )

    assert said(17.9, 0.41) == ["17.9", "0.41", "17.1 to 18.7"]
    assert said(0.0423, 0.0021) == ["0.042", "0.0021", "0.038 to 0.046"]
    assert said(101325.4, 31.2) == ["101,325.4", "31.2", "101,264.2 to 101,386.6"]
    assert said(-0.01, 0.1) == ["0.0", "0.1", "-0.2 to 0.2"]
    assert said(5.0, 0.0) == ["5.0", "0", "5.0 to 5.0"]
    assert said(96210.3, 12.0, "n_users") == ["96,210", "12", "96,187 to 96,234"]
    assert said(-0.007, 0.0092, "change", share_above_30=0.8, changed=False) == [
        "-0.007",
        "0.0092",
        "-0.025 to 0.011",
        "0.8",
        "no",
    ]
    names = in_words({"share_above_minus_2_5_sd": 0.1, "share_above_50_ci95_low": 0.0, "share_above_50_ci95_high": 1.0})
    assert list(names) == ["share above -2.5 sd", "share above 50 95 %"]
    assert in_words({"p85_ci95_low": 30.5, "p85_ci95_high": 0.05}) == {"p85 95 %": "30.5 to 0.05"}


def test_a_page_is_made_of_every_kind_of_area_and_of_changes(published: Path) -> None:
    cells = sorted(joint(published, day(0))["h3_cell"].unique())
    questions: list[dict[str, Any]] = [{"hexagons": ",".join(cells[:2])}, {"by": "area"}, {}]
    for question in questions:
        page = answer_page(ask(published, first=str(day(1)), compare=str(day(0)), **question)).decode()
        assert "Change of mean speed" in page
        assert page.count("<path") == ask(published, first=str(day(1)), compare=str(day(0)), **question).table.height
    few = ask(published, by="day")
    many = pl.concat([few.table.head(1).with_columns(day=pl.lit(str(number))) for number in range(32)])
    with pytest.raises(HexveilError, match="at most 31 maps, and this answer 32"):
        answer_page(replace(few, table=many))


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


@pytest.mark.parametrize("cut", [True, False], ids=["cut at the meridian", "runs on past it"])
def test_areas_over_the_180th_meridian_have_hexagons_of_both_sides(cut: bool, tmp_path: Path) -> None:
    """As if longitudes were counted from 0 to 360."""
    cells = sorted(h3.grid_disk(h3.latlng_to_cell(-16.5, 180.0, 6), 6))
    whole, line = shapely.box(179.9, -16.7, 180.15, -16.3), shapely.LineString([(179.9999, -16.6), (179.9999, -16.4)])
    parts = [shapely.box(179.9, -16.7, 180, -16.3), shapely.box(-180, -16.7, -179.85, -16.3)]
    where = tmp_path / "areas.geojson"
    shapes = {"area": shapely.MultiPolygon(parts) if cut else whole, "line": line}
    geopandas.GeoDataFrame({"name": list(shapes)}, geometry=list(shapes.values()), crs=4326).to_file(where)
    found = read_areas(where, None, 1000.0)
    names, share = found.shares(cells)
    rings = [[(degrees % 360, latitude) for degrees, latitude in outline(cell)] for cell in cells]
    polygons = [shapely.Polygon(ring) for ring in rings]
    expected = [polygon.intersection(whole).area / polygon.area for polygon in polygons]
    of_area, of_line = share.toarray()[:, names.index("area")], share.toarray()[:, names.index("line")]
    assert of_area == pytest.approx(np.array(expected), abs=1e-6)
    sides = np.array([h3.cell_to_latlng(cell)[1] > 0 for cell in cells])
    assert of_area[sides].sum() > 5
    assert of_area[~sides].sum() > 5
    assert of_line[sides].sum() > 0.1
    assert of_line[~sides].sum() > 0.1
    assert found.n_hexagons("area", 6) == pytest.approx(of_area.sum(), rel=0.02)


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
