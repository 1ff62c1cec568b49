"""Who a user is: row numbers, names that change by day and one name for all are noticed before a guarantee is given."""

import datetime as dt
import gzip
import io
import json
import random
from collections.abc import Callable
from decimal import Decimal

import polars as pl
import pytest
from support import DATE, HEADER, Dataset, Hexveil, slow

from tasks.account import ledger
from tasks.account.chain import releases
from tasks.base.errors import HexveilError
from tasks.engines.prepare_here import prepared_here
from tasks.planning.explore import explore_day
from tasks.planning.presence import presence_cautions, presence_of
from tasks.records.init.proposal import propose_source
from tasks.records.input_formats.file_users import user_of_file
from tasks.records.input_formats.input_format import Given
from tasks.records.input_formats.roles import recognise_roles
from tasks.reporting.day_report import report_day
from tasks.reporting.registry import describe_deployment
from tasks.upkeep.verify import verify_ledger

DAYS = [DATE + dt.timedelta(days=n) for n in range(3)]
N_USERS, N_RECORDS = 12, 60


def rows(day: dt.date, user: Callable[[int], str]) -> str:
    chosen = random.Random(str(day))
    return "".join(
        f"{user(n)},{day}T{8 + n % 4:02}:{n % 60:02}:{chosen.randrange(60):02}Z,47.0{n % 5},8.3,{20 + n % 30}\n"
        for n in range(N_RECORDS)
    )


def as_rows(n: int) -> str:
    return f"r{n}"


def as_vehicles(n: int) -> str:
    return f"bus{n % N_USERS}"


def as_of_day(day: dt.date) -> Callable[[int], str]:
    return lambda n: f"{day:%j}-{n % N_USERS}"


@pytest.mark.parametrize(
    ("names", "user"),
    [
        (["id", "sensor_id", "lat"], "sensor_id"),
        (["id", "vehicle.trip.tripId", "vehicle.vehicle.id", "vehicle.position.speed"], "vehicle.vehicle.id"),
        (["MMSI", "BaseDateTime", "LAT", "LON", "SOG", "VesselName"], "MMSI"),
        (["uuid", "icao24", "callsign"], "icao24"),
        (["trajectory_id", "sequence", "tracker"], "tracker"),
        (["record_id", "IMEI"], "IMEI"),
        (["OBJECTID", "VIN"], "VIN"),
        (["id", "plate_number", "licensePlate"], "licensePlate"),
        (["_id", "badge-no"], "badge-no"),
        (["id", "cardId"], "cardId"),
        (["unit", "tag", "devID"], "devID"),
        (["id", "assignments[0].driver.userRef"], "assignments[0].driver.userRef"),
        (["trip_id", "route_id", "stop_id", "line", "vehicle_type"], None),
    ],
)
def test_vehicles_devices_and_people_are_preferred_to_numbers_of_rows(names: list[str], user: str | None) -> None:
    assert recognise_roles(names).get("user") == user


@pytest.mark.parametrize("name", ["id", "uid", "_id", "UUID"])
def test_a_row_number_is_no_user_for_init_even_if_nothing_else_is_there(dataset: Dataset, name: str) -> None:
    file = dataset.write("day.csv", HEADER.replace("bus", name) + rows(DATE, as_rows))
    assert propose_source([file], dataset.folder, Given()).missing == ["user"]
    file = dataset.write("day.csv", HEADER.replace("bus", name) + rows(DATE, as_vehicles))
    assert propose_source([file], dataset.folder, Given()).settings["columns"]["user"] == name


@pytest.mark.parametrize(
    ("name", "user"),
    [
        ("2026-03-02_pm_sensor_100.csv", "pm_sensor_100"),
        ("s1_20260302.csv.gz", "s1"),
        ("s1-20260302T101500Z.csv", "s1"),
        ("s1_2026-03-02_10-15-00.csv", "s1"),
        ("s1_2026-03-02_17:30.csv", "s1"),
        ("s1_02.03.2026.csv", "s1"),
        ("s1_02032026.csv", "s1"),
        ("s1.2026.03.02.csv", "s1"),
        ("truck7-2Mar2026.csv", "truck7"),
        ("s1_2026-W10.csv", "s1"),
        ("s1_2026-03.csv", "s1"),
        ("new_abboip.txt", "new_abboip"),
        ("867322045678901.csv", "867322045678901"),
        ("2026-03-02.csv", None),
        ("20260302101500.csv", None),
        ("2026-03-02/867322045678901.csv", "867322045678901"),
        ("2026-03-02/bus12.csv", "bus12"),
        ("day1/s1_pm25.csv", "s1_pm25"),
        ("taxi_log_2008/1277.csv", "1277"),
    ],
)
def test_the_user_of_a_file_is_its_name_without_a_date(name: str, user: str | None, dataset: Dataset) -> None:
    assert user_of_file(dataset.folder / name, dataset.folder) == user


