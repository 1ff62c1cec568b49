"""Datasets whose users' presence is secret: what is read, what is charged, what is published, and how it is checked."""

import datetime as dt
import gzip
import json
import random
import shutil
from collections import defaultdict
from collections.abc import Callable
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from zoneinfo import ZoneInfo

import h3
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from present import AREA, CONFIG, LATER, SHAPES, Line, made, of_shape, published, released, some_lines, write
from support import DATE, Dataset

from dpmath.presence.chosen import Chosen
from dpmath.presence.user_cells import UserCells
from flows import presence as flow
from tasks.account import ledger, private_files
from tasks.account.amendments import amend_budget
from tasks.account.presence_release import presence_releases
from tasks.base import warehouse
from tasks.base.config import load_config
from tasks.base.errors import BadConfig, BadInput, BudgetExceeded, HexveilError, LedgerBroken, NoRecords
from tasks.base.frames import parquet_bytes
from tasks.presence import account
from tasks.presence.area import hexagons_of, positions_of
from tasks.presence.backup import back_up_presence
from tasks.presence.config import PresenceConfig, load_presence
from tasks.presence.preview import preview_day
from tasks.presence.reading import read_day
from tasks.presence.states import ANSWERS, known_before
from tasks.presence.stored_questions import QUESTIONS, questions_bytes
from tasks.presence.table import table_of
from tasks.presence.verify import verify_presence
from tasks.records.judge import duplicates


