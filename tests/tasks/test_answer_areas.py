"""Areas of a file that are asked about: their names, edges, widths, and what of them is left out."""

import json
from pathlib import Path

import geopandas
import h3
import numpy as np
import polars as pl
import pytest
import shapely
from answered import districts, joint, row_of
from estimates import day

import hexveil
from tasks.answers.area_files import areas_of, read_areas
from tasks.answers.ask import ask
from tasks.base.errors import HexveilError
from tasks.output_formats.geography import outline


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


def test_areas_without_outline_and_of_one_name_are_said(published: Path, tmp_path: Path) -> None:
    path = districts(sorted(joint(published, day(0))["h3_cell"].unique()), tmp_path / "areas.geojson")
    document = json.loads(path.read_text())
    first, second, _ = document["features"]
    nowhere = {"type": "Feature", "properties": {"code": 3, "name": "Nowhere"}, "geometry": None}
    second["properties"]["name"] = first["properties"]["name"] = "Both"
    path.write_text(json.dumps(document | {"features": [first, second, nowhere]}))
    said = ("1 of the file's 3 areas have no outline and are left out.", "Areas of one name are one area: Both.")
    with pytest.warns(UserWarning, match="no outline|one name") as warned:
        table = hexveil.ask(published, where=path)
    assert tuple(str(one.message) for one in warned) == said
    assert table["area"].to_list() == ["Both"]
    frame = geopandas.read_file(path)
    frame.to_parquet(tmp_path / "areas.parquet")
    for file in (path, tmp_path / "areas.parquet"):
        assert read_areas(file, None, None).remarks == said
    kept = areas_of(read_areas(path, None, None).geojson(), path)
    assert kept.remarks == said, "published outlines say what they lack"


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
