"""Zones of the owner's file: published beside the hexagons as ask answers, verified, and refused before a draw."""

import json
from pathlib import Path

import geopandas
import numpy as np
import polars as pl
import pytest
import shapely
from estimates import PLACES, day, released, write_day
from support import Dataset
from typer.testing import CliRunner

from flows.cli import app
from tasks.answers.ask import ask
from tasks.base.errors import BadConfig, BadInput, HexveilError
from tasks.release import zones as of_zones
from tasks.reporting.day_report import report_day
from tasks.upkeep.verify import verify_ledger


@pytest.fixture
def zoned(dataset: Dataset) -> Dataset:
    """Return a dataset with a zone of the first places and one of the others, and one where nobody is."""
    dataset.set(mechanism="estimated", target_error=None, definition="zcdp", epsilon_per_day=8.0, epsilon_total=40.0)
    dataset.set(timezone="Europe/Zurich", statistics={"limits": [30]})
    dataset.set(publish={"zones": "districts.geojson"})
    (latitude, longitude), middle = PLACES[0], PLACES[4][0] - 0.015
    boxes = [shapely.box(longitude - 0.1, latitude - 0.1, longitude + 0.2, middle)]
    boxes += [shapely.box(longitude - 0.1, middle, longitude + 0.2, middle + 0.1), shapely.box(1, 1, 1.1, 1.1)]
    frame = geopandas.GeoDataFrame({"name": ["south", "north", "nobody"]}, geometry=boxes, crs="EPSG:4326")
    frame.to_file(dataset.folder / "districts.geojson", driver="GeoJSON")
    for number in range(2):
        write_day(dataset, day(number), seed=number, n_buses=90)
    return dataset


def folder_of(dataset: Dataset, number: int = 0) -> Path:
    return dataset.folder / "store" / "published" / f"date={day(number)}"


def test_zones_are_published_as_ask_answers_and_add_up_to_the_hexagons(zoned: Dataset) -> None:
    for number in range(2):
        zoned.run_day(day(number))
    published = zoned.folder / "store" / "published"
    for number in range(2):
        folder, date = folder_of(zoned, number), str(day(number))
        table = pl.read_csv(folder / "zones.csv")
        assert set(table["zone"]) == {"south", "north"}
        for hours, by in ((table.filter(pl.col("hour").is_null()), ""), (table.filter(pl.col("hour") >= 0), "hour")):
            for above, names in ((None, ["mean", "mean_sd", "n_records"]), (30, ["share_above_30"])):
                asked = ask(published, where=folder / "zones.geojson", first=date, last=date, by=by, above=above).table
                assert hours["zone"].to_list() == asked["area"].to_list()
                for name in names:
                    assert hours[name].to_list() == pytest.approx(asked[name].to_list(), rel=1e-9)
        whole = table.filter(pl.col("hour").is_null())
        city = ask(published, first=date, last=date).table
        assert whole["n_records"].sum() == pytest.approx(city["n_records"][0], rel=1e-6)
        assert np.average(whole["mean"], weights=whole["n_records"]) == pytest.approx(city["mean"][0])
        outlines = json.loads((folder / "zones.geojson").read_text())["features"]
        assert {one["properties"]["name"] for one in outlines} == {"south", "north", "nobody"}
    assert verify_ledger(zoned.config).n_releases == 2
    assert {"zones.csv", "zones.geojson"} <= released(zoned)[0].files.keys()


def test_the_map_has_the_zones_with_their_numbers_of_the_day(zoned: Dataset) -> None:
    path = zoned.folder / "districts.geojson"
    path.write_text(path.read_text().replace("south", "<b>south"))
    zoned.with_map()
    zoned.run_day(day(0))
    page, folder = (folder_of(zoned) / "map.html").read_text(), folder_of(zoned)
    section = page.split('aria-label="Zones"')[1].split("</section>")[0]
    whole = pl.read_csv(folder / "zones.csv").filter(pl.col("hour").is_null())
    assert set(whole["zone"]) == {"<b>south", "north"}
    for row in whole.iter_rows(named=True):
        name = row["zone"].replace("<", "&lt;").replace(">", "&gt;")
        shown = section.split(f'<th scope="row">{name}</th>')[1].split("</tr>")[0]
        mean, interval, records = (part.split("<")[0] for part in shown.split("<td>")[1:])
        low, high = map(float, interval.split(" to "))
        assert float(mean) == pytest.approx(row["mean"], abs=0.051)
        assert row["mean_ci95_low"] - 0.11 < low <= row["mean_ci95_low"]
        assert row["mean_ci95_high"] <= high < row["mean_ci95_high"] + 0.11
        assert int(records.replace(",", "")) == pytest.approx(row["n_records"], abs=0.51)
    assert "<b>" not in section
    assert "nobody" not in section