def read_by_hand(lines: list[Line], config: PresenceConfig) -> dict[str, dict[int, tuple[int, int]]]:
    """Return each user's records and ticks by cell, read with Python alone."""
    number = {cell: place for place, cell in enumerate(config.hexagons)}
    once: dict[tuple[str, dt.datetime, float, float], list[int]] = defaultdict(list)
    for line in lines:
        user, time, *rest = (part.strip('"').replace('""', '"') if part.startswith('"') else part for part in line)
        try:
            instant = dt.datetime.fromisoformat(time)
            latitude, longitude, value = map(float, rest)
        except ValueError:
            continue
        inside = abs(latitude) <= 90 and abs(longitude) <= 180 and instant.date() == DATE
        if user.strip() and inside and not np.isnan(value):
            ticks = round((value - 0) / 0.1) if 0 < value < 100 else 0 if value <= 0 else 1000
            once[user.strip(), instant, latitude, longitude].append(ticks)
    found: dict[str, dict[int, tuple[int, int]]] = defaultdict(dict)
    for (user, instant, latitude, longitude), ticks in once.items():
        cell = h3.latlng_to_cell(latitude, longitude, 6)
        if cell in number:
            place = number[cell] * 4 + instant.hour // 6
            n, total = found[user].get(place, (0, 0))
            found[user][place] = n + 1, total + sum(ticks) // len(ticks)
    cap = config.privacy.cap
    return {
        user: {place: (min(n, cap), total if n <= cap else total * cap // n) for place, (n, total) in cells.items()}
        for user, cells in found.items()
    }


def by_user(day: UserCells) -> list[dict[int, tuple[int, int]]]:
    """Return the same of a day that was read, without names."""
    found: dict[int, dict[int, tuple[int, int]]] = defaultdict(dict)
    for user, cell, n, total in zip(day.user, day.cell, day.n_records, day.total, strict=True):
        found[int(user)][int(cell)] = int(n), int(total)
    return list(found.values())


def in_order(users: list[dict[int, tuple[int, int]]]) -> list[str]:
    return sorted(str(sorted(cells.items())) for cells in users)


@pytest.fixture
def dataset(tmp_path: Path) -> tuple[Dataset, PresenceConfig]:
    return made(tmp_path / "dataset")


GIVEN = ("zcdp", "gaussian")
HASH = "hash(user_id, observed_at, latitude, longitude)"


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet"])
def test_a_day_is_what_python_reads_in_it(form: str, dataset: tuple[Dataset, PresenceConfig]) -> None:
    files, config = dataset
    rng = random.Random(3)
    shapes = [one for one in SHAPES if form == "csv" or one != "odd texts"]
    lines = [line for n, shape in enumerate(shapes) for line in of_shape(shape, f"s{n}", DATE, rng)] + some_lines(4)
    rng.shuffle(lines)
    write(files, DATE, lines, form)
    read = by_user(read_day(DATE, config))
    assert in_order(read) == in_order(list(read_by_hand(lines, config).values()))
    assert len(read) > 30


@pytest.mark.parametrize("hashed", ["0::ubigint", "hash(user_id)", "hash(observed_at)", f"{HASH} % 4"])
@pytest.mark.parametrize("at_once", [1 << 26, 50])
def test_whatever_hashes_rows_share_only_what_a_user_said_twice_counts_once(
    hashed: str, at_once: int, dataset: tuple[Dataset, PresenceConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    files, config = dataset
    rng, original = random.Random(5), warehouse.statement
    lines = some_lines(6) + some_lines(6, 10) + [("u1", *line[1:]) for line in some_lines(6, 3)]
    lines += [(*line[:4], "70") for line in some_lines(6, 5)] + some_lines(6, 2)
    rng.shuffle(lines)
    write(files, DATE, lines)
    macro = original("scratch/identity_hash").replace(f"as\n{HASH}", f"as\n{hashed}")
    assert hashed in macro
    monkeypatch.setattr(warehouse, "statement", lambda name: macro if "identity_hash" in name else original(name))
    monkeypatch.setattr(duplicates, "_HASHES_AT_ONCE", at_once)
    assert in_order(by_user(read_day(DATE, config))) == in_order(list(read_by_hand(lines, config).values()))


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet"])
def test_rows_without_one_of_the_texts_of_a_column_are_left_out(form: str, tmp_path: Path) -> None:
    only = 'value = "speed"\nonly = { kind = ["bus", "tram"], line = 7 }'
    files, config = made(tmp_path / "dataset", CONFIG.replace('value = "speed"', only))
    kinds = [("bus", "7"), (" tram ", "7"), ("bus", "8"), ("Bus", "7"), ("", "7"), ('"bus"', "7")]
    lines = list(zip(some_lines(4), kinds * 30, strict=True))
    names = ["bus", "time", "lat", "lon", "speed", "kind", "line"]
    rows = [dict(zip(names, (*line, kind.strip('"'), number), strict=True)) for line, (kind, number) in lines]
    if form == "csv":
        of_lines = (",".join([*line, *kind]) for line, kind in lines)
        files.write(f"{DATE}.csv", "\n".join([",".join(names), *of_lines]) + "\n")
    elif form == "ndjson":
        files.write(f"{DATE}.ndjson", "".join(json.dumps(one) + "\n" for one in [*rows, {}]))
    else:
        files.write(f"{DATE}.parquet", b"")
        pl.DataFrame(rows).with_columns(pl.col("line").cast(pl.Int32)).write_parquet(
            files.folder / f"raw/{DATE}.parquet"
        )
    counted = [line for line, (kind, number) in lines if kind.strip(' "') in ("bus", "tram") and number == "7"]
    assert in_order(by_user(read_day(DATE, config))) == in_order(list(read_by_hand(counted, config).values()))
    report = json.loads((config.storage_path / "private" / "reports" / f"{DATE}.json").read_text())
    assert report["left_out"] == 90 + (form == "ndjson")


def test_a_line_of_a_csv_file_is_a_row_by_itself(dataset: tuple[Dataset, PresenceConfig]) -> None:
    """A quote that is not closed, bytes that are no text, and a very long line take no other line along."""
    files, config = dataset
    good = some_lines(5, 8)
    rows = [",".join(line).encode() for line in good]
    odd = [
        b'x,"open',
        b"\xff\xfe,1,2,3,4",
        b"y," + b"z" * 3_000_000,
        b"",
        b"a,b",
        b'"q"q",1,2,3,4',
        b"\x1f,,,,",
        b"\x00",
    ]
    mixed = [one for pair in zip(rows, odd * 7, strict=False) for one in pair] + rows[len(odd) * 7 :]
    files.write(f"{DATE}.csv", b"bus,time,lat,lon,speed\n" + b"\r\n".join(mixed))
    assert in_order(by_user(read_day(DATE, config))) == in_order(list(read_by_hand(good, config).values()))


def test_the_curator_has_a_report_that_nobody_else_has(dataset: tuple[Dataset, PresenceConfig]) -> None:
    files, config = dataset
    bad = of_shape("bad rows alone", "bad", DATE, random.Random(1))
    far = of_shape("outside the area", "far", DATE, random.Random(2))
    write(files, DATE, [*some_lines(), *bad, *far, ("u1", "1", "2", "3", "4,5")])
    read_day(DATE, config)
    report = json.loads((config.storage_path / "private" / "reports" / f"{DATE}.json").read_text())
    assert report == {
        "ids_alike": 0,
        "kept": 180,
        "malformed": 1,
        "outside_area": 6,
        "users": 31,
        "no_value": 2,
        "place_unreadable": 2,
        "time_outside_day": 1,
        "time_unreadable": 1,
    }
    assert (config.storage_path / "private").stat().st_mode & 0o077 == 0


def test_times_in_another_unit_than_the_declared_one_cannot_be_read(tmp_path: Path) -> None:
    files, config = made(tmp_path, CONFIG.replace('time = "time"', 'time = "time"\ntime_unit = "ms"'))
    seconds = int(dt.datetime.combine(DATE, dt.time(8), dt.UTC).timestamp())
    place = tuple(map(str, h3.cell_to_latlng(AREA[0])))
    write(files, DATE, [("u1", str(time), *place, "50") for time in (seconds * 1000, seconds)])
    read_day(DATE, config)
    report = json.loads((config.storage_path / "private" / "reports" / f"{DATE}.json").read_text())
    assert (report["kept"], report["time_unreadable"]) == (1, 1)


def test_slots_are_those_of_the_clock_on_the_wall(tmp_path: Path) -> None:
    """Where the clock goes back an hour is twice in one slot; where it goes forward a slot begins at no instant."""
    text = CONFIG.replace('"UTC"', '"Europe/Zurich"').replace("slot_minutes = 360", "slot_minutes = 60")
    files, config = made(tmp_path / "dataset", text)
    latitude, longitude = h3.cell_to_latlng(AREA[0])
    back, forward = dt.date(2026, 10, 25), dt.date(2026, 3, 29)
    lines = [("u1", f"2026-10-25T0{hour}:30:00Z", str(latitude), str(longitude), "50") for hour in (0, 1)]
    write(files, back, lines)
    day = read_day(back, config)
    assert (day.cell.tolist(), day.n_records.tolist()) == ([2], [2])
    write(files, forward, [])
    published(config, forward)
    answered = pl.read_parquet(config.storage_path / "published" / f"date={forward}" / "statistics.parquet")
    assert answered.filter(pl.col("slot_start").dt.convert_time_zone("Europe/Zurich").dt.hour() == 2).is_empty()


@pytest.mark.parametrize("zone", ["Europe/Zurich", "Asia/Kolkata", "America/St_Johns", "Australia/Lord_Howe"])
@pytest.mark.parametrize("day", ["2026-06-01", "2026-04-05", "2026-10-04", "2026-10-25", "2026-11-01", "1966-07-01"])
def test_every_instant_of_a_day_has_the_slot_that_its_clock_shows(zone: str, day: str, tmp_path: Path) -> None:
    text = CONFIG.replace('"UTC"', f'"{zone}"').replace("slot_minutes = 360", "slot_minutes = 30")
    files, config = made(tmp_path / "dataset", text)
    date, place = dt.date.fromisoformat(day), tuple(map(str, h3.cell_to_latlng(AREA[0])))
    start, end = config.day_bounds(date)
    instants = [start + dt.timedelta(seconds=7 * 60 * n) for n in range(26 * 9)]
    write(files, date, [("u1", one.astimezone(dt.UTC).isoformat(), *place, "50") for one in instants])
    shown = [one.astimezone(ZoneInfo(zone)) for one in instants if one < end]
    slots = [(60 * one.hour + one.minute) // 30 for one in shown]
    read = read_day(date, config)
    assert read.cell.tolist() == sorted(set(slots))
    assert read.n_records.tolist() == [min(slots.count(one), config.privacy.cap) for one in sorted(set(slots))]


def test_a_day_costs_everybody_the_same_whoever_was_there(dataset: tuple[Dataset, PresenceConfig]) -> None:
    files, config = dataset
    write(files, DATE, some_lines())
    write(files, LATER, [])
    for date in (DATE, LATER):
        published(config, date)
    first, second = presence_releases(ledger.read_entries(config))
    most = config.privacy.loss_per_day
    assert most * (1 - 1e-8) < first.loss <= most
    assert first.loss_total_after == first.loss
    assert second.loss_total_after == first.loss + second.loss
    assert first.epsilon <= Decimal(8)
    assert {path.name for path in (config.storage_path / "private").iterdir()} == {
        "attempts",
        "dataset",
        "ledger-head",
        "releases",
        "reports",
        "states",
    }


def test_a_day_is_released_once(dataset: tuple[Dataset, PresenceConfig]) -> None:
    files, config = dataset
    write(files, DATE, some_lines())
    folder = published(config)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    write(files, DATE, some_lines(9, 50))
    assert published(config, seed=2) == folder
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert len(ledger.read_entries(config)) == 1


def test_the_budget_ends_and_a_reason_raises_it(tmp_path: Path) -> None:
    files, config = made(tmp_path / "dataset", CONFIG.replace("epsilon_total = 40.0", "epsilon_total = 8.0"))
    for date in (DATE, LATER):
        write(files, date, some_lines(date=date))
    published(config)
    with pytest.raises(BudgetExceeded, match="nothing was spent"):
        released(config, LATER)
    assert len(ledger.read_entries(config)) == 1
    files.config_file.write_text(CONFIG)
    looser = load_presence(files.config_file)
    with pytest.raises(HexveilError, match="amend-budget"):
        released(looser, LATER)
    amend_budget("so it was decided", looser)
    published(looser, LATER)
    assert verify_presence(looser).n_made_again == 2


def test_gaussian_noise_alone_pays_more_of_the_same_promise(tmp_path: Path) -> None:
    one, other = (made(tmp_path / name, CONFIG.replace("cap = 4", f'cap = 4\ndefinition = "{name}"')) for name in GIVEN)
    losses = []
    for dataset, config in (one, other):
        write(dataset, DATE, some_lines())
        published(config)
        assert verify_presence(config).n_releases == 1
        (entry,) = presence_releases(ledger.read_entries(config))
        losses.append(entry.loss)
        assert Decimal("7.9") < entry.epsilon <= config.privacy.epsilon_per_day
    assert 1.10 < losses[1] / losses[0] < 1.17
    amended = load_presence(one[0].config_file)
    with pytest.raises(HexveilError, match=r"in zCDP at delta .*, and the configuration in Gaussian DP"):
        released(amended.model_copy(update={"privacy": other[1].privacy}), LATER)


def test_a_window_counts_the_days_in_it_alone(tmp_path: Path) -> None:
    text = CONFIG.replace("epsilon_total = 40.0", "epsilon_total = 12.0\nwindow_days = 2")
    files, config = made(tmp_path / "dataset", text)
    days = [DATE + dt.timedelta(days=shift) for shift in range(4)]
    for date in days:
        write(files, date, [])
    released(config, days[0])
    released(config, days[2])
    entries = ledger.read_entries(config)
    first, second = (entry.loss for entry in presence_releases(entries))
    assert account.used_with(days[3], 1, entries, config) == 1 + second
    assert account.used_with(days[1], 1, entries, config) == 1 + max(first, second)
    assert account.used_with(days[1] + dt.timedelta(days=9), 1, entries, config) == 1


def test_what_is_known_grows_and_is_made_again_from_the_answers(dataset: tuple[Dataset, PresenceConfig]) -> None:
    files, config = dataset
    for shift in range(3):
        date = DATE + dt.timedelta(days=shift)
        write(files, date, some_lines(shift, 400, date))
        published(config, date, seed=shift)
        if shift == 1:
            for path in private_files.states(config).iterdir():
                path.unlink()
    assert verify_presence(config).n_made_again == 3
    other = config.model_copy(update={"privacy": config.privacy.model_copy(update={"cap": 5})})
    last = DATE + dt.timedelta(days=2)
    assert [preview_day(last, one)["learns_from_days"] for one in (config, other)] == [2, 0]
    tables = [pl.read_parquet(one) for one in sorted(config.storage_path.glob("published/date=*/statistics.parquet"))]
    assert tables[2]["mean_sd"].mean() < tables[0]["mean_sd"].mean()  # type: ignore[operator]


def test_weekends_and_holidays_are_made_again_though_the_calendar_has_changed(tmp_path: Path) -> None:
    """A Thursday that was a holiday, a Friday, a Saturday, and a Sunday."""
    text = CONFIG.replace("[budget]", f'[calendar]\nholidays = ["{DATE}"]\n[budget]')
    files, config = made(tmp_path, text)
    for shift in range(4):
        date = DATE + dt.timedelta(days=shift)
        write(files, date, some_lines(shift, 400, date))
        published(config, date, seed=shift)
    entries = ledger.read_entries(config)
    later = made(tmp_path, text.replace(f'["{DATE}"]', f'["{LATER}"]'))[1]
    assert verify_presence(later).n_made_again == 4
    stored = known_before(DATE + dt.timedelta(days=4), entries, later)
    for path in private_files.states(config).iterdir():
        path.unlink()
    again = known_before(DATE + dt.timedelta(days=4), entries, later)
    assert stored is not None
    assert again is not None
    assert stored.apart.keys() == again.apart.keys() == {1, 2}
    for one, other in ((stored.apart[kind], again.apart[kind]) for kind in (1, 2)):
        assert np.allclose(one.mean, other.mean)
        assert one.prior == other.prior


def test_the_table_says_what_was_there(dataset: tuple[Dataset, PresenceConfig]) -> None:
    """With very little noise the numbers are right, and only cells with enough users are there."""
    files, config = dataset
    config = config.model_copy(
        update={"privacy": config.privacy.model_copy(update={"epsilon_per_day": Decimal(900_000)})}
    )
    config = config.model_copy(
        update={"budget": config.budget.model_copy(update={"epsilon_total": Decimal(1_000_000)})}
    )
    lines = some_lines(7, 900)
    write(files, DATE, lines)
    table = pl.read_parquet(published(config) / "statistics.parquet")
    users: dict[int, int] = defaultdict(int)
    for cells in read_by_hand(lines, config).values():
        for place in cells:
            users[place] += 1
    assert table.height > 20
    for row in table.iter_rows(named=True):
        place = AREA.index(row["h3_cell"]) * 4 + row["slot_start"].hour // 6
        assert abs(row["n_users"] - users[place]) <= max(3, 0.06 * users[place])
        assert row["mean_ci95_low"] - 3 < 40 < row["mean_ci95_high"] + 3
        assert row["n_users_ci95_low"] <= row["n_users"] <= row["n_users_ci95_high"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a dataset with a day that is published and verified: to be copied."""
    files, config = made(tmp_path_factory.mktemp("whole"))
    write(files, DATE, some_lines(1, 300))
    published(config)
    assert verify_presence(config).n_made_again == 1
    return files.folder


@pytest.mark.quick(5)
@pytest.mark.parametrize(
    "name", ["statistics.csv", "statistics.parquet", "manifest.json", QUESTIONS, ANSWERS, "area.json"]
)
@pytest.mark.parametrize("is_released", [False, True])
def test_a_changed_file_is_found(name: str, is_released: bool, whole: Path, tmp_path: Path) -> None:
    config = load_presence(Path(shutil.copytree(whole, tmp_path / "dataset")) / "dataset.toml")
    folder = config.storage_path / "published" / f"date={DATE}"
    (entry,) = presence_releases(ledger.read_entries(config))
    path = private_files.releases(config) / entry.files[name] if is_released else folder / name
    content = path.read_bytes()
    path.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    with pytest.raises(LedgerBroken):
        verify_presence(config)
    path.write_bytes(content)
    (folder / "more.csv").write_text("x")
    with pytest.raises(LedgerBroken, match="never released"):
        verify_presence(config)


def test_a_forged_table_does_not_follow_from_the_answers(
    dataset: tuple[Dataset, PresenceConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    files, config = dataset
    write(files, DATE, some_lines(1, 300))

    def forged(*given: object) -> pl.DataFrame:
        return table_of(*given).with_columns(pl.col("mean") * 0.9, pl.col("mean_ci95_low") * 0.9)  # type: ignore[arg-type]

    monkeypatch.setattr("tasks.presence.release.table_of", forged)
    published(config)
    with pytest.raises(LedgerBroken, match="does not follow from the noisy answers"):
        verify_presence(config)


def in_one_sum(file: pl.DataFrame) -> pl.DataFrame:
    """Return the file with one sum over all cells for a block that asked each cell by itself, or all cells' sums."""
    name = next((one for one in ("users", "values", "records") if file[one].dtype == pl.Int64), "users")
    ones = pl.Series(name, [[1]] * file.height, dtype=pl.List(pl.Int16))
    return file.with_columns(ones, pl.lit(0).cast(pl.Int64).alias(f"{name}_shift"))


@pytest.mark.quick(4)
@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (lambda file: file.with_columns(pl.col("values") * 2), "questions.parquet does not follow"),
        (lambda file: file.with_columns(pl.col("values_centre") + 200), "questions.parquet does not follow"),
        (lambda file: file.with_columns(pl.col("values") * 0 + 2**61), "not those of its questions"),
        (in_one_sum, "not those of its questions"),
        (lambda file: file.with_columns(pl.lit("1").alias("records")), "not those of its questions"),
        (lambda file: file.with_columns(pl.lit(None).alias("values_centre")), "not those of its questions"),
        (lambda file: file.drop("users_centre"), "not those of its questions"),
        (lambda file: file.with_columns(a_shift=pl.lit("said to readers")), "not those of its questions"),
        (lambda file: file.head(3), "not those of its questions"),
    ],
)
def test_forged_questions_are_none(
    changed: Callable[[pl.DataFrame], pl.DataFrame],
    reason: str,
    dataset: tuple[Dataset, PresenceConfig],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    files, config = dataset
    write(files, DATE, some_lines(1, 300))

    def forged(chosen: Chosen) -> bytes:
        return parquet_bytes(changed(pl.read_parquet(BytesIO(questions_bytes(chosen)))))

    monkeypatch.setattr("tasks.presence.release.questions_bytes", forged)
    published(config)
    with pytest.raises(LedgerBroken, match=reason):
        verify_presence(config)


def test_a_release_that_fails_has_spent_nothing(
    dataset: tuple[Dataset, PresenceConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    files, config = dataset
    write(files, DATE, some_lines())

    def fail(*_: object) -> None:
        raise OSError("full")

    with monkeypatch.context() as patch:
        patch.setattr(ledger, "append", fail)
        with pytest.raises(OSError, match="full"):
            released(config)
    assert ledger.read_entries(config) == []
    assert not (config.storage_path / "published").exists()
    published(config, seed=2)
    (entry,) = presence_releases(ledger.read_entries(config))
    assert entry.stated["attempt"] == 2
    assert {path.name for path in private_files.releases(config).iterdir()} == set(entry.files.values())


def test_a_copy_is_as_good_as_the_storage(dataset: tuple[Dataset, PresenceConfig], tmp_path: Path) -> None:
    files, config = dataset
    write(files, DATE, some_lines())
    published(config)
    assert back_up_presence(tmp_path / "copy", config) == 1
    files.config_file.write_text(CONFIG.replace('"store"', '"../copy"'))
    assert verify_presence(load_presence(files.config_file)).n_releases == 1


def test_a_storage_is_of_one_model_for_ever(dataset: tuple[Dataset, PresenceConfig]) -> None:
    files, config = dataset
    write(files, DATE, some_lines())
    released(config)
    public = CONFIG.replace('protects = "presence"', "").replace("expected_users = 500\ncap = 4", "")
    files.config_file.write_text("\n".join(line for line in public.splitlines() if not line.startswith("area")))
    with pytest.raises(HexveilError, match="whose users' presence is secret, not the dataset secret"):
        files.release()
    with pytest.raises(HexveilError, match="presence is secret"):
        ledger.read_entries(load_config(files.config_file))


def test_the_other_commands_refuse_such_a_configuration(dataset: tuple[Dataset, PresenceConfig]) -> None:
    with pytest.raises(BadConfig, match="is not for such datasets"):
        load_config(dataset[0].config_file)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("expected_users = 500", "expected_users = 499", "150 buses"),
        ("cap = 4", "cap = 0", "cap"),
        ("cap = 4\n", "", "missing key privacy.cap"),
        ('"bus"', '"{file}"', "{file}"),
        ('"speed"\n[value]', '"{speed}"\n[value]\nfactor = 3.6', "in value.unit"),
        (
            '"speed"\n[value]\nname = "speed"\nunit = "km/h"',
            '"{speed}"\n[value]\nname = "x"\nunit = "km"',
            "value.unit of",
        ),
        ("epsilon_total = 40.0", "epsilon_total = 40.0\nleast_share = 0.2", "least_share"),
        ('timezone = "UTC"', 'timezone = "UTC"\nformat = "xml"', "NDJSON or JSON"),
        ('timezone = "UTC"', 'timezone = "UTC"\nformat = "csv"\nrecords = "a"', "records is for JSON"),
        ("tick = 0.1", "tick = 0.001", "65,536 ticks"),
        ("h3_resolution = 6", "h3_resolution = 11", "more than 131,072 cells"),
        ("area = [", 'area = "no.geojson" #', "cannot be read"),
        ("area = [", 'area = ["871f8", ', "is none"),
        ("h3_resolution = 6", "h3_resolution = 5", "finer than h3_resolution"),
        ("cap = 4", 'cap = 4\nmechanism = "planned"', "unknown key privacy.mechanism"),
        ("cap = 4", 'cap = 4\ndefinition = "pure"', "zcdp"),
        ('value = "speed"', 'value = "speed"\nuser_is = "record"', "protects nobody's presence"),
    ],
)
def test_what_a_configuration_may_not_say(old: str, new: str, reason: str, tmp_path: Path) -> None:
    assert old in CONFIG
    path = tmp_path / "dataset.toml"
    path.write_text(CONFIG.replace(old, new))
    with pytest.raises(BadConfig, match=reason):
        load_presence(path)


def test_refusals_follow_from_structure_alone(dataset: tuple[Dataset, PresenceConfig]) -> None:
    files, config = dataset
    with pytest.raises(NoRecords, match="no file"):
        released(config)
    files.write(f"{DATE}.csv", "bus,time,lat,speed\n")
    with pytest.raises(BadInput, match="no column lon"):
        released(config)
    (files.folder / "raw" / f"{DATE}.csv").unlink()
    for damaged in (b"not gzip", gzip.compress(b"bus,time,lat,lon,speed\n" * 9)[:-9]):
        files.write(f"{DATE}.csv.gz", damaged)
        with pytest.raises(BadInput, match="damaged") as refused:
            released(config)
        assert ".gz" not in str(refused.value)
    assert ledger.read_entries(config) == []


def test_an_area_is_a_polygon_or_coarser_hexagons(tmp_path: Path) -> None:
    (parent,) = {h3.cell_to_parent(cell, 5) for cell in AREA}
    assert hexagons_of((parent,), 6, tmp_path) == tuple(AREA)
    ring = [[longitude, latitude] for latitude, longitude in h3.cell_to_boundary(parent)]
    shape = {"type": "Feature", "properties": {}, "geometry": {"type": "Polygon", "coordinates": [[*ring, ring[0]]]}}
    (tmp_path / "area.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": [shape]}))
    assert set(AREA) <= set(hexagons_of("area.geojson", 6, tmp_path))
    positions = positions_of(tuple(AREA))
    apart = np.hypot(*(positions[:, None] - positions[None]).T)
    near = h3.great_circle_distance(h3.cell_to_latlng(AREA[0]), h3.cell_to_latlng(AREA[1]))
    assert apart[0, 1] == pytest.approx(near, rel=0.01)


def test_without_values_numbers_of_users_are_published_with_less_noise(tmp_path: Path) -> None:
    """Noise is drawn from fixed seeds. Of one draw either may have less, so six are added up."""
    lines = some_lines(1, 900)
    small = CONFIG.replace("epsilon_per_day = 8.0", "epsilon_per_day = 0.5")
    without = small.replace('value = "speed"\n', "")
    start, end = without.index("[value]"), without.index("[grid]")
    counts = without[:start] + "[statistics]\nmean = false\n" + without[end:]

    def second_day(name: str, text: str, seed: int) -> tuple[Dataset, PresenceConfig, pl.DataFrame]:
        files, config = made(tmp_path / f"{name}-{seed}", text)
        write(files, DATE, lines)
        write(files, LATER, some_lines(2, 900, LATER))
        published(config, DATE, 2 * seed)
        return files, config, pl.read_parquet(published(config, LATER, 2 * seed + 1) / "statistics.parquet")

    draws = range(1, 7)
    deviations = []
    for name, text in (("all", small), ("counts", counts)):
        days = [second_day(name, text, seed) for seed in draws]
        deviations.append(np.mean([table["n_users_sd"].to_numpy() for *_, table in days]))
        files, config, table = days[0]
        assert verify_presence(config).n_made_again == 2
    assert deviations[1] < 0.95 * deviations[0]
    assert not [name for name in table.columns if name.startswith(("mean", "n_records"))]
    files.config_file.write_text(CONFIG.replace("[grid]", "[statistics]\nmean = false\n[grid]"))
    with pytest.raises(BadConfig, match="leave out"):
        load_presence(files.config_file)


def test_a_range_of_days_is_published_and_checked(dataset: tuple[Dataset, PresenceConfig]) -> None:
    files, _ = dataset
    write(files, DATE, some_lines())
    with pytest.raises(HexveilError, match=f"1 of 2 days have problems, the others are done:\n  {LATER}: no file"):
        flow.backfill(files.config_file, DATE, LATER, "refuse", skip_missing=False)
    flow.backfill(files.config_file, DATE, LATER, "refuse", skip_missing=True)
    with pytest.raises(HexveilError, match="costs everybody the same"):
        flow.backfill(files.config_file, DATE, LATER, "spread", skip_missing=True)
    flow.verify(files.config_file)
    report = flow.daily(files.config_file, DATE)
    assert (report.n_cells, report.n_more_like_it > 0) == (28, True)


def test_the_map_is_one_page_about_noisy_numbers(tmp_path: Path) -> None:
    files, config = made(tmp_path / "dataset", CONFIG.replace("map = false", "map = true"))
    write(files, DATE, some_lines(1, 900))
    page = (published(config) / "map.html").read_text()
    assert "Numbers of users and records are noisy" in page
    assert "is taken to be public" not in page
    overview = (config.storage_path / "published" / "index.html").read_text()
    assert "Everybody, there or not, has used" in overview
    assert "is taken to be public" not in overview
    table = pl.read_parquet(config.storage_path / "published" / "table" / "**" / "*.pq")
    assert table.height == presence_releases(ledger.read_entries(config))[0].n_published > 0


def test_where_numbers_of_users_alone_are_published_the_map_is_of_them(tmp_path: Path) -> None:
    without = CONFIG.replace('value = "speed"\n', "").replace("map = false", "map = true")
    start, end = without.index("[value]"), without.index("[grid]")
    files, config = made(tmp_path / "dataset", without[:start] + "[statistics]\nmean = false\n" + without[end:])
    write(files, DATE, some_lines(1, 900))
    page = (published(config) / "map.html").read_text()
    assert "Number of users per hexagon" in page
    assert "published number" in page
    assert "mean users" not in page
    assert "Numbers of users and records are noisy" not in page
    assert verify_presence(config).n_made_again == 1


def arrow_times(numbers: list[int], unit: str = "us", zone: str | None = None) -> pa.Array:
    """Return times by their numbers, also those that no calendar has."""
    stored = pa.py_buffer(np.array(numbers, dtype=np.int64))
    return pa.Array.from_buffers(pa.timestamp(unit, zone), len(numbers), [None, stored])


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_no_time_of_a_parquet_file_takes_another_row_along(
    unit: str, zone: str | None, dataset: tuple[Dataset, PresenceConfig]
) -> None:
    files, config = dataset
    noon = int(dt.datetime.combine(DATE, dt.time(12), dt.UTC).timestamp())
    per_second = {"ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    odd = [-(2**63), -(2**63) + 1, -(2**63) + 2, 2**63 - 1, 2**63 - 2, -377705116800000001, 0, -62135596800 * 10**6]
    latitude, longitude = h3.cell_to_latlng(AREA[0])
    n = len(odd) + 3
    table = pa.table(
        {
            "bus": [f"u{k % 3}" for k in range(n)],
            "time": arrow_times([noon * per_second + k for k in range(3)] + odd, unit, zone),
            "lat": [latitude] * n,
            "lon": [longitude] * n,
            "speed": [50.0] * n,
        }
    )
    pq.write_table(table, files.write(f"{DATE}.parquet", b""))
    day = read_day(DATE, config)
    assert (day.n_users, int(day.n_records.sum())) == (3, 3)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
@pytest.mark.parametrize("name", ["bus", "time", "speed"])
def test_no_text_of_a_parquet_file_takes_another_row_along(
    name: str, kind: pa.DataType, dataset: tuple[Dataset, PresenceConfig]
) -> None:
    files, config = dataset
    latitude, longitude = h3.cell_to_latlng(AREA[0])
    texts = {"bus": [b"u0", b"u1", b"u2"], "time": [f"{DATE}T08:00:00Z".encode()] * 3, "speed": [b"50"] * 3}
    texts[name][2] = b"\xffu\xfe"
    is_large = pa.types.is_large_string(kind)
    columns = {
        one: pa.array(held, pa.large_binary() if is_large else pa.binary()).view(
            pa.large_string() if is_large else pa.string()
        )
        for one, held in texts.items()
    }
    if pa.types.is_dictionary(kind):
        columns = {one: held.dictionary_encode() for one, held in columns.items()}
    table = pa.table({**columns, "lat": [latitude] * 3, "lon": [longitude] * 3})
    pq.write_table(table, files.write(f"{DATE}.parquet", b""))
    assert read_day(DATE, config).n_users == (3 if name == "bus" else 2)


def test_the_ledger_does_not_say_how_long_the_days_of_a_backfill_took(
    dataset: tuple[Dataset, PresenceConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    files, config = dataset
    for date in (DATE, LATER):
        write(files, date, some_lines(1, 300, date))
    times = iter(f"2026-01-20T00:00:{second:02}+00:00" for second in range(60))
    for module in ("flows.presence", "tasks.presence.release"):
        monkeypatch.setattr(f"{module}.now", lambda: next(times))
    flow.backfill(files.config_file, DATE, LATER, "refuse", skip_missing=False)
    found = [one.committed_at for one in presence_releases(ledger.read_entries(config))]
    assert found == [found[0]] * 2


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"bus": pa.array([1.0])}, "double, which cannot be read as user"),
        ({"speed": pa.array([True])}, "bool, which cannot be read as value"),
        ({"speed": pa.array([[1.0]])}, "cannot be read as value"),
        ({"time": pa.array([DATE])}, "date32"),
        ({"time": pa.array([1_768_000_000])}, "time_unit"),
        ({"speed": pa.array([Decimal(1)]).cast(pa.decimal256(60, 1))}, "decimal256.*convert it"),
    ],
)
def test_types_that_lose_every_row_are_refused_and_so_are_two_types_of_one_column(
    changes: dict[str, pa.Array], reason: str, dataset: tuple[Dataset, PresenceConfig]
) -> None:
    files, config = dataset
    good = {"bus": ["u"], "time": ["2026-01-15T08:00:00Z"], "lat": [47.0], "lon": [8.0], "speed": ["1"]}
    pq.write_table(pa.table(good | changes), files.write(f"{DATE}.parquet", b""))
    with pytest.raises(BadInput, match=reason):
        read_day(DATE, config)
    pq.write_table(pa.table(good), files.write(f"{DATE}.parquet", b""))
    read_day(DATE, config)
    pq.write_table(pa.table(good | {"speed": [1.5]}), files.write(f"{DATE}-more.parquet", b""))
    with pytest.raises(BadInput, match="in one type"):
        read_day(DATE, config)


def test_a_slot_that_the_clock_skips_in_part_is_there(tmp_path: Path) -> None:
    """In Cairo the clock skips the first hour of this day."""
    text = CONFIG.replace('"UTC"', '"Africa/Cairo"').replace("slot_minutes = 360", "slot_minutes = 1440")
    files, config = made(tmp_path / "dataset", text)
    date = dt.date(2026, 4, 24)
    write(files, date, some_lines(1, 900, date))
    table = pl.read_parquet(published(config, date) / "statistics.parquet")
    assert table.height > 0
    assert set(table["slot_start"]) == {config.day_bounds(date)[0]}


def test_a_released_day_is_not_that_of_another_area(dataset: tuple[Dataset, PresenceConfig]) -> None:
    files, config = dataset
    write(files, DATE, some_lines())
    released(config)
    files.config_file.write_text(CONFIG.replace(AREA[0], AREA[1]))
    with pytest.raises(HexveilError, match=r"another grid\.area"):
        released(load_presence(files.config_file))


@pytest.mark.parametrize(
    ("geometry", "reason"),
    [
        ({"type": "Point", "coordinates": [8.3, 47.0]}, "feature 1 is Point"),
        (None, "feature 1 is None"),
        (
            {"type": "Polygon", "coordinates": [[[2.6e6, 1.2e6], [2.7e6, 1.2e6], [2.7e6, 1.3e6], [2.6e6, 1.2e6]]]},
            "degrees",
        ),
        ({"type": "Polygon", "coordinates": [[[0, -80], [170, -80], [170, 80], [0, 80], [0, -80]]]}, "too large"),
        ({"type": "Polygon", "coordinates": [[[8, 47], [8, 47], [8, 47], [8, 47]]]}, "a line"),
        ({"type": "Polygon", "coordinates": [[[8, 47], [9, "x"], [9, 48], [8, 47]]]}, "cannot be read"),
    ],
)
def test_an_area_that_is_none_is_refused_in_words(geometry: object, reason: str, tmp_path: Path) -> None:
    feature = {"type": "Feature", "properties": {}, "geometry": geometry}
    (tmp_path / "area.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}))
    with pytest.raises(ValueError, match=reason):
        hexagons_of("area.geojson", 8, tmp_path)


def test_a_huge_area_is_refused_before_it_is_listed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="take fewer, larger ones"):
        hexagons_of(("8001fffffffffff",), 12, tmp_path)
    ring = [[-10, 30], [30, 70], [30, 30], [-10, 70], [-10, 30]]  # it crosses itself, so its halves add up to nothing
    (tmp_path / "area.geojson").write_text(json.dumps({"type": "Polygon", "coordinates": [ring]}))
    with pytest.raises(ValueError, match="too large for h3_resolution"):
        hexagons_of("area.geojson", 12, tmp_path)


@pytest.mark.quick(3)
@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet"])
@pytest.mark.parametrize("kind", ["h3", "geometry"])
def test_cells_and_points_are_read_as_positions_are(form: str, kind: str, tmp_path: Path) -> None:
    some = [h3.cell_to_children(one, 7)[2] for one in AREA[:4]]
    lines = [(f"u{n % 9}", f"{DATE}T08:{n % 60:02}:00Z", *h3.cell_to_latlng(some[n % 4]), n % 50) for n in range(200)]
    names = ["bus", "time", "lat", "lon", "speed"]
    pl.DataFrame(lines, names, orient="row").write_csv(
        (positions := made(tmp_path / "one"))[0].write(f"{DATE}.csv", b"")
    )
    writings = {"h3": lambda y, x: h3.latlng_to_cell(y, x, 7), "geometry": lambda y, x: f"POINT ({x!r} {y!r})"}
    rows = [(user, time, writings[kind](y, x), speed) for user, time, y, x, speed in lines]
    rows += [("u1", f"{DATE}T09:00:00Z", "x", 1), ("u1", f"{DATE}T09:00:00Z", None, 1)]
    text = CONFIG.replace('latitude = "lat"\nlongitude = "lon"', f'{kind} = "place"')
    files, config = made(tmp_path / "two", text)
    frame, path = (
        pl.DataFrame(rows, ["bus", "time", "place", "speed"], orient="row"),
        files.write(f"{DATE}.{form}", b""),
    )
    {"csv": frame.write_csv, "ndjson": frame.write_ndjson, "parquet": frame.write_parquet}[form](path)
    assert in_order(by_user(read_day(DATE, config))) == in_order(by_user(read_day(DATE, positions[1])))
    start, end = text.index("[value]"), text.index("[grid]")
    alone = text[:start].replace('value = "speed"\n', "") + "[statistics]\nmean = false\n" + text[end:]
    files.config_file.write_text(alone)
    counted = by_user(read_day(DATE, load_presence(files.config_file)))
    assert sorted(map(sorted, counted)) == sorted(map(sorted, by_user(read_day(DATE, positions[1]))))
