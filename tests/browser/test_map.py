"""The published map in a real browser, from the file, as a reader opens it."""

import datetime as dt
import math
import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import h3
import numpy as np
import polars as pl
import pytest
from configurations import with_settings
from estimates import day, write_day
from PIL import Image, ImageStat
from playwright.sync_api import Browser
from support import CLIP_USER, CONFIG, DATE, HEADER, WITH_MAP, Dataset, silence, table

from tasks.base.config import Config, load_config
from tasks.map.page import map_page

OpenMap = Callable[..., Any]
PHONE = (375, 740)
HOST = "https://tiles.example.org"
COLOURS = """() => [...Bokeh.documents[0]._all_models.values()].flatMap((model) => {
    const glyph = model.data_source ? [Bokeh.index.find_one(model).nonselection_glyph.model] : []
    return [model, ...glyph].flatMap((one) => [...one]).filter(({attr}) => attr.endsWith("_color"))
        .map((property) => property.get_value()).map((colour) => String(colour?.value ?? colour))
})"""
"""The colours of all that a map has."""
SLIDER, SELECT = ".noUi-handle", "select"
BUSY, QUIET = (
    {"47.05,8.31": (8, 9), "47.10,8.40": (9, 10), "47.08,8.20": (9,)},
    {"47.02,8.45": (8, 9), "47.10,8.40": (8,)},
)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Return a released day: five cells of twelve buses are published, three of one bus are withheld.

    Without noise, so that what the map must show is known.
    """
    folder = tmp_path_factory.mktemp("map")
    text = with_settings(WITH_MAP, **CLIP_USER | {"target_error": 5.0}, epsilon_per_day=50.0, epsilon_total=100.0)
    (folder / "dataset.toml").write_text(text)
    dataset = Dataset(folder)
    lines = [
        f"bus{bus:02},{DATE}T{hour:02}:{minute:02}:00Z,{place},{hour * 5 + (bus + minute) % 20}"
        for place, hours in BUSY.items()
        for hour in hours
        for bus in range(12)
        for minute in range(0, 60, 5)
    ]
    lines += [f"lone,{DATE}T{hour:02}:30:00Z,{place},50" for place, hours in QUIET.items() for hour in hours]
    dataset.write("day.csv", HEADER + "\n".join(lines) + "\n")
    dataset.release(noise=silence)
    return dataset


def test_the_map_opens_at_the_fullest_slot_and_the_hexagon_published_most(open_map: OpenMap, released: Dataset) -> None:
    shown = open_map(released.published("map.html"))
    assert "test: speed on Thursday, 15 January 2026" in shown.page.title()
    head = shown.page.locator("header").inner_text()
    assert "5 cells are published, 3 are withheld" in head
    assert "expected to be off by at most" in head
    assert shown.time == "Local time: 09:00\N{EN DASH}10:00"
    published = table(released).filter(pl.col("slot_start").dt.hour() == 9).sort("h3_cell")
    drawn = pl.DataFrame(shown.layer(2)).sort("cell")
    assert drawn["cell"].to_list() == published["h3_cell"].to_list()
    assert drawn["mean"].to_list() == pytest.approx(published["mean"].to_list(), rel=1e-6)
    assert drawn["n_records"].to_list() == [144] * 3
    assert shown.layer(1)["n_users"] == [1]
    assert len(shown.layer(0)["cell"]) == 4
    most = table(released).group_by("h3_cell").len().sort("len", "h3_cell", descending=[True, False])["h3_cell"]
    assert shown.title_of_curve.removeprefix("Hexagon ") in most[:2].to_list()
    shown.keep("test-desktop")


def test_a_map_is_dark_where_the_screen_is_and_light_again_in_the_morning(open_map: OpenMap, released: Dataset) -> None:
    light = open_map(released.published("map.html"), color_scheme="light")
    shown = open_map(released.published("map.html"), color_scheme="dark")
    shown.keep("test-dark")
    at_night = shown.page.evaluate(COLOURS)
    assert brightness(shown) < 80
    assert brightness(light) > 180
    assert not {"#ffffff", "#f6f6f4", "#1d1d1b", "#444444"} & set(at_night)
    shown.page.emulate_media(color_scheme="light")
    shown.page.wait_for_timeout(300)
    assert brightness(shown) > 180
    assert shown.page.evaluate(COLOURS) == light.page.evaluate(COLOURS) != at_night


def brightness(shown: Any) -> float:
    """Return how bright the map and the curve are on average, from 0 to 255."""
    return float(
        np.mean([ImageStat.Stat(Image.open(BytesIO(shown.picture(part)))).mean[:3] for part in (".map", ".curve")])
    )


def test_the_arrow_keys_move_the_slider_and_the_map_follows(open_map: OpenMap, released: Dataset) -> None:
    shown = open_map(released.published("map.html"))
    before, picture = shown.layer(2), shown.picture()
    shown.press(SLIDER, "ArrowRight")
    assert shown.time == "Local time: 10:00\N{EN DASH}11:00"
    assert len(before["mean"]) == 3
    assert len(shown.layer(2)["mean"]) == 1
    assert shown.layer(2)["mean"][0] == pytest.approx(59.5, abs=1)
    assert shown.layer(1)["cell"] == []
    assert shown.reading.startswith("10:00")
    shown.page.wait_for_timeout(300)
    assert shown.picture() != picture
    shown.press(SLIDER, "ArrowLeft")
    assert shown.layer(2) == before


def test_pointing_tells_mean_and_promise_or_that_and_why_it_was_withheld(open_map: OpenMap, released: Dataset) -> None:
    shown = open_map(released.published("map.html"))
    shown.point_at(layer=2, row=0)
    tip = shown.page.locator(".bk-tooltip-content", has_text="mean speed")
    tip.wait_for()
    drawn = {name: values[0] for name, values in shown.layer(2).items()}
    pattern = (
        r"mean speed (\S+) km/h\nexpected error at most (\S+) km/h\n95 % interval (\S+) to (\S+) km/h\n"
        rf"users: 12, records: 144\nepsilon about (\S+) for any one user\n{drawn['cell']}"
    )
    found = re.fullmatch(pattern, tip.inner_text())
    assert found
    wanted = [drawn[name] for name in ("mean", "error", "low", "high", "epsilon")]
    assert [float(number) for number in found.groups()] == pytest.approx(wanted, abs=0.051)
    shown.point_at(layer=1, row=0)
    tip = shown.page.locator(".bk-tooltip-content", has_text="withheld")
    tip.wait_for()
    assert "No number of use could be promised here within the budget." in tip.inner_text()
    assert "users: 1, records: 1" in tip.inner_text()


def test_a_click_shows_the_day_of_a_hexagon_with_its_gaps(open_map: OpenMap, released: Dataset) -> None:
    shown = open_map(released.published("map.html"))
    for row in range(4):
        shown.point_at(layer=0, row=row, click=True)
        cell = shown.layer(0)["cell"][row]
        assert shown.title_of_curve == f"Hexagon {cell}"
        assert shown.page.locator(SELECT).input_value().startswith(cell) or shown.layer(3)["cell"] == [cell]
        hours = table(released).filter(pl.col("h3_cell") == cell)["slot_start"].dt.hour().to_list()
        means = shown.layer(0, "curve")["mean"]
        assert [hour for hour, mean in enumerate(means) if not math.isnan(mean)] == hours
    lone = shown.layer(0)["cell"].index(shown.layer(1)["cell"][0])
    shown.point_at(layer=0, row=lone, click=True)
    assert shown.layer(3, "curve")["time"] == ["08:00\N{EN DASH}09:00", "09:00\N{EN DASH}10:00"]
    assert "withheld" in shown.reading
    shown.keep("test-withheld")


def test_the_list_chooses_a_hexagon_by_keyboard_alone(open_map: OpenMap, released: Dataset) -> None:
    shown = open_map(released.published("map.html"))
    before, picture = shown.title_of_curve, shown.picture()
    shown.press(SELECT, "ArrowDown")
    assert shown.title_of_curve == f"Hexagon {shown.layer(0)['cell'][1]}" != before
    assert shown.layer(3)["cell"] == [shown.layer(0)["cell"][1]]
    shown.page.wait_for_timeout(300)
    assert shown.picture() != picture


def test_a_phone_shows_it_all_without_scrolling_sideways(open_map: OpenMap, released: Dataset) -> None:
    shown = open_map(released.published("map.html"), PHONE, has_touch=True, is_mobile=True, device_scale_factor=2)
    assert shown.page.evaluate("[document.documentElement.scrollWidth, innerWidth]") == [375, 375]
    box = {name: shown.page.locator(name).bounding_box() for name in (SLIDER, SELECT, ".map", ".curve")}
    assert box[".map"]["y"] + box[".map"]["height"] < box[".curve"]["y"]
    assert box[SLIDER]["width"] >= 32
    track = shown.page.locator(".noUi-target").bounding_box()
    assert track["x"] >= 28
    assert track["x"] + track["width"] <= 375 - 28
    assert box[SELECT]["height"] >= 44
    shown.keep("test-phone")


def test_a_tap_on_a_phone_chooses_a_hexagon(open_map: OpenMap, released: Dataset) -> None:
    shown = open_map(released.published("map.html"), PHONE, has_touch=True, is_mobile=True, device_scale_factor=2)
    shown.page.locator(".map").scroll_into_view_if_needed()
    for row in (1, 2):
        shown.tap(layer=0, row=row)
        shown.page.wait_for_function(f"Bokeh.documents[0].get_model_by_name('hexagons').value === '{row}'")
        assert shown.title_of_curve == f"Hexagon {shown.layer(0)['cell'][row]}"


def configured(folder: Path, changes: dict[str, str]) -> Config:
    """Return the tests' configuration with some of its text replaced."""
    text = with_settings(CONFIG, **CLIP_USER)
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    (folder / "dataset.toml").write_text(text)
    return load_config(folder / "dataset.toml")


