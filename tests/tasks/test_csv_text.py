"""What somebody named is text in a spreadsheet, and no formula."""

import json
from pathlib import Path

import geopandas
import polars as pl
import pytest
import shapely
from estimates import PLACES, day, write_day
from support import Dataset
from typer.testing import CliRunner

from flows.cli import app
from tasks.output_formats.csv_text import csv_text
from tasks.output_formats.read_back import same_csv
from tasks.release.zones import same_zones, zone_files
from tasks.upkeep.verify import verify_ledger

FORMULAS = ("=1+1", "+1", "-1", "@sum(a1)", "\t=1", "\r=1", "\n=1", '=cmd|"/c calc"!a1, b', "\uff1d1")
TEXTS = ("North", "a=1", "1-2", "'=1", " =1")


def test_a_text_that_a_spreadsheet_takes_for_a_formula_gets_an_apostrophe_and_no_other() -> None:
    table = pl.DataFrame({"area": [*FORMULAS, *TEXTS, None], "mean": [-1.5] * (len(FORMULAS) + len(TEXTS) + 1)})
    found = pl.read_csv(csv_text(table).encode())
    assert found["area"].to_list()[:-1] == [*("'" + one for one in FORMULAS), *TEXTS]
    assert found["mean"].to_list() == table["mean"].to_list(), "numbers stay numbers"
    assert csv_text(table.select("mean")).splitlines()[1] == "-1.5"


def test_a_file_with_such_a_name_says_the_same_as_its_table() -> None:
    table = pl.DataFrame({"zone": ["=north", "south"], "hour": [None, 3], "mean": [1.0, -2.0]})
    text = zone_files(b"", table)["zones.csv"]
    assert same_zones(text, table)
    assert same_csv(text, table)
    other = table.with_columns(zone=pl.Series(["=nord", "south"]))
    assert not same_zones(text, other)
    assert not same_csv(text, other)


@pytest.fixture
def named(dataset: Dataset) -> Path:
    """Return a file of zones, one of which is named by a formula."""
    dataset.set(mechanism="estimated", epsilon_per_day=8.0, epsilon_total=40.0, publish={"zones": "districts.geojson"})
    (latitude, longitude), middle = PLACES[0], PLACES[4][0] - 0.015
    boxes = [shapely.box(longitude - 0.1, low, longitude + 0.2, low + 0.1) for low in (latitude - 0.1, middle)]
    frame = geopandas.GeoDataFrame({"name": ["=1+1", "north"]}, geometry=boxes, crs="EPSG:4326")
    frame.to_file(dataset.folder / "districts.geojson", driver="GeoJSON")
    write_day(dataset, day(0), n_buses=60)
    return dataset.folder / "districts.geojson"


def test_zones_and_answers_have_no_formula_and_still_follow_from_their_tables(dataset: Dataset, named: Path) -> None:
    dataset.run_day(day(0))
    published = dataset.folder / "store" / "published"
    zones = (published / f"date={day(0)}" / "zones.csv").read_text()
    assert {line.partition(",")[0] for line in zones.splitlines()[1:]} == {"'=1+1", "north"}
    assert verify_ledger(dataset.config).n_releases == 1
    asked = ["ask", str(published), "--where", str(named)]
    done = CliRunner().invoke(app, [*asked, "--csv"])
    assert {line.partition(",")[0] for line in done.stdout.splitlines()[1:]} == {"'=1+1", "north"}
    assert "Means over records in km/h; " in done.stderr, "what must be said is said, and is not in the table"
    rows = json.loads(CliRunner().invoke(app, [*asked, "--json"]).stdout)["rows"]
    assert {row["area"] for row in rows} == {"=1+1", "north"}, "a program gets the name as it is"
