"""Speeds from positions where presence is secret: exact, within a user and a local day, and of no other user's rows."""

import datetime as dt
import random
from pathlib import Path

import h3
import numpy as np
import pytest
from present import AREA, CONFIG, made
from support import DATE, HEADER

from tasks.presence.config import PresenceConfig
from tasks.presence.reading import read_day, report_path

TEXT = CONFIG.replace('value = "speed"', 'value = "{speed}"').replace("cap = 4", "cap = 1000")
MIDNIGHT = int(dt.datetime.combine(DATE, dt.time(), dt.UTC).timestamp())
LATITUDE, LONGITUDE = h3.cell_to_latlng(AREA[0])
Fix = tuple[str, int, float, float]


def written(fixes: list[Fix]) -> str:
    rows = (f"{user},{dt.datetime.fromtimestamp(at, dt.UTC).isoformat()},{y!r},{x!r}\n" for user, at, y, x in fixes)
    return HEADER.replace(",speed", "") + "".join(rows)


def walk(n_users: int, n_fixes: int, seed: int = 1) -> list[Fix]:
    rng = np.random.default_rng(seed)
    fixes = []
    for user in range(n_users):
        times = MIDNIGHT + rng.integers(0, 80_000) + np.cumsum(rng.integers(0, 150, n_fixes))
        y, x = np.array([[LATITUDE], [LONGITUDE]]) + np.cumsum(rng.normal(0, 0.003, (2, n_fixes)), axis=1)
        fixes += [(f"u{user:03}", int(at), float(a), float(b)) for at, a, b in zip(times, y, x, strict=True)]
    fixes += fixes[::7]  # said twice
    order = rng.permutation(len(fixes))
    return [fixes[place] for place in order]


def independent(fixes: list[Fix], config: PresenceConfig) -> list[tuple[int, int, int, int]]:
    """Return user, cell, records and ticks, with numpy alone: along chords of a unit ball."""
    once = sorted({one for one in fixes if MIDNIGHT <= one[1] < MIDNIGHT + 86400})
    users, times, *places = (np.array(part) for part in zip(*once, strict=True))
    y, x = np.radians(np.array(places))
    point = np.stack([np.cos(y) * np.cos(x), np.cos(y) * np.sin(x), np.sin(y)])
    metres = 2 * 6371008.8 * np.arcsin(np.linalg.norm(np.diff(point, axis=1), axis=0) / 2)
    gap = np.diff(times)
    has_speed = (users[1:] == users[:-1]) & (gap > 0) & (gap <= config.value.longest_gap)
    number = {cell: place for place, cell in enumerate(config.hexagons)}
    found: dict[tuple[str, int], list[int]] = {}
    for place in np.flatnonzero(has_speed):
        user, at, latitude, longitude = once[place + 1]
        cell = number.get(h3.latlng_to_cell(latitude, longitude, 6))
        speed = 3.6 * metres[place] / gap[place]
        if cell is not None:
            key = user, cell * config.n_slots + (at - MIDNIGHT) // (60 * config.grid.slot_minutes)
            found.setdefault(key, []).append(round(min(speed, 100.0) / 0.1))
    names = {user: n for n, user in enumerate(sorted({user for user, _ in found}))}
    return sorted((names[user], cell, len(ticks), sum(ticks)) for (user, cell), ticks in found.items())


def read(fixes: list[Fix], folder: Path, text: str = TEXT) -> list[tuple[int, int, int, int]]:
    files, config = made(folder, text)
    files.write(f"{DATE}.csv", written(fixes))
    day = read_day(DATE, config)
    return sorted(zip(*(part.tolist() for part in (day.user, day.cell, day.n_records, day.total)), strict=True))