def write_map(
    folder: Path, config: Config, places: list[tuple[float, float]], date: dt.date, **more: float | str
) -> Path:
    """Write the map of a day whose first place is published in every slot and the others are withheld in every one."""
    start, end = config.day_bounds(date)
    slots = pl.datetime_range(start, end, f"{config.grid.slot_minutes}m", closed="left", time_zone="UTC", eager=True)
    cells = [h3.latlng_to_cell(*place, 7) for place in places]
    size = {"n_records": 144, "n_users": 12}
    estimates = {"mean": 21.5, "mean_error_bound": 5.0, "mean_ci95_low": 10.0, "mean_ci95_high": 33.0, **more}
    rows = [{"h3_cell": cells[0], "slot_start": slot, **size, **estimates} for slot in slots]
    withheld = [{"h3_cell": cell, "slot_start": slot, **size} for cell in cells[1:] for slot in slots]
    schema = {"h3_cell": pl.String, "slot_start": pl.Datetime("us", "UTC")} | dict.fromkeys(size, pl.Int64)
    published = pl.DataFrame(rows).with_columns(
        pl.col("slot_start").cast(pl.Datetime("us", "UTC")), epsilon=pl.lit(0.5), release_id=pl.lit("test")
    )
    path = folder / "map.html"
    path.write_bytes(map_page(published, pl.DataFrame(withheld, schema=schema), config, date, None, "1.25"))
    return path


