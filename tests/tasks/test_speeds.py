"""Speeds that follow from positions: exact, over files and midnight, and no reason for a record to count or not."""

import datetime as dt
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fuzzing import seen
from support import DATE, ENGINES, Dataset

from tasks.base.errors import BadConfig
from tasks.engines.prepare import by_itself, prepare_day
from tasks.records.init.proposal import propose_source
from tasks.records.input_formats.input_format import Given
from tasks.upkeep.forget import forget_days

NEXT = DATE + dt.timedelta(days=1)
MIDNIGHT = 1768435200
HEADER = "bus,time,lat,lon\n"
Fix = tuple[str, int, float, float]


@pytest.fixture
def moving(dataset: Dataset) -> Dataset:
    dataset.edit('value = "speed"', 'value = "{speed}"')
    dataset.edit("upper = 100.0", "upper = 200.0")
    dataset.set(files=["raw/{date}.csv"])
    return dataset


def write(dataset: Dataset, date: dt.date, fixes: list[Fix]) -> None:
    rows = "".join(f"{user},{time},{latitude!r},{longitude!r}\n" for user, time, latitude, longitude in fixes)
    dataset.write(f"{date}.csv", HEADER + rows)


def speeds(dataset: Dataset, date: dt.date = DATE) -> list[tuple[str, float, float | None]]:
    return dataset.query(
        "select user_id, epoch(observed_at), derived_value.value from raw_record join derived_value "
        f"using (local_date, file_id, row_number) where local_date = '{date}' order by all"
    )


def independent(fixes: list[Fix], longest_gap: int = 120) -> list[float | None]:
    """Return the speed in km/h of each fix, in their order by user and time, with numpy alone."""
    _, users = np.unique([user for user, *_ in fixes], return_inverse=True)
    times, *places = (np.array([one[position] for one in fixes]) for position in (1, 2, 3))
    order = np.lexsort((times, users))
    users, times, latitude, longitude = users[order], times[order], *np.radians(places)[:, order]
    gap = np.diff(times, prepend=times[0])
    unit = np.stack([np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)])
    chord = np.linalg.norm(np.diff(unit, axis=1, prepend=unit[:, :1]), axis=0)
    metres = 2 * 6371008.8 * np.arcsin(chord / 2)
    is_there = (np.diff(users, prepend=-1) == 0) & (gap > 0) & (gap <= longest_gap)
    return [
        3.6 * distance / time if there else None for distance, time, there in zip(metres, gap, is_there, strict=True)
    ]


def walk(n_users: int, n_fixes: int, start: int, seed: int = 1) -> list[Fix]:
    rng = np.random.default_rng(seed)
    fixes = []
    for user in range(n_users):
        times = start + np.cumsum(rng.integers(1, 150, n_fixes))
        places = np.array((47.0, 8.3)) + np.cumsum(rng.normal(0, 0.002, (n_fixes, 2)), axis=0)
        fixes += [(f"bus{user}", int(at), float(one), float(two)) for at, (one, two) in zip(times, places, strict=True)]
    rng.shuffle(fixes)
    return [(str(user), int(time), float(one), float(two)) for user, time, one, two in fixes]


