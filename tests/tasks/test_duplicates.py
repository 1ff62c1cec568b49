import datetime as dt
import math

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import CONFIG, DATE, Campaign, Dataset, examples

from tasks.base import warehouse
from tasks.records.judge import duplicates
from tasks.records.judge.places import use_places
from tasks.records.judge.validate import validate_records
from tasks.records.read.ingest import ingest_records

Row = tuple[str | None, dt.datetime | None, float | None, float | None]
Judged = list[tuple[str, int, str]]

MIDNIGHT = dt.datetime.combine(DATE, dt.time(), dt.UTC)
GOOD: Row = ("bus0", MIDNIGHT + dt.timedelta(hours=5), 47.0, 8.0)
TIMES = st.sampled_from([0, 1, 8 * 3600_000_000, 8 * 3600_000_001, 24 * 3600_000_000 - 1, 24 * 3600_000_000, -1])
ROWS = st.tuples(
    st.sampled_from(["bus1", "bus1", "bus1 ", "bus2", "a bus whose name is longer than twelve letters", "", None]),
    st.one_of(TIMES.map(lambda us: MIDNIGHT + dt.timedelta(microseconds=us)), st.none()),
    st.sampled_from([47.0, 47.0, 47.1, 0.0, -0.0, math.nan, None, 91.0, math.inf, 51.0]),
    st.sampled_from([8.0, 8.0, 8.1, 0.0, -0.0, math.nan, None, -181.0, 100.0]),
)
FILES = st.lists(st.lists(ROWS, max_size=30), min_size=1, max_size=3)
HASH = "hash(user_id, observed_at, latitude, longitude)"
COLLIDING = ("0::ubigint", f"{HASH} % 4", "hash(user_id)")


def rule_of(row: Row) -> str | None:
    user, time, latitude, longitude = row
    if time is None:
        return "time_unreadable"
    if not MIDNIGHT <= time < MIDNIGHT + dt.timedelta(days=1):
        return "time_outside_day"
    if not user or not user.strip():
        return "no_user"
    if latitude is None or longitude is None or math.isnan(latitude) or math.isnan(longitude):
        return "place_unreadable"
    return place_rule_of(latitude, longitude)


def place_rule_of(latitude: float, longitude: float) -> str | None:
    if abs(latitude) > 90 or abs(longitude) > 180:
        return "place_outside_world"
    if latitude == 0 and longitude == 0:
        return "place_zero"
    return None if -50 <= latitude <= 50 and -50 <= longitude <= 50 else "place_outside_area"


def judge(files: list[list[Row]]) -> tuple[set[int], Judged]:
    """Return the places of the rows to keep, counted through all files, and of the others with the reason why."""
    seen: set[object] = set()
    kept, quarantined, n_before = set(), [], 0
    for number, rows in enumerate(files):
        for place, row in enumerate(rows):
            user, *others = row
            key = ((user or "").strip(), *others)
            reason = rule_of(row) or ("duplicate" if key in seen else None)
            if reason is None:
                seen.add(key)
                kept.add(n_before + place)
            else:
                quarantined.append((f"raw/{DATE}_{number}.parquet", place + 1, reason))
        n_before += len(rows)
    return kept, quarantined


def write_files(dataset: Dataset, files: list[list[Row]]) -> None:
    """Write and read files, the last one first; each row's value is its place counted through all files, in ticks."""
    n_before = sum(map(len, files))
    for number, rows in reversed(list(enumerate(files))):
        n_before -= len(rows)
        columns = {"bus": pl.String, "time": pl.Datetime("us", "UTC"), "lat": pl.Float64, "lon": pl.Float64}
        frame = pl.DataFrame(rows, columns, orient="row")
        frame = frame.with_columns(speed=(pl.int_range(pl.len()) + n_before) / 100)
        frame.write_parquet(dataset.write(f"{DATE}_{number}.parquet", b""))
        ingest_records.fn(DATE, dataset.config)


def make_dataset(folder_factory: pytest.TempPathFactory) -> Dataset:
    dataset = Dataset(folder_factory.mktemp("duplicates"))
    area = "[validation]\nmax_quarantined_share = 1\nsouth = -50\nnorth = 50\nwest = -50\neast = 50\n[privacy]"
    dataset.config_file.write_text(CONFIG.replace("[privacy]", area).replace("raw/*", "raw/{date}_*.parquet"))
    return dataset


def kept_and_quarantined(dataset: Dataset) -> tuple[set[int], Judged]:
    kept = [ticks for (ticks,) in dataset.query(f"select value_ticks from record('{DATE}')")]
    assert len(set(kept)) == len(kept)
    quarantined = dataset.query(
        "select name, row_number, reason from quarantine join raw_file using (file_id) order by name, row_number"
    )
    return set(kept), quarantined


def set_hash(patch: pytest.MonkeyPatch, expression: str) -> None:
    original = warehouse.statement
    macro = original("scratch/identity_hash").replace(f"as\n{HASH}", f"as\n{expression}")
    assert expression in macro
    patch.setattr(warehouse, "statement", lambda name: macro if name == "scratch/identity_hash" else original(name))


@examples(3, 20)
def test_what_is_kept_and_why_is_what_a_plain_reading_of_the_rows_says_whatever_the_hashes_are(
    tmp_path_factory: pytest.TempPathFactory, n_examples: int, campaign: Campaign
) -> None:
    @settings(max_examples=campaign.size(n_examples))
    @given(files=FILES, expression=st.sampled_from([HASH, HASH, *COLLIDING]), at_once=st.sampled_from([1 << 26, 20, 3]))
    def same(files: list[list[Row]], expression: str, at_once: int) -> None:
        files = [[GOOD, *files[0]], *files[1:]]
        dataset = make_dataset(tmp_path_factory)
        write_files(dataset, files)
        with pytest.MonkeyPatch.context() as patch:
            set_hash(patch, expression)
            patch.setattr(duplicates, "_HASHES_AT_ONCE", at_once)
            validate_records.fn(DATE, dataset.config)
        assert kept_and_quarantined(dataset) == judge(files)

    same()


def test_hashes_that_differed_between_equal_records_would_show(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = make_dataset(tmp_path_factory)
    write_files(dataset, [[GOOD, GOOD]])
    set_hash(monkeypatch, "hash(random())")
    validate_records.fn(DATE, dataset.config)
    assert kept_and_quarantined(dataset) == ({0, 1}, [])


def test_hashes_in_parts_are_those_at_once(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = make_dataset(tmp_path_factory)
    rows: list[Row] = [(f"bus{n % 700}", GOOD[1], 47.0, 8.0) for n in range(1000)]
    write_files(dataset, [rows])
    with warehouse.connect(dataset.config) as connection:
        day = {"date": DATE, "file_ids": [1]}
        use_places(connection, dataset.config)
        whole = duplicates.repeated_hashes(connection, day)["identity_hash"]
        monkeypatch.setattr(duplicates, "_HASHES_AT_ONCE", 90)
        parts = duplicates.repeated_hashes(connection, day)["identity_hash"]
    assert len(whole) == 300
    assert sorted(whole) == sorted(parts)