def test_a_base_map_is_asked_of_the_owners_host_alone_and_its_maker_is_named(open_map: OpenMap, tmp_path: Path) -> None:
    text = with_settings(CONFIG, publish={"tiles": f"{HOST}/a/{{z}}/{{x}}/{{y}}.png", "tiles_credit": "Map <by> us"})
    (tmp_path / "dataset.toml").write_text(text)
    path = write_map(tmp_path, load_config(tmp_path / "dataset.toml"), [(47.05, 8.31), (47.1, 8.4)], DATE)
    shown = open_map(path, tiles=f"{HOST}/a/")
    shown.page.wait_for_timeout(500)
    assert all(re.fullmatch(rf"{HOST}/a/\d+/\d+/\d+\.png", one) for one in shown.requests[1:])
    assert "Map <by> us" in shown.page.locator("body").inner_text()
    shown.page.set_viewport_size({"width": 1100, "height": 640})
    shown.page.wait_for_timeout(300)
    west, east = shown.page.evaluate(
        "(({start, end}) => [start, end])(Bokeh.documents[0].get_model_by_name('map').x_range)"
    )
    assert west < min(map(min, shown.layer(1)["xs"])) < max(map(max, shown.layer(1)["xs"])) < east
    shown.keep("test-tiles")


LONG, SHORT = dt.date(2026, 10, 25), dt.date(2026, 3, 29)


@pytest.mark.parametrize(
    ("date", "n_hours", "around"), [(LONG, 25, "02:00+02:00 02:00+01:00"), (SHORT, 23, "01:00+01:00 03:00+02:00")]
)
def test_a_day_on_which_the_clock_changes_has_each_of_its_hours(
    open_map: OpenMap, tmp_path: Path, date: dt.date, n_hours: int, around: str
) -> None:
    config = configured(tmp_path, {'"UTC"': '"Europe/Zurich"'})
    shown = open_map(write_map(tmp_path, config, [(47.05, 8.31)], date))
    times = []
    for _ in range(n_hours):
        times.append(shown.time)
        assert len(shown.layer(2)["mean"]) == 1
        shown.press(SLIDER, "ArrowRight")
    assert shown.time == times[-1], "the day ends there"
    assert len(set(times)) == n_hours
    begins = [re.sub(r"Local time: (\d\d:\d\d).*UTC(.*)\)", r"\1\2", time) for time in times]
    assert around in " ".join(begins)
    assert times[-1].startswith("Local time: 23:00\N{EN DASH}24:00")
    assert len(shown.layer(0, "curve")["x"]) == n_hours
    shown.keep(f"test-{n_hours}-hours")


