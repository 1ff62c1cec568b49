"""Ages of fixes: each gets the time at which it was taken, and counts once however many snapshots repeat it."""

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reading import ingest
from support import CONFIG, DATE, ENGINES, Dataset

from tasks.base.errors import BadConfig
from tasks.engines.late import count_late_records
from tasks.engines.prepare import by_itself, prepare_day
from tasks.records.judge.count_outcomes import prepared_rows

MIDNIGHT = 1768435200
Written = dict[str, Any]


@pytest.fixture
def aged(dataset: Dataset) -> Dataset:
    dataset.edit('value = "speed"', 'value = "speed"\nage = "seen"')
    return dataset


def fix(time: object, age: object, user: str = "b1", latitude: float = 47.05) -> Written:
    return {"bus": user, "time": time, "lat": latitude, "lon": 8.31, "speed": 30.0, "seen": age}


def lines(dataset: Dataset, *some: Written, name: str = "a.ndjson") -> None:
    dataset.write(name, "".join(json.dumps(one) + "\n" for one in some))


def micros(dataset: Dataset) -> list[int | None]:
    """Return the times of the records, in microseconds of the day."""
    read = dataset.query("select epoch_us(observed_at) from raw_record order by row_number")
    return [None if one is None else one - MIDNIGHT * 1_000_000 for (one,) in read]


@pytest.mark.parametrize("form", ["ndjson", "csv", "parquet"])
def test_an_age_is_taken_off_the_time_to_the_microsecond(aged: Dataset, form: str) -> None:
    some = [fix(MIDNIGHT + 100 + number / 10, age) for number, age in enumerate([0.3, 0, 12.3456789, 0.0, 90])]
    if form == "ndjson":
        lines(aged, *some)
    elif form == "csv":
        aged.write("a.csv", ",".join(some[0]) + "\n" + "".join(",".join(map(str, x.values())) + "\n" for x in some))
    else:
        (aged.folder / "raw").mkdir()
        pq.write_table(pa.Table.from_pylist(some), aged.folder / "raw/a.parquet")
    ingest(aged)
    assert micros(aged) == [99_700_000, 100_100_000, 87_854_321, 100_300_000, 10_400_000]


def test_a_record_without_an_age_that_can_be_read_keeps_its_time(aged: Dataset) -> None:
    ages = [None, "", "n/a", -1, "nan", "inf", 2e9, [3], "5"]
    lines(aged, *(fix(MIDNIGHT + 60, age) for age in ages), {k: x for k, x in fix(MIDNIGHT, 0).items() if k != "seen"})
    ingest(aged)
    assert micros(aged) == [60_000_000] * 8 + [55_000_000, 0]


def rounded(now: float, taken: float) -> tuple[object, object]:
    """What dump1090 writes: both to a tenth of a second."""
    return round(now, 1), round(now - taken, 1)


def cut(now: float, taken: float) -> tuple[object, object]:
    """What NextBus writes: whole milliseconds of the document, and whole seconds of the report."""
    return str(math.floor(now * 1000)), str(math.floor(now - taken))


def both_cut(now: float, taken: float) -> tuple[object, object]:
    return math.floor(now), math.floor(now - taken)


@pytest.mark.quick(1)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("write", "error"), [(rounded, 0.1), (cut, 1.0), (both_cut, 1.0)])
def test_a_fix_that_many_snapshots_repeat_counts_once_and_nearly_at_its_time(
    aged: Dataset, engine: str, write: Callable[[float, float], tuple[object, object]], error: float
) -> None:
    random = np.random.default_rng(7)
    taken = {f"b{number}": np.cumsum(random.uniform(3, 90, 30)) for number in range(10)}
    snapshots = MIDNIGHT + np.cumsum(random.uniform(8, 12, 90))
    some, seen = [], set()
    for now in snapshots:
        for user, times in taken.items():
            last = int(np.searchsorted(times, now - MIDNIGHT)) - 1
            if last >= 0:
                time, age = write(now, MIDNIGHT + times[last])
                some.append(fix(time, age, user, 47.05 + last / 1000))
                seen.add((user, last))
    lines(aged, *some)
    prepare_day(DATE, aged.config, by_itself)
    assert len(some) > 3 * len(seen)
    assert prepared_rows(DATE, aged.config) == {"kept": len(seen), "duplicate": len(some) - len(seen)}
    if not engine:
        kept = aged.query(
            "select user_id, round((latitude - 47.05) * 1000)::int, epoch_us(observed_at) / 1e6 from raw_record "
            "anti join quarantine using (file_id, row_number)"
        )
        assert all(abs(time - MIDNIGHT - taken[user][number]) <= error + 1e-3 for user, number, time in kept)


