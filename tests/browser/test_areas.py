"""The page of a collection in a real browser, from the file, as a reader opens it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from collected import CELLS, Collected

OpenMap = Callable[..., Any]
PHONE = (375, 740)


@pytest.fixture
def collected(tmp_path: Path) -> Collected:
    return Collected(tmp_path)


def page_of(collected: Collected) -> Path:
    return collected.config.storage_path / "published" / "period=2026-03-02" / "map.html"


def rows_of(shown: Any) -> list[list[str]]:
    return [row.locator("th, td").all_inner_texts() for row in shown.page.locator("tbody tr").all()]


def test_hexagons_are_on_a_map_and_what_is_chosen_there_is_chosen_in_the_figure(
    open_map: OpenMap, collected: Collected
) -> None:
    collected.change('"north", "south", "empty"', '"{}", "{}", "{}"'.format(*CELLS))
    means = collected.whole()
    shown = open_map(page_of(collected))
    assert "phones: speed on Monday, 2 March 2026" in shown.page.title()
    assert "900 devices" in shown.page.locator("header").inner_text()
    drawn = shown.layer(0)
    assert drawn["area"] == [row["area"] for row in means]
    assert drawn["mean"] == pytest.approx([float(row["mean"]) for row in means])
    shown.point_at(layer=0, row=1)
    tip = shown.page.locator(".bk-tooltip-content", has_text="mean speed").first
    tip.wait_for()
    assert f"devices: {means[1]['n_round_1']} in round 1, {means[1]['n_round_2']} in round 2" in tip.inner_text()
    assert tip.inner_text().endswith(CELLS[1])
    before = shown.picture(".curve")
    shown.point_at(layer=0, row=1, click=True)
    shown.page.wait_for_timeout(300)
    selected = "Bokeh.documents[0].get_model_by_name('intervals').renderers[0].data_source.selected.indices"
    assert shown.page.evaluate(selected) == [1]
    assert shown.picture(".curve") != before
    assert rows_of(shown)[0][0] == means[0]["area"]
    shown.keep("test-areas")


def test_one_area_without_a_place_has_a_figure_and_a_table(open_map: OpenMap, collected: Collected) -> None:
    collected.change('areas = ["north", "south", "empty"]', 'areas = ["all"]')
    (mean,) = collected.whole()
    shown = open_map(page_of(collected), PHONE, is_mobile=True)
    assert shown.page.locator(".map").count() == 0
    assert shown.layer(0, "intervals")["area"] == ["all"]
    (row,) = rows_of(shown)
    assert row[:2] == ["all", f"{float(mean['mean']):.1f}"]
    assert shown.page.evaluate("[document.documentElement.scrollWidth, innerWidth]") == [375, 375]
    shown.keep("test-one-area-phone")


def test_a_name_of_an_area_is_text_and_nothing_else(open_map: OpenMap, collected: Collected) -> None:
    collected.change('areas = ["north", "south", "empty"]', "areas = ['<img src=x>', '@mean $index']")
    means = collected.whole()
    shown = open_map(page_of(collected))
    assert {row[0] for row in rows_of(shown)} == {"<img src=x>", "@mean $index"}
    assert {row["area"] for row in means} == {"<img src=x>", "'@mean $index"}, "no formula in CSV"