def test_names_and_units_are_shown_as_they_are_and_run_nothing(open_map: OpenMap, tmp_path: Path) -> None:
    name, unit = "</script><script>alert(1)</script> & @cell $x", '<b>"km"</b> & $$h$$ @mean{safe}'
    config = configured(tmp_path, {'"speed"\nunit = "km/h"': f"'{name}'\nunit = '{unit}'"})
    shown = open_map(write_map(tmp_path, config, [(47.05, 8.31), (47.1, 8.4)], DATE))
    assert name in shown.page.title()
    assert name in shown.page.locator("h1").inner_text()
    assert unit in shown.page.locator("header").inner_text()
    assert unit in shown.reading
    shown.point_at(layer=2, row=0)
    tip = shown.page.locator(".bk-tooltip-content", has_text="mean")
    tip.wait_for()
    assert f"mean {name} 21.5 {unit}" in tip.inner_text()
    shown.keep("test-escaped")


def test_a_whole_day_of_one_cell_has_no_slider(open_map: OpenMap, tmp_path: Path) -> None:
    shown = open_map(
        write_map(tmp_path, configured(tmp_path, {"slot_minutes = 60": "slot_minutes = 1440"}), [(47.05, 8.31)], DATE)
    )
    assert shown.page.locator(SLIDER).count() == 0
    assert shown.layer(2)["mean"] == [21.5]
    assert shown.reading.startswith("00:00\N{EN DASH}24:00: mean 21.5 km/h")
    shown.keep("test-one-cell")


def test_the_variance_is_told_where_it_is_published(open_map: OpenMap, tmp_path: Path) -> None:
    config = configured(tmp_path, {"[storage]": "[statistics]\nvariance = true\n[storage]"})
    shown = open_map(write_map(tmp_path, config, [(47.05, 8.31)], DATE, variance=144.0, variance_error_bound=90.0))
    shown.point_at(layer=2, row=0)
    tip = shown.page.locator(".bk-tooltip-content", has_text="variance")
    tip.wait_for()
    assert "variance 144, expected error at most 90" in tip.inner_text()


@pytest.mark.parametrize(
    ("area", "words", "hatch"),
    [
        ("cell", "value of this hexagon and time alone", "blank"),
        ("parent_4h", "value of the larger hexagon around it, over 4 hours", "dot"),
    ],
)
def test_a_value_of_a_larger_area_is_marked_and_told(
    open_map: OpenMap, tmp_path: Path, area: str, words: str, hatch: str
) -> None:
    config = configured(tmp_path, {'"clip-user"': '"estimated"', "target_error = 40.0": "target_error = 12.0"})
    more = {"mean_sd": 5.9, "typical_mean": 21.0, "mean_area": area, "mean_day_share": 0.5, "unusual": False}
    shown = open_map(write_map(tmp_path, config, [(47.05, 8.31)], DATE, **more))
    assert shown.layer(2)["hatch"] == [hatch]
    assert f"; {words}; epsilon" in shown.reading
    assert "value of a larger area" in shown.page.locator(".map + ul").inner_text()
    shown.point_at(layer=2, row=0)
    tip = shown.page.locator(".bk-tooltip-content", has_text="mean")
    tip.wait_for()
    assert words in tip.inner_text()
    shown.keep(f"test-area-{area}")


def test_hexagons_on_both_sides_of_the_180th_meridian_lie_side_by_side(open_map: OpenMap, tmp_path: Path) -> None:
    places = [(-16.8, 179.9), (-16.8, 180.0), (-16.8, -179.9)]
    shown = open_map(write_map(tmp_path, configured(tmp_path, {}), places, DATE))
    xs = [x for corners in shown.layer(0)["xs"] for x in corners]
    assert max(xs) - min(xs) < 50_000


def test_the_way_to_the_day_after_leads_over_days_without_a_release(browser: Browser, dataset: Dataset) -> None:
    dataset.config_file.write_text(with_settings(WITH_MAP, **CLIP_USER, epsilon_total=100.0))
    for number in (0, 3):
        write_day(dataset, day(number))
        dataset.run_day(day(number))
    first, last = (f"file://{dataset.published('map.html', day(number))}" for number in (0, 3))
    page = browser.new_page()
    page.goto(first)
    for way, there in (("Day after", last), ("Day before", first)):
        page.get_by_text(way, exact=True).click()
        page.wait_for_url(there)
    for way in ("Day before", "All days"):
        page.goto(first)
        page.get_by_text(way, exact=True).click()
        page.get_by_text("January 2026").first.wait_for()
    page.close()
