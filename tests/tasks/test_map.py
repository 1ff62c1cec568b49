import datetime as dt
import math
from itertools import pairwise

import h3
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support import CLIP_USER, DATE, Dataset, table

from dpmath.estimate.areas import AREAS
from tasks.base.config import Config
from tasks.map import words
from tasks.map.data import MapDay, hour_marks, map_day, slot_labels, slot_starts
from tasks.map.sources import map_sources

ZONES = ("UTC", "Europe/Zurich", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Havana")


def config_in(dataset: Dataset, zone: str, slot_minutes: int) -> Config:
    config = dataset.config
    sections = {
        "dataset": config.dataset.model_copy(update={"timezone": zone}),
        "grid": config.grid.model_copy(update={"slot_minutes": slot_minutes}),
    }
    return config.model_copy(update=sections)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    from support import CONFIG

    folder = tmp_path_factory.mktemp("plain")
    (folder / "dataset.toml").write_text(CONFIG)
    return Dataset(folder)


@given(
    date=st.dates(dt.date(2026, 1, 1), dt.date(2027, 12, 31)),
    zone=st.sampled_from(ZONES),
    slot_minutes=st.sampled_from([15, 30, 60, 90, 480, 1440]),
)
@example(date=dt.date(2026, 4, 5), zone="Australia/Lord_Howe", slot_minutes=60)
@example(date=dt.date(2026, 11, 1), zone="America/Havana", slot_minutes=60)
def test_slots_cover_the_local_day_and_no_two_are_called_alike(
    plain: Dataset, date: dt.date, zone: str, slot_minutes: int
) -> None:
    config = config_in(plain, zone, slot_minutes)
    starts, (start, end) = slot_starts(date, config), config.day_bounds(date)
    labels = slot_labels(starts, config)
    assert (starts[0], starts[-1]) == (start, end)
    assert all(
        dt.timedelta(0) < after - before <= dt.timedelta(minutes=slot_minutes) for before, after in pairwise(starts)
    )
    assert len(set(labels)) == len(labels) == math.ceil((end - start) / dt.timedelta(minutes=slot_minutes))
    assert hour_marks(starts, config)[len(labels)] == "24"


def test_the_map_opens_where_most_is_published(busy_dataset: Dataset) -> None:
    busy_dataset.release()
    published = table(busy_dataset)
    other = published.head(1).with_columns(h3_cell=pl.lit(h3.latlng_to_cell(48.0, 9.0, 7)))
    withheld = published.select("slot_start", "h3_cell", "n_records", "n_users").clear()
    day = map_day(pl.concat([published, other]), withheld, DATE, busy_dataset.config)
    assert day.slots[day.fullest_slot].startswith("08:00")
    assert day.hexagons["h3_cell"][0] == published["h3_cell"][0]
    assert day.hexagons["n_published"].to_list() == [2, 1]


def test_the_map_opens_with_a_hexagon_that_can_be_believed() -> None:
    """One hexagon is published in most slots with large errors, one once with the least, one in half of them."""
    rows = [(slot, 0, 9.0) for slot in range(4)] + [(0, 1, 0.1)] + [(slot, 2, 1.0) for slot in (0, 3)]
    rows += [(slot, 3, 0.5) for slot in (1, 2)]
    published = pl.DataFrame(rows, ["slot", "hexagon", "mean_error_bound"], orient="row")
    day = MapDay([], {}, pl.DataFrame(), published, pl.DataFrame())
    assert (day.fullest_slot, day.first_hexagon) == (0, 2)
    assert MapDay([], {}, pl.DataFrame(), published.filter(pl.col("hexagon") == 1), pl.DataFrame()).first_hexagon == 1


def test_withheld_cells_are_on_the_map_with_nothing_but_how_full_they_are(busy_dataset: Dataset) -> None:
    busy_dataset.set(**CLIP_USER)
    from tasks.account import ledger
    from tasks.kinds.table import load_plan

    path = busy_dataset.folder / "raw" / "day.csv"
    path.write_text(path.read_text() + f"lone,{DATE}T08:30:00Z,47.2,8.6,50\n")
    busy_dataset.release()
    entry = ledger.read_entries(busy_dataset.config)[0]
    withheld = load_plan(entry.stated["plan"], busy_dataset.config).withheld
    assert withheld.columns == ["slot_start", "h3_cell", "n_records", "n_users"]
    assert withheld.rows() == [(dt.datetime(2026, 1, 15, 8, tzinfo=dt.UTC), h3.latlng_to_cell(47.2, 8.6, 7), 1, 1)]


@given(bound=st.floats(1e-3, 50), low=st.floats(0, 100), high=st.floats(0, 100))
@example(bound=10.0, low=0.0, high=100.0)
@example(bound=9.94, low=9.96, high=9.94)
def test_no_promise_and_no_interval_is_shown_better_than_it_is(
    plain: Dataset, bound: float, low: float, high: float
) -> None:
    columns = {"mean_error_bound": [bound], "mean_ci95_low": [low], "mean_ci95_high": [high]}
    rounded = words.rounded_outwards(pl.DataFrame(columns), plain.config)
    shown = rounded.drop("mean_error_bound").row(0, named=True)
    assert bound - 1e-9 <= shown["mean_error"] < bound + 0.1 + 1e-9
    assert low - 0.1 - 1e-9 < shown["mean_ci95_low"] <= low + 1e-9
    assert high - 1e-9 <= shown["mean_ci95_high"] < high + 0.1 + 1e-9
    assert all(math.isclose(number * 10, round(number * 10), abs_tol=1e-9) for number in shown.values())


def test_numbers_large_against_their_range_keep_their_digits(busy_dataset: Dataset) -> None:
    busy_dataset.release()
    large = table(busy_dataset).with_columns(mean=pl.lit(433_920_507.25))
    withheld = large.select("slot_start", "h3_cell", "n_records", "n_users").clear()
    sources = map_sources(map_day(large, withheld, DATE, busy_dataset.config))
    assert set(sources["all_published"].data["mean"]) == {433_920_507.25}


@pytest.mark.slow
def test_a_revision_says_what_it_is_and_that_it_is_not_all(busy_dataset: Dataset) -> None:
    busy_dataset.with_map()
    busy_dataset.set(epsilon_total=50.0)
    busy_dataset.release()
    busy_dataset.run_day(revision="corrected")
    first, revised = (
        (busy_dataset.published("statistics.csv").parent / folder / "map.html").read_text()
        for folder in ("", "revision=corrected")
    )
    told = "releases cost their own"
    assert "15 January 2026, revision corrected" in revised
    assert told in revised
    assert told not in first


def test_only_with_a_target_does_the_map_of_an_estimate_speak_of_larger_areas(plain: Dataset) -> None:
    privacy = plain.config.privacy.model_copy(update={"mechanism": "estimated"})
    columns = {
        "mean": [9.0, 7.0],
        "mean_ci95_low": [5.0] * 2,
        "mean_ci95_high": [10.0] * 2,
        "typical_mean": [8.0] * 2,
        "unusual": [False] * 2,
    }
    estimate = pl.DataFrame(columns | {"mean_area": ["cell", "parent"]})
    for target, numbers in ((9, [0, 2]), (None, None)):
        with_target = privacy.model_copy(update={"target_error": target})
        config = plain.config.model_copy(update={"privacy": with_target})
        shown = words.with_look(estimate, config)
        assert (shown["area"].to_list() if target else shown.get_column("area", default=None)) == numbers
        assert ("value of @area" in words.published_tip("cell", words.Look.of(estimate, config), config)) == bool(
            target
        )
    assert list(words.AREA_WORDS) == list(AREAS)