HOURS = (
    *("date=2026-03-02/hour-07.csv", "2026-03-02/07.csv", "2026/03/02/7.csv", "2026/03/02.csv", "20260302/0700.csv"),
    *("2026-03-02/hour=07/data-1.csv", "hours/07.csv", "2026-03-02/07h30.csv", "2026-03-02/7am.csv", "Stunde07.csv"),
    *(
        "2026-03-02/part-00000-c000.csv",
        "2026-03-02/1772438400.csv",
        "bus12-hour-07.csv",
        "monday.csv",
        "2026-W10/2.csv",
    ),
    *(
        "2026-W10/2.csv",
        "trip_12.csv",
        "trips/12.csv",
        "bus_2026-03-02_17.csv",
        "bus_2026-03-02_1730.csv",
        "s1_2026-03-02_part2.csv",
        "bus7-shift1.csv",
        "bus7_am.csv",
        "bus7_Evening.csv",
    ),
)


@pytest.mark.quick(11)
@pytest.mark.parametrize("name", HOURS)
def test_a_number_that_may_be_an_hour_a_part_or_a_trip_is_no_user(name: str, dataset: Dataset) -> None:
    assert user_of_file(dataset.folder / name, dataset.folder) is None
    dataset.set(user="{file}", files=["raw/**/*.csv"])
    file = dataset.folder / "raw" / name
    file.parent.mkdir(parents=True)
    file.write_text(HEADER.removeprefix("bus,") + f"{DATE}T08:00:00Z,47.0,8.3,20\n")
    with pytest.raises(HexveilError, match="this one names a date, an hour, a part or a trip"):
        dataset.prepare(DATE)


def test_a_file_for_each_user_and_day_has_one_user_on_all_days(dataset: Dataset) -> None:
    dataset.set(user="{file}")
    for day in DAYS[:2]:
        for user in range(5):
            lines = "".join(f"{day}T{hour:02}:{user}0:00Z,47.0,8.3,{20 + hour}\n" for hour in range(8, 12))
            dataset.write(f"{day}_pm_sensor_10{user}.csv", HEADER.removeprefix("bus,") + lines)
    for day in DAYS[:2]:
        dataset.release(day)
    last = releases(ledger.read_entries(dataset.config))[-1]
    assert last.loss_total_after > int(last.stated["loss"]), "each user has two days of loss"
    dataset.write(f"{DAYS[2]}.csv", HEADER.removeprefix("bus,") + f"{DAYS[2]}T08:00:00Z,47.0,8.3,20\n")
    with pytest.raises(HexveilError, match="takes the user from the name of a file, and this one names a date"):
        dataset.prepare(DAYS[2])