@pytest.mark.slow
def test_zones_may_change_or_go_and_what_was_released_is_still_verified(zoned: Dataset) -> None:
    zoned.run_day(day(0))
    zoned.set(publish={"zones": None})
    (zoned.folder / "districts.geojson").unlink()
    zoned.run_day(day(1))
    assert not (folder_of(zoned, 1) / "zones.csv").exists()
    assert verify_ledger(zoned.config).n_releases == 2


def test_a_file_that_cannot_be_used_is_refused_before_anything_is_drawn(zoned: Dataset) -> None:
    path = zoned.folder / "districts.geojson"
    for content in (None, "[]", "{", '{"type": "Point", "coordinates": [8, 47]}'):
        path.unlink() if content is None else path.write_text(content)
        with pytest.raises(BadInput, match=r"publish\.zones: .*nothing was spent"):
            zoned.run_day(day(0))
    assert released(zoned) == []


NO_AREAS = (
    (shapely.box(2_600_000, 1_200_000, 2_601_000, 1_201_000), "is not in longitude and latitude, in degrees"),
    (shapely.box(-179, 50, 179, 60), "wider than half the world; cut it at the 180th meridian"),
    (shapely.Polygon(), "has no areas"),
    (shapely.LineString([(8, 47), (9, 48)]), "has lines or points, no areas"),
)


@pytest.mark.slow
def test_shapes_that_are_no_areas_in_degrees_are_refused_by_plan_too(zoned: Dataset) -> None:
    path = zoned.folder / "districts.geojson"
    for shape, said in NO_AREAS:
        feature = {"type": "Feature", "properties": {"name": "a"}, "geometry": shapely.geometry.mapping(shape)}
        path.write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}))
        with pytest.raises(BadInput, match=said):
            zoned.run_day(day(0))
        planned = CliRunner().invoke(app, ["plan", "--config", str(zoned.config_file), "--date", str(day(0))])
        assert said in str(planned.exception)
        path.write_text(path.read_text().replace('"a"', '"\\ud800"').replace("2600000", "8").replace("2601000", "9"))
        with pytest.raises(BadInput, match=r"publish\.zones"):
            zoned.run_day(day(0))
    assert released(zoned) == []


@pytest.mark.slow
def test_zones_where_nobody_is_are_cautioned_and_verified_in_weeks_too(zoned: Dataset) -> None:
    path = zoned.folder / "districts.geojson"
    far = {"type": "Polygon", "coordinates": [[[1, 1], [2, 1], [2, 2], [1, 1]]]}
    path.write_text(json.dumps({"type": "Feature", "properties": {"name": "far"}, "geometry": far}))
    for number in (0, 4):
        write_day(zoned, day(number), seed=number, n_buses=90)
        zoned.run_day(day(number))
    assert any("no hexagon of the day is in a zone" in one for one in report_day(day(0), {}, zoned.config).cautions)
    (folder,) = (zoned.folder / "store" / "published").glob("week=*")
    assert (folder / "zones.csv").read_text().startswith("zone,")
    assert verify_ledger(zoned.config).n_releases == 2


def test_zones_need_files_that_say_how_cells_err_together(zoned: Dataset) -> None:
    zoned.set(mechanism="planned", statistics={"limits": None}, target_error=3.0)
    with pytest.raises(BadConfig, match=r'publish\.zones needs mechanism = "estimated"'):
        _ = zoned.config


@pytest.mark.slow
def test_a_changed_zone_does_not_follow_from_the_tables(zoned: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = of_zones.csv_bytes
    with monkeypatch.context() as patch:
        patch.setattr(of_zones, "csv_bytes", lambda table: whole(table.with_columns(mean=pl.col("mean") + 0.01)))
        zoned.run_day(day(0))
    with pytest.raises(HexveilError, match=r"zones\.csv does not follow from joint\.parquet"):
        verify_ledger(zoned.config)


@pytest.mark.slow
def test_weeks_have_their_zones_too_and_verify_makes_them_again(zoned: Dataset) -> None:
    """The first day is a Thursday, and the fifth one a Monday."""
    for number in (0, 1, 4):
        write_day(zoned, day(number), seed=number, n_buses=90)
        zoned.run_day(day(number))
    published = zoned.folder / "store" / "published"
    (folder,) = published.glob("week=*")
    table = pl.read_csv(folder / "zones.csv")
    some = table.filter(pl.col("hour").is_null(), pl.col("kind_of_day") == "all")
    asked = ask(published, where=folder_of(zoned) / "zones.geojson", last=str(day(1))).table
    assert some["zone"].to_list() == asked["area"].to_list()
    for name in ("mean", "mean_sd", "n_records"):
        assert some[name].to_list() == pytest.approx(asked[name].to_list(), rel=1e-9)
    assert verify_ledger(zoned.config).n_releases == 3
    (folder / "zones.csv").write_text((folder / "zones.csv").read_text().replace("south", "mouth"))
    with pytest.raises(HexveilError, match="does not follow from the published days"):
        verify_ledger(zoned.config)