def test_a_hundred_thousand_speeds_are_those_of_an_independent_computation_to_a_tick(moving: Dataset) -> None:
    fixes = walk(100, 1000, MIDNIGHT)
    fixes = [one for one in fixes if one[1] < MIDNIGHT + 86400]
    assert len(fixes) > 99_000
    write(moving, DATE, fixes)
    moving.prepare()
    expected = independent(fixes)
    found = [value for *_, value in speeds(moving)]
    assert [one is None for one in found] == [one is None for one in expected]
    assert 0.1 < np.mean([one is None for one in found]) < 0.3
    value = moving.config.value

    def ticks(some: list[float | None]) -> list[int]:
        clipped = np.clip([one for one in some if one is not None], float(value.lower), float(value.upper))
        return np.round((clipped - float(value.lower)) / float(value.tick)).astype(int).tolist()

    assert ticks(found) == ticks(expected)
    n_missing = sum(one is None for one in found)
    whole = moving.query("select sum(total_ticks), sum(n_missing), sum(n_records) from user_cell")
    assert whole == [(sum(ticks(found)) + n_missing * (value.n_ticks // 2), n_missing, len(fixes))]


def test_public_rules_say_when_there_is_no_speed(moving: Dataset) -> None:
    fixes = [
        ("a", MIDNIGHT + 1000, 47.0, 8.3),  # no fix before
        ("a", MIDNIGHT + 1010, 47.001, 8.3),
        ("a", MIDNIGHT + 1130, 47.002, 8.3),  # the longest gap
        ("a", MIDNIGHT + 1251, 47.003, 8.3),  # more than that
        ("a", MIDNIGHT + 1251, 47.203, 8.3),  # the same instant in another hexagon
        ("b", MIDNIGHT + 1012, 47.0, 8.3),  # another user
    ]
    write(moving, DATE, fixes)
    moving.prepare()
    assert [value is None for *_, value in speeds(moving)] == [True, False, False, True, True, True]
    assert moving.query("select sum(n_records) from user_cell") == [(6,)], "who has no speed stays"


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
def test_the_fix_before_may_be_in_the_file_of_the_day_before(moving: Dataset) -> None:
    fixes = walk(5, 200, MIDNIGHT + 86400 - 7000)
    of_days = [[one for one in fixes if (one[1] >= MIDNIGHT + 86400) == is_next] for is_next in (False, True)]
    for date, some in zip((DATE, NEXT), of_days, strict=True):
        write(moving, date, some)
    prepare_day(NEXT, moving.config, by_itself)
    expected = independent(fixes)
    in_order = sorted(fixes)
    wanted = [value for fix, value in zip(in_order, expected, strict=True) if fix[1] >= MIDNIGHT + 86400]
    ticks = [round(min(value, 200.0) / float(moving.config.value.tick)) for value in wanted if value is not None]
    n_missing = sum(one is None for one in wanted)
    found = moving.query(f"select sum(total_ticks), sum(n_missing) from user_cell where local_date = '{NEXT}'")
    assert found == [(sum(ticks) + n_missing * (moving.config.value.n_ticks // 2), n_missing)]
    alone = [value for *_, value in sorted(zip(sorted(of_days[1]), independent(of_days[1]), strict=True))]
    assert sum(one is None for one in alone) > n_missing, "some fix before is of the day before"


@pytest.mark.slow
def test_the_day_before_may_be_absent_broken_or_forgotten(moving: Dataset) -> None:
    last, first = ("a", MIDNIGHT + 86399, 47.0, 8.3), ("a", MIDNIGHT + 86401, 47.0, 8.301)
    write(moving, NEXT, [first])
    moving.prepare(NEXT)
    assert [value for *_, value in speeds(moving, NEXT)] == [None]
    moving.write(f"{DATE}.csv", "no header\n")
    moving.prepare(NEXT)
    assert [value for *_, value in speeds(moving, NEXT)] == [None]
    write(moving, DATE, [last])
    moving.prepare(NEXT)
    assert [value is None for *_, value in speeds(moving, NEXT)] == [False]
    forget_days([DATE], moving.config)
    moving.prepare(NEXT)
    assert [value for *_, value in speeds(moving, NEXT)] == [None]


def test_no_place_inside_a_hexagon_decides_whether_a_record_counts(moving: Dataset) -> None:
    rng = np.random.default_rng(7)
    centres = [(47.05, 8.3), (47.0, 8.0), (0.0, 0.0), (0.001, 0.001), (46.9, 8.3)]
    outcomes = []
    moving.edit(
        "[privacy]",
        "[validation]\nsouth = 46.9\nnorth = 47.2\nwest = 8.0\neast = 8.4\nmax_quarantined_share = 1\n[privacy]",
    )
    whole = [(user, MIDNIGHT + 60 * number) for user in ("a", "b") for number in range(60)]
    chosen = [centres[rng.integers(len(centres))] for _ in whole]
    hexagons = [placed(latitude, longitude) for latitude, longitude in chosen]
    for variant in range(3):
        draw = np.random.default_rng(variant)
        fixes = [(*one, *inside(cell, draw)) for one, cell in zip(whole, hexagons, strict=True)]
        twice = [
            (user, time, *inside(cell, draw)) for (user, time), cell in zip(whole[::7], hexagons[::7], strict=True)
        ]
        write(moving, DATE, [*fixes, *twice])
        outcomes.append(seen(moving, moving.prepare))
    assert outcomes[0].occupancy
    assert outcomes[0] == outcomes[1] == outcomes[2]
    values = moving.query("select count(distinct value) from derived_value")
    assert values != [(1,)]


def placed(latitude: float, longitude: float) -> str:
    import h3

    return h3.latlng_to_cell(latitude, longitude, 7)


def inside(cell: str, rng: np.random.Generator) -> tuple[float, float]:
    """Return a place inside a hexagon: near its middle, near a corner or, where it can be, at zero."""
    import h3

    middle, corners = np.array(h3.cell_to_latlng(cell)), np.array(h3.cell_to_boundary(cell))
    if cell == placed(0, 0) and rng.random() < 0.3:
        return 0.0, 0.0
    share = rng.random() * 0.98
    latitude, longitude = middle + share * (corners[rng.integers(len(corners))] - middle)
    return float(latitude), float(longitude)


@pytest.mark.quick(2)
@pytest.mark.parametrize("form", ["parquet", "ndjson", "json", "gtfs-rt"])
def test_no_format_needs_a_column_of_values(form: str, moving: Dataset) -> None:
    fixes = [("a", MIDNIGHT + 1000, 47.0, 8.3), ("a", MIDNIGHT + 1010, 47.001, 8.3)]
    write(moving, DATE, fixes)
    moving.prepare()
    expected = [value for *_, value in speeds(moving)]
    rows = [dict(zip(("bus", "time", "lat", "lon"), one, strict=True)) for one in fixes]
    name = f"{DATE}.{'pb' if form == 'gtfs-rt' else form}"
    if form == "parquet":
        (moving.folder / "raw").mkdir(exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows), moving.folder / "raw" / name)
    elif form == "gtfs-rt":
        moving.write(name, feed_of(fixes))
        for old, new in (
            ("bus", "vehicle.id"),
            ("time", "timestamp"),
            ("lat", "position.latitude"),
            ("lon", "position.longitude"),
        ):
            moving.edit(f'= "{old}"', f'= "{new}"')
    else:
        moving.write(name, json.dumps(rows) if form == "json" else "\n".join(map(json.dumps, rows)))
    moving.set(files=[f"raw/{name.replace(str(DATE), '{date}')}"], path="store-other")
    moving.prepare()
    found = [value for *_, value in speeds(moving)]
    assert found[0] is None
    assert found[1] == pytest.approx(expected[1], rel=0.05 if form == "gtfs-rt" else 1e-12)


def feed_of(fixes: list[Fix]) -> bytes:
    from google.transit import gtfs_realtime_pb2

    feed = gtfs_realtime_pb2.FeedMessage()
    feed.header.gtfs_realtime_version = "2.0"
    for number, (user, time, latitude, longitude) in enumerate(fixes):
        one = feed.entity.add(id=str(number)).vehicle
        one.vehicle.id, one.timestamp = user, time
        one.position.latitude, one.position.longitude = latitude, longitude
    return feed.SerializeToString()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('unit = "km/h"', 'unit = "furlongs"', "needs a value.unit of m/s, km/h, mph, kn"),
        ("tick =", "factor = 2.0\ntick =", "remove value.factor, missing and change"),
        ('user = "bus"', 'user = "bus"\nuser_is = "record"', "needs a user with several records"),
        ('latitude = "lat"', 'latitude = "{speed}"', "must name different columns"),
    ],
)
def test_a_speed_needs_a_unit_and_a_user_who_comes_back(old: str, new: str, said: str, moving: Dataset) -> None:
    moving.edit(old, new)
    with pytest.raises(BadConfig, match=said):
        _ = moving.config


def test_init_proposes_speeds_where_no_column_has_them_and_users_move(dataset: Dataset) -> None:
    fixes = sorted(walk(5, 60, MIDNIGHT), key=lambda one: one[1])
    path = dataset.write("a.csv", HEADER + "".join(f"{u},{t},{a},{o}\n" for u, t, a, o in fixes))
    proposal = propose_source([path], dataset.folder, Given())
    assert proposal.settings["columns"]["value"] == "{speed}"
    assert proposal.unit == "km/h"
    assert any("speed from the fix before" in reason for reason in proposal.reasons)
    nested = [{"who": {"bus_id": u}, "at": {"timestamp": t, "lat": a, "lon": o}} for u, t, a, o in fixes]
    path = dataset.write("a.json", json.dumps(nested))
    proposal = propose_source([path], dataset.folder, Given())
    assert proposal.settings["columns"]["value"] == "{speed}"
    assert proposal.settings["columns"]["latitude"] == "at.lat"
    path = dataset.write("a.pb", feed_of(fixes))
    assert propose_source([path], dataset.folder, Given()).settings["columns"]["value"] == "{speed}"


@pytest.mark.parametrize("kind", ["sensors stand still", "taps are hours apart"])
def test_init_asks_for_a_value_where_nothing_moves_or_fixes_are_far_apart(kind: str, dataset: Dataset) -> None:
    stands = kind.startswith("sensors")
    fixes = walk(5, 60, MIDNIGHT)
    rows = [(u, t, 47.0, 8.3) if stands else (u, t * 60 - 59 * MIDNIGHT, a, o) for u, t, a, o in fixes]
    path = dataset.write("a.csv", HEADER + "".join(f"{u},{t},{a},{o}\n" for u, t, a, o in rows))
    proposal = propose_source([path], dataset.folder, Given())
    assert proposal.missing == ["value"]
    assert "value" not in proposal.settings["columns"]