def test_a_day_of_records_in_place_of_users_is_refused_unless_that_is_stated(
    dataset: Dataset, hexveil: Hexveil
) -> None:
    dataset.write("day.csv", HEADER + rows(DATE, as_rows))
    at = ("--config", dataset.config_file, "--date", DATE)
    problem = f"{N_RECORDS} of {N_RECORDS} users have one record only"
    assert f"A run would be refused: {problem}" in hexveil("plan", *at).stdout
    assert f"Caution: {problem}" in hexveil("explore", *at, "--resolution", "7", "--slot", "60").stdout
    assert problem in hexveil("run", *at).stderr
    dataset.set(user_is="day")
    assert problem in hexveil("run", *at).stderr, "users of one day have more than one record"
    assert ledger.read_entries(dataset.config) == []
    dataset.set(user_is="record")
    ran = hexveil("run", *at)
    assert ran.returncode == 0, ran.stderr
    assert "for any one record at most" in ran.stdout
    assert "guarantee  each record, its value: (" in ran.stdout
    (entry,) = releases(ledger.read_entries(dataset.config))
    folder = dataset.folder / "store" / "published"
    manifest = json.loads((folder / f"date={DATE}" / "manifest.json").read_text())
    for stated in (entry.stated, manifest):
        assert stated["in_words"].startswith("each record, its value: (")
        assert stated["guarantee"]["unit_of_privacy"].startswith("one record: its value")
    described = describe_deployment([entry], dataset.config)["privacy_guarantee"]
    assert described["unit_of_privacy"].startswith("one record: its value")
    assert "each record loses at most" in described["statement"]
    assert verify_ledger(dataset.config).in_words.startswith("1 releases: ")


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("scooter_id,rider_id", "'rider_id' names people, and each 'scooter_id' is protected instead"),
        ("card_id,gate", "'card_id' names people or what they carry"),
        ("bus,vehicle_label", None),
    ],
)
def test_people_in_place_of_vehicles_are_said(dataset: Dataset, columns: str, said: str | None) -> None:
    lines = [f"{n % 5},{n % 7},{DATE}T08:{n:02}:00Z,47.05,8.31,30" for n in range(40)]
    file = dataset.write("day.csv", "\n".join([HEADER.replace("bus", columns).strip(), *lines]) + "\n")
    reasons = propose_source([file], dataset.folder, Given()).reasons
    cautions = [one for one in reasons if "names people" in one]
    assert len(cautions) == (said is not None)
    assert all(one.startswith(f"Caution: {said}") for one in cautions)


SPELLINGS = [("0{}", "{}"), ("zh{}", "ZH{}"), ("b-00{}", "B-{}"), ("bus{} (1)", "bus{}"), ("bus{}-copy", "bus{}")]