def test_speeds_are_those_of_an_independent_computation_to_a_tick(tmp_path: Path) -> None:
    fixes = walk(40, 300)
    found = read(fixes, tmp_path)
    assert found == independent(fixes, made(tmp_path, TEXT)[1])
    assert 4_000 < sum(n for *_, n, _ in found) < 11_000
    longer = TEXT.replace("tick = 0.1", "tick = 0.1\nlongest_gap = 30")
    assert read(fixes, tmp_path, longer) == independent(fixes, made(tmp_path, longer)[1])


def test_the_speeds_of_a_user_are_the_same_without_any_other(tmp_path: Path) -> None:
    fixes = walk(12, 60, 3)
    found = read(fixes, tmp_path)
    whole = {user: [row[1:] for row in found if row[0] == user] for user, *_ in found}
    alone = [[row[1:] for row in read([one for one in fixes if one[0] == f"u{n:03}"], tmp_path)] for n in range(12)]
    assert [rows for rows in alone if rows] == list(whole.values())


def test_a_record_without_a_speed_does_not_count(tmp_path: Path) -> None:
    noon = MIDNIGHT + 43_200
    fixes = [
        ("a", noon, LATITUDE, LONGITUDE),  # no fix before
        ("a", noon + 10, LATITUDE + 0.001, LONGITUDE),
        ("a", noon + 10, LATITUDE + 0.001, LONGITUDE),  # said twice
        ("a", noon + 130, LATITUDE, LONGITUDE),  # the longest gap
        ("a", noon + 251, LATITUDE, LONGITUDE),  # more than that
        ("a", noon + 251, LATITUDE + 0.001, LONGITUDE),  # the same instant
        ("b", noon + 5, LATITUDE, LONGITUDE),  # another user
        ("c", noon, 0.0, 0.0),  # no place is known
        ("c", noon + 5, LATITUDE, LONGITUDE),
        ("c", noon + 6, LATITUDE, LONGITUDE),
        ("d", MIDNIGHT - 5, LATITUDE, LONGITUDE),  # the day before
        ("d", MIDNIGHT + 5, LATITUDE, LONGITUDE),
    ]
    found = read(fixes, tmp_path)
    cell = made(tmp_path, TEXT)[1].hexagons.index(AREA[0]) * 4 + 2
    ten = round(3.6 * 6371008.8 * np.radians(0.001) / 10 / 0.1)
    slow = round(3.6 * 6371008.8 * np.radians(0.001) / 120 / 0.1)
    assert found == [(0, cell, 2, ten + slow), (1, cell, 1, 0)]
    report = report_path(DATE, made(tmp_path, TEXT)[1]).read_text()
    assert '"no_value": 7' in report
    assert '"time_outside_day": 1' in report


@pytest.mark.parametrize("places", [(90.0, -90.0), (89.9999999, 89.9999999), (-0.0, 0.0)])
def test_poles_antipodes_and_the_date_line_have_speeds(places: tuple[float, float], tmp_path: Path) -> None:
    rng = random.Random(1)
    fixes = [("a", MIDNIGHT + n, rng.choice(places), rng.choice([180.0, -180.0, 0.0, 179.9])) for n in range(200)]
    fixes += [("b", MIDNIGHT + n, LATITUDE, LONGITUDE) for n in range(2)]
    assert [user for user, *_ in read(fixes, tmp_path)] == [0]


def test_points_have_speeds_as_positions_have(tmp_path: Path) -> None:
    fixes = walk(5, 50, 4)
    files, config = made(tmp_path / "points", TEXT.replace('latitude = "lat"\nlongitude = "lon"', 'geometry = "place"'))
    lines = written(fixes).splitlines()[1:]
    rows = [f"{user},{time},POINT ({x} {y})" for user, time, y, x in (line.split(",") for line in lines)]
    files.write(f"{DATE}.csv", "\n".join(["bus,time,place", *rows]))
    day = read_day(DATE, config)
    assert sorted(zip(day.user, day.cell, day.n_records, day.total, strict=True)) == read(fixes, tmp_path / "two")
