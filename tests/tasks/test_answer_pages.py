"""How answers are shown: pages, snippets of the how-to, digits."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import polars as pl
import pytest
import shapely
from answered import districts, joint, row_of
from estimates import day

from tasks.answers.ask import ask
from tasks.answers.page import answer_page
from tasks.answers.words import in_words
from tasks.base.errors import HexveilError


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