def test_fixes_more_than_a_second_apart_at_one_place_are_several(aged: Dataset) -> None:
    lines(aged, *(fix(MIDNIGHT + 100 + second, 0) for second in (0, 0.9, 2, 3.1, 4.1, 5.2)))
    aged.prepare()
    # 0.9 s and 1.0 s after the one before are the same fix; 1.1 s after it is another
    assert prepared_rows(DATE, aged.config) == {"kept": 4, "duplicate": 2}


@pytest.mark.parametrize("step", [0.5, 1.0])
@pytest.mark.parametrize("value", ["speed", "{speed}"])
def test_who_sends_a_fix_a_second_keeps_about_one_a_second_however_long_he_is_there(
    aged: Dataset, step: float, value: str
) -> None:
    """A chain of fixes, each within a second of the one before, is not one fix: hours would count once."""
    aged.edit('value = "speed"', f'value = "{value}"')
    late = np.random.default_rng(1).uniform(0, 0.3, 600).round(3).tolist()
    lines(aged, *(fix(MIDNIGHT + step * number + age, age) for number, age in enumerate(late)))
    aged.prepare()
    n_kept = prepared_rows(DATE, aged.config)["kept"]
    assert 600 * step - 10 <= n_kept <= 600 * step + 1


@pytest.mark.quick(1)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_fix_that_a_file_of_the_next_day_repeats_is_not_late(aged: Dataset, engine: str) -> None:
    assert engine in aged.config_file.read_text()
    day = [fix(MIDNIGHT + 3600 * hour, 0, f"b{bus}") for hour in range(8, 24) for bus in range(5)]
    lines(aged, *day, *(fix(MIDNIGHT + 86395, 0.3, f"b{bus}") for bus in range(5)))
    aged.run_day()
    lines(aged, fix(MIDNIGHT + 86405, 10.25), fix(MIDNIGHT + 86405, 12.25, "b2"), name="b.ndjson")
    assert count_late_records.fn(DATE, aged.config) == ({DATE: 1}, [])


def test_fixes_of_others_and_elsewhere_are_others_however_near_in_time(aged: Dataset) -> None:
    lines(aged, *(fix(MIDNIGHT + 100, 0, user, place) for user in ("b1", "b2") for place in (47.05, 47.0500001)))
    aged.prepare()
    assert prepared_rows(DATE, aged.config) == {"kept": 4}


def test_a_fix_of_the_day_before_in_a_snapshot_after_midnight_is_of_the_day_before(aged: Dataset) -> None:
    lines(aged, fix(MIDNIGHT + 5, 6), fix(MIDNIGHT + 5, 4, "b2"))
    aged.prepare()
    assert aged.query("select user_id, local_date::varchar from raw_record order by 1") == [
        ("b1", "2026-01-14"),
        ("b2", "2026-01-15"),
    ]


@pytest.mark.parametrize("name", ["speed", "time", "{speed}", "{folder}", "{hour}"])
def test_an_age_has_a_column_of_its_own(dataset: Dataset, name: str) -> None:
    dataset.config_file.write_text(CONFIG.replace('value = "speed"', f'value = "speed"\nage = "{name}"'))
    with pytest.raises(BadConfig, match=r"must name different columns|only (value|user|time) may be"):
        _ = dataset.config