@pytest.mark.parametrize(
    ("one", "other"), [SPELLINGS[0], *(pytest.param(*pair, marks=pytest.mark.slow) for pair in SPELLINGS[1:])]
)
def test_users_with_two_spellings_are_refused_unless_they_are_stated_to_be_two(
    dataset: Dataset, one: str, other: str
) -> None:
    """Half of a user's records under one spelling and half under another would each have the whole budget."""

    def spelled(n: int) -> str:
        return (one if n // N_USERS % 2 else other).format(n % N_USERS + 1)

    dataset.write("day.csv", HEADER + rows(DATE, spelled))
    with pytest.raises(HexveilError, match=f"{2 * N_USERS} of {2 * N_USERS} users differ from another only by zeros"):
        dataset.release(DATE)
    assert ledger.read_entries(dataset.config) == []
    dataset.set(user_is="spelling")
    dataset.release(DATE)
    assert not any("differ from another" in caution for caution in report_day(DATE, {}, dataset.config).cautions)
    (entry,) = releases(ledger.read_entries(dataset.config))
    assert entry.in_words.startswith("each user, as its id is written, all values of the day: (")
    assert entry.stated["guarantee"]["unit_of_privacy"].startswith("one user, as its id is written")
    assert verify_ledger(dataset.config).n_releases == 1
    dataset.set(user_is=None)
    dataset.write("day2.csv", HEADER + rows(DAYS[1], as_vehicles))
    with pytest.raises(HexveilError, match="an earlier release only each user, as its id is written"):
        dataset.release(DAYS[1])


@pytest.mark.parametrize(
    ("names", "n_alike"),
    [
        *[(one, 0) for one in (["7a", "07b", "17"], ["a1", "a10", "A100"], ["x (1)", "x (2)", "x - copy"])],
        (["u7", "U07", "u70"], 2),
        (["4.05", "4.5", "4"], 0),
        (["Person 1", "person_01", "PERSON-1"], 3),
        (["12-3", "1-23", "123"], 0),
        (["E8:31:CD:00:12:7F", "e831cd00127f", "x"], 2),
        (["{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}", "A0EEBC999C0B4EF8BB6D6BB9BD380A11", "x"], 2),
        (["Caf\u00e9\u00a07", "Cafe\u0301\u200b 7", "x"], 2),
        (["-", "_", "+"], 0),
        (["x - Copy", "X", "copy of x"], 3),
        (["x copy 2", "x", "x (1)"], 3),
    ],
)
def test_few_users_with_two_spellings_are_said(dataset: Dataset, names: list[str], n_alike: int) -> None:
    dataset.write("day.csv", HEADER + rows(DATE, lambda n: [*names, *(f"bus{k}" for k in range(30))][n % 33]))
    dataset.prepare()
    shared = presence_of(DATE, dataset.config)
    assert shared.n_users == 33
    said = [caution for caution in presence_cautions(shared, dataset.config) if "differ from another" in caution]
    assert [caution.partition(" users")[0] for caution in said] == ([f"{n_alike} of 33"] if n_alike else [])


@pytest.mark.parametrize(("n_kept", "is_said"), [(3, True), (8, False)])
def test_users_of_whom_few_return_are_said(dataset: Dataset, n_kept: int, is_said: bool) -> None:
    """The others have a new name each day, and with it a new budget."""
    dataset.set(files=["raw/{date}.csv"])
    for day in DAYS:
        changing = as_of_day(day)
        users = [as_vehicles(n) if n < n_kept else changing(n) for n in range(N_USERS)]
        dataset.write(f"{day}.csv", HEADER + rows(day, lambda n, users=users: users[n % N_USERS]))
    for day in DAYS[::2]:
        dataset.release(day)
    cautions = report_day(DAYS[2], {}, dataset.config).cautions
    said = [one for one in cautions if one.startswith(f"{N_USERS - n_kept} of {N_USERS} users were seen on no other")]
    assert len(said) == is_said


def test_users_that_no_other_day_had_are_refused_unless_that_is_stated(dataset: Dataset) -> None:
    for day in DAYS:
        dataset.write(f"{day}.csv", HEADER + rows(day, as_of_day(day)))
    with pytest.raises(HexveilError, match=f"{N_USERS} of {N_USERS} users were seen on no other day"):
        dataset.release(DATE)
    dataset.set(files=["raw/{date}.csv"])
    with pytest.raises(HexveilError, match=f"{N_USERS} of {N_USERS} users were seen on no other day"):
        dataset.release(DATE)  # the files of other days are looked at
    files = [(dataset.folder / "raw" / f"{day}.csv") for day in DAYS[1:]]
    texts = [file.read_text() for file in files]
    for file in files:
        file.unlink()
    dataset.release(DATE)  # no other day is known
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    with pytest.raises(HexveilError, match=f"{N_USERS} of {N_USERS} users were seen on no other day"):
        dataset.release(DAYS[1])
    dataset.set(user_is="day")
    dataset.release(DAYS[1])
    last = releases(ledger.read_entries(dataset.config))[-1]
    assert last.in_words.startswith("each user of one day, all values of that day: (")
    dataset.set(user_is=None)
    dataset.write(f"{DAYS[2]}.csv", HEADER + rows(DAYS[2], as_of_day(DATE)))
    with pytest.raises(HexveilError, match="an earlier release only each user of one day"):
        dataset.release(DAYS[2])


@pytest.mark.parametrize("at_once", [False, True], ids=["day by day", "all in the warehouse"])
def test_users_that_change_within_the_local_day_are_found_on_days_apart(dataset: Dataset, at_once: bool) -> None:
    """Some of a day's records have the names of the day before, as where names change at midnight elsewhere."""
    days = [DATE + dt.timedelta(days=n) for n in range(4)]
    if not at_once:
        dataset.set(files=["raw/{date}.csv"])
    for day in days:
        of_both = [as_of_day(day - dt.timedelta(days=1)), *[as_of_day(day)] * 3]
        dataset.write(f"{day}.csv", HEADER + rows(day, lambda n, users=of_both: users[n // N_USERS % 4](n)))
        if not at_once and day in days[:2]:
            dataset.release(day)  # nothing shows yet that the users who came back will not do so again
    with pytest.raises(HexveilError, match="were seen on no other day"):
        dataset.release(days[2])


@pytest.mark.slow
def test_a_range_whose_users_change_within_the_local_day_is_refused_from_its_first_day_on(dataset: Dataset) -> None:
    days = [DATE + dt.timedelta(days=n) for n in range(4)]
    dataset.set(files=["raw/{date}.csv"])
    for day in days:
        of_both = [as_of_day(day - dt.timedelta(days=1)), as_of_day(day)]
        dataset.write(f"{day}.csv", HEADER + rows(day, lambda n, users=of_both: users[n // N_USERS % 2](n)))
    planned = dataset.plan_range(days, "clip")
    assert not planned.plans
    assert all("were seen on no other day" in problem for problem in planned.problems.values())


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("form", "is_back"),
    [
        *((form, False) for form in ("csv", "ndjson", "parquet", "bytes", "numbers")),
        ("csv", True),
        *(slow(form, False) for form in ("csv.gz", "json")),
        *(slow(form, True) for form in ("ndjson", "parquet")),
    ],
)
def test_the_first_day_of_dated_files_is_compared_with_files_of_other_days(
    dataset: Dataset, form: str, is_back: bool
) -> None:
    ending = {"bytes": "parquet", "numbers": "parquet"}.get(form, form)
    dataset.set(files=[f"raw/{{date}}.{ending}"])
    for day in DAYS:
        user = as_vehicles if is_back else as_of_day(day)
        frame = pl.read_csv(io.StringIO(HEADER + rows(day, lambda n, user=user: f" {user(n)} ")))
        if form == "numbers":
            frame = frame.with_columns(pl.col("bus").str.replace_all(r"\D", "").cast(pl.Int64))
        if form == "bytes":
            frame = frame.with_columns(pl.col("bus").cast(pl.Binary))
        write = {"ndjson": frame.write_ndjson, "json": frame.write_json, "parquet": frame.write_parquet}
        file = dataset.write(f"{day}.{ending}", gzip.compress(frame.write_csv().encode()) if "gz" in form else b"")
        if "gz" not in form:
            write.get(ending, frame.write_csv)(file)
    if is_back or form == "bytes":  # of bytes nothing is said: they are compared once a day was released
        dataset.release(DATE)
    else:
        with pytest.raises(HexveilError, match="were seen on no other day"):
            dataset.release(DATE)


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("ending", "content"),
    [
        ("csv", b"\xff\xfe"),
        ("csv", b"nothing,else\n1,2\n"),
        ("csv.gz", gzip.compress(b"bus,time")[:-4]),
        ("ndjson", b"not json\n"),
        ("parquet", b"PAR1 and no more PAR1"),
    ],
    ids=["bytes", "columns", "gzip", "ndjson", "parquet"],  # gzip's bytes hold the time
)
def test_a_file_of_another_day_that_cannot_be_read_stops_no_day(dataset: Dataset, ending: str, content: bytes) -> None:
    dataset.set(files=["raw/{date}.csv", f"raw/{{date}}_other.{ending}"])
    dataset.write(f"{DATE}.csv", HEADER + rows(DATE, as_vehicles))
    dataset.write(f"{DAYS[2]}_other.{ending}", content)
    dataset.release(DATE)


def test_users_of_whom_no_two_are_ever_there_together_are_said(dataset: Dataset, hexveil: Hexveil) -> None:
    dataset.write(
        "day.csv", HEADER + "".join(f"f{n // 3},{DATE}T{n // 3:02}:0{n % 3}:00Z,47.0,8.3,9\n" for n in range(60))
    )
    shown = hexveil("plan", "--config", dataset.config_file, "--date", DATE).stdout.replace("\n", " ")
    assert "no two of 20 users were there in the same slot" in shown


def test_a_trip_in_place_of_a_user_is_said_even_if_it_comes_back(dataset: Dataset, hexveil: Hexveil) -> None:
    dataset.write("day.csv", HEADER.replace("bus", "trip_id") + rows(DATE, as_vehicles))
    dataset.set(user="trip_id")
    shown = hexveil("plan", "--config", dataset.config_file, "--date", DATE).stdout.replace("\n", " ")
    assert 'columns.user = "trip_id" is named like a trip, a route, an order' in shown


@pytest.mark.slow
def test_another_column_for_the_user_is_refused_for_that_and_for_nothing_else(
    dataset: Dataset, hexveil: Hexveil
) -> None:
    header = HEADER.replace("bus", "row,bus")
    for day in DAYS[:2]:
        text = "".join(f"{day}-{n},{line}\n" for n, line in enumerate(rows(day, as_vehicles).splitlines()))
        dataset.write(f"{day}.csv", header + text)
    dataset.release(DATE)
    dataset.set(user="row")
    at = ("--config", dataset.config_file, "--date", DAYS[1])
    for command in ("run", "plan"):
        ended = hexveil(command, *at)
        said = (ended.stdout + ended.stderr).replace("\n", " ")
        assert 'the ledger counts the losses of the users in the column "bus"' in said
        assert "user_is" not in said
    with pytest.raises(HexveilError, match='the users in the column "bus"'):
        dataset.plan_range(DAYS[1:2])


@pytest.mark.slow
def test_a_small_fleet_of_which_nobody_comes_back_is_said(dataset: Dataset, hexveil: Hexveil) -> None:
    dataset.set(files=["raw/{date}.csv"])
    for day in DAYS:
        dataset.write(f"{day}.csv", HEADER + rows(day, lambda n, day=day: f"{day:%j}-{n % 3}"))
    dataset.release(DATE)
    shown = hexveil("plan", "--config", dataset.config_file, "--date", DAYS[1]).stdout
    assert "no user was seen on another day" in shown.replace("\n", " ")


def test_exploring_knows_who_was_charged_and_says_once_that_nobody_comes_back(dataset: Dataset) -> None:
    def cautions(day: dt.date) -> list[str]:
        with prepared_here(day, dataset.config) as prepared:
            return explore_day(day, [7], [60], [Decimal(2)], dataset.config, prepared).cautions

    dataset.set(files=["raw/{date}.csv"])
    for day in DAYS:
        dataset.write(f"{day}.csv", HEADER + rows(day, as_vehicles))
    for day in (DAYS[0], DAYS[2]):
        dataset.release(day)
    for day in DAYS[:2]:
        dataset.write(f"{day}.csv", HEADER + rows(day, as_of_day(day)))
    assert "other day" not in str(cautions(DAYS[2]))
    said = cautions(DAYS[0])
    assert ["seen on" in one for one in said] == [True]
    assert f"{N_USERS} of {N_USERS} users were seen on no other day" in said[0]


@pytest.mark.slow
def test_users_that_come_back_and_a_further_release_of_a_day_are_no_such_thing(dataset: Dataset) -> None:
    dataset.set(epsilon_total=9.0)
    for day in DAYS:
        dataset.write(f"{day}.csv", HEADER + rows(day, as_vehicles))
        dataset.run_day(day)
        assert "another day" not in str(report_day(day, {}, dataset.config).cautions)
    dataset.run_day(DATE, "again")
    assert "another day" not in str(report_day(DATE, {}, dataset.config, "again").cautions)


@pytest.mark.slow
def test_one_user_with_nearly_all_records_is_said(dataset: Dataset, hexveil: Hexveil) -> None:
    dataset.write("day.csv", HEADER + rows(DATE, lambda n: "logger" if n else "other"))
    at = ("--config", dataset.config_file, "--date", DATE)
    for command in ("plan", "run"):
        assert f"one user has {N_RECORDS - 1} of {N_RECORDS} records" in hexveil(command, *at).stdout


def test_a_ledger_whose_entries_promise_more_again_is_refused(dataset: Dataset) -> None:
    from tasks.account.witnesses import problem_with_users

    for day, user_is in zip(DAYS, ("record", "record", None), strict=True):
        dataset.set(user_is=user_is)
        dataset.write(f"{day}.csv", HEADER + rows(day, as_vehicles))
        if day != DAYS[2]:
            dataset.release(day)
    with pytest.raises(HexveilError, match="an earlier release only each record"):
        dataset.release(DAYS[2])
    first, second = ledger.read_entries(dataset.config)
    assert problem_with_users(second, [first]) is None


@pytest.mark.slow
def test_ids_of_another_day_that_went_through_a_float_are_no_other_users(dataset: Dataset) -> None:
    """The other day's file is refused when it is published; this day's users are no worse for it."""
    dataset.set(files=["raw/{date}.csv"])
    dataset.write(f"{DATE}.csv", HEADER + rows(DATE, lambda n: str(1000 + n % N_USERS)))
    other = DATE + dt.timedelta(days=2)
    dataset.write(f"{other}.csv", HEADER + rows(other, lambda n: f"{1000 + n % N_USERS}.0"))
    dataset.run_day()
    dataset.write(f"{other}.csv", HEADER + rows(other, lambda n: str(5000 + n % N_USERS)))
    (dataset.folder / "store").rename(dataset.folder / "store-before")
    with pytest.raises(HexveilError, match="were seen on no other day"):
        dataset.run_day()
