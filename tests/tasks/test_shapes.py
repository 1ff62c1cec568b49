"""Files in the shapes that people have: nested JSON, documents, no header, other endings, other decimal marks."""

import gzip
import json
from pathlib import Path

import fsspec
import polars as pl
import pytest
from reading import ROW, ingest, refusal, rows_of
from support import DATE, HEADER, Dataset

from tasks.base.errors import BadConfig, BadInput
from tasks.records.input_formats import json_documents, json_paths

NESTED = {
    "vehicle": {"id": "bus1"},
    "at": f"{DATE}T08:00:00Z",
    "location": {"type": "Point", "coordinates": [8.31, 47.05]},
    "speed": 30,
}
BUS1 = ("bus1", 1768464000.0, 47.05, 8.31, 30.0)


def nested(dataset: Dataset) -> None:
    for role, name, path in (
        ("user", "bus", "vehicle.id"),
        ("time", "time", "at"),
        ("latitude", "lat", "location.coordinates[1]"),
        ("longitude", "lon", "location.coordinates[0]"),
    ):
        dataset.edit(f'{role} = "{name}"', f'{role} = "{path}"')


def test_members_of_nested_json_are_read_by_their_path(dataset: Dataset) -> None:
    nested(dataset)
    short = {**NESTED, "vehicle": {"id": "bus2"}, "location": {"coordinates": [8.31]}}
    dataset.write("a.ndjson", f"{json.dumps(NESTED)}\n{json.dumps(short)}\n")
    ingest(dataset)
    assert rows_of(dataset) == [BUS1, ("bus2", 1768464000.0, None, 8.31, 30.0)]


def test_a_member_whose_own_name_has_dots_is_read_by_it(dataset: Dataset) -> None:
    nested(dataset)
    flat = {"vehicle.id": "bus1", "at": NESTED["at"], "location.coordinates[1]": 47.05}
    dataset.write("a.ndjson", json.dumps({**flat, "location.coordinates[0]": 8.31, "speed": 30}) + "\n")
    ingest(dataset)
    assert rows_of(dataset) == [BUS1]


def test_a_path_that_no_record_has_is_named(dataset: Dataset) -> None:
    nested(dataset)
    dataset.write("a.ndjson", json.dumps({**NESTED, "vehicle": "bus1"}) + "\n")
    said = refusal(dataset)
    assert 'no column "vehicle.id" (columns.user) in any line. The first lines have: ' in said
    assert all(name in said.rpartition(":")[2] for name in ("location.coordinates[0]", "speed"))


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("a", ["a"]),
        ("a.b[1][0].c", ["a", "b", 1, 0, "c"]),
        ("a..b", ["a..b"]),
        ("a.b.", ["a.b."]),
        ("[0]", [0]),
        ("[0].a", [0, "a"]),
        ("[a]", ["[a]"]),
        ("a[b]", ["a[b]"]),
        ("speed [km/h]", ["speed [km/h]"]),
    ],
)
def test_a_name_is_a_path_only_if_all_of_it_is(path: str, steps: list[str | int]) -> None:
    assert json_paths.steps_of(path) == steps


@pytest.mark.parametrize(("at", "wrap"), [("result", "result"), ("data.vehicles", "data"), (None, None)])
def test_a_json_document_has_its_records_where_the_configuration_says(
    dataset: Dataset, at: str | None, wrap: str | None
) -> None:
    nested(dataset)
    records = [NESTED, "no record", {**NESTED, "speed": "N/A"}]
    document = {"result": {"result": records}, "data": {"data": {"vehicles": records}}, None: records}[wrap]
    if at is not None:
        dataset.set(records=at)
    dataset.write("a.json.gz", gzip.compress(b"\xef\xbb\xbf" + json.dumps(document, indent=1).encode()))
    ingest(dataset)
    assert rows_of(dataset) == [BUS1, (*BUS1[:4], None)]
    assert dataset.query("select reason, line_number from quarantine") == [("malformed_row", 2)]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"result": {}}', 'it is no whole JSON document, or has no list at dataset.records = "result"'),
        (b"[]", 'it is no whole JSON document, or has no list at dataset.records = "result"'),
        (b'{"result": [', "it is no whole JSON document, or has no list"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_a_document_without_its_list_is_refused(dataset: Dataset, content: bytes, said: str) -> None:
    dataset.set(records="result")
    dataset.write("a.json", content)
    assert said in refusal(dataset)


@pytest.mark.parametrize(
    ("at", "empty"),
    [
        ("states", '{"time": 7, "states": null}'),
        ("a.states", '{"a": null}'),
        ("Deliveries[*].Activities", '{"Deliveries": [{"ResponseTimestamp": "2026-01-15T08:00:00Z"}]}'),
    ],
)
def test_a_snapshot_in_which_nobody_is_has_no_records_and_stops_no_day(dataset: Dataset, at: str, empty: str) -> None:
    dataset.set(records=at)
    records = [dict(zip(("bus", "time", "lat", "lon", "speed"), BUS1, strict=True)) | {"time": f"{DATE}T08:00:00Z"}]
    whole: object = records
    for step in reversed(at.split(".")):
        whole = {step.removesuffix("[*]"): [whole] if step.endswith("[*]") else whole}
    for number, content in enumerate([empty, json.dumps(whole), empty]):
        dataset.write(f"{number}.json", content)
    dataset.prepare()
    assert dataset.query("select name, n_rows from raw_file order by name") == [
        (f"raw/{number}.json", int(number == 1)) for number in range(3)
    ]


@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_a_csv_file_without_a_header_has_the_columns_that_are_declared(dataset: Dataset, start: str) -> None:
    dataset.set(format="csv", header=["lat", "lon", "speed", "bus", "time"], delimiter=" ")
    dataset.write("a.txt", f"{start}47.05 8.31 30 bus1 {DATE}T08:00:00Z\n47 8 30\n47.05 8.31 30 bus2 1768464000\n")
    ingest(dataset)
    assert rows_of(dataset)[0] == BUS1
    assert dataset.query("select reason, line_number from quarantine order by all")[0] == ("malformed_row", 2)
    assert dataset.query("select n_rows, n_malformed from raw_file") == [(3, 1)]


def test_a_header_that_lacks_a_column_is_refused(dataset: Dataset) -> None:
    dataset.set(header=["lat", "lon"])
    with pytest.raises(BadConfig, match=r"dataset\.header must name every column of the files: it lacks bus"):
        _ = dataset.config


def test_a_missing_header_says_how_its_columns_are_named(dataset: Dataset) -> None:
    dataset.write("a.csv", ROW)
    assert "name the columns of files without a header in dataset.header" in refusal(dataset)


def test_a_file_may_be_a_user_whose_name_is_not_logged(dataset: Dataset, caplog: pytest.LogCaptureFixture) -> None:
    dataset.set(user="{file}")
    for name in ("cab7.csv", "cab8.v2.csv.gz"):
        text = f"time,lat,lon,speed\n{DATE}T08:00:00Z,47.05,8.31,30\n".encode()
        dataset.write(name, gzip.compress(text) if name.endswith(".gz") else text)
    ingest(dataset)
    assert [row[0] for row in rows_of(dataset)] == ["cab7", "cab8"]
    assert "cab" not in caplog.text


def test_any_ending_is_read_in_a_declared_format(dataset: Dataset) -> None:
    dataset.write("a.dat", HEADER + ROW)
    assert "unknown kind of file" in refusal(dataset)
    assert "or set dataset.format" in refusal(dataset)
    dataset.set(format="csv")
    ingest(dataset)
    assert rows_of(dataset) == [BUS1]


@pytest.mark.quick(2)
@pytest.mark.parametrize("name", ["a.csv", "a.ndjson", "a.parquet"])
def test_numbers_with_a_decimal_comma_are_read_where_it_is_declared(dataset: Dataset, name: str) -> None:
    dataset.set(decimal=",", delimiter=";")
    record = {"bus": "bus1", "time": f"{DATE}T08:00:00Z", "lat": "47,05", "lon": "8,31", "speed": "30,0"}
    if name == "a.parquet":
        pl.DataFrame([record]).write_parquet(dataset.write(name, b""))
    else:
        text = json.dumps(record) if name == "a.ndjson" else ";".join(record) + "\n" + ";".join(record.values())
        dataset.write(name, text + "\n")
    ingest(dataset)
    assert rows_of(dataset) == [BUS1]
    dataset.set(decimal=".")
    ingest(dataset)
    assert dataset.query("select count(latitude), count(value) from raw_record join raw_file using (file_id)") == [
        (1, 1)
    ]


def test_ids_as_doubles_are_refused_with_what_mends_them(dataset: Dataset) -> None:
    record = {"bus": 12.0, "time": f"{DATE}T08:00:00Z", "lat": 47.05, "lon": 8.31, "speed": 30.0}
    path = dataset.write("a.parquet", b"")
    pl.DataFrame([record]).write_parquet(path)
    assert 'select * replace ("bus"::bigint as "bus") from' in refusal(dataset)
    path.unlink()
    dataset.write("a.ndjson", json.dumps(record) + "\n")
    assert "write them as texts or as whole numbers, for example with jq '.bus |= floor'" in refusal(dataset)


@pytest.mark.parametrize(
    ("declared", "value", "fails"),
    [
        ("number", 30.0, False),
        ("number", "30", True),
        ("text", "30", False),
        ("text", 30.0, True),
        ("number", None, True),
    ],
)
def test_values_of_another_type_than_declared_fail_by_structure_alone(
    dataset: Dataset, declared: str, value: object, fails: bool
) -> None:
    dataset.set(value_type=declared)
    record = {"bus": "bus1", "time": f"{DATE}T08:00:00Z", "lat": 47.05, "lon": 8.31, "speed": value}
    pl.DataFrame([record]).write_parquet(dataset.write("a.parquet", b""))
    if fails:
        assert f'columns.value_type declares "{declared}"' in refusal(dataset)
    else:
        ingest(dataset)


def test_a_store_that_does_not_say_when_a_file_was_written_is_refused(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = fsspec.filesystem("memory")
    store.pipe("/undated/day.csv", (HEADER + ROW).encode())

    def unknown(*_: object) -> None:
        raise NotImplementedError

    monkeypatch.setattr(type(store), "modified", unknown)
    dataset.set(files=["memory://undated/*.csv"])
    assert "its store does not give the time of writing, so a change could not be detected" in refusal(dataset)


def test_a_document_that_is_too_large_is_refused_with_the_form_to_take(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_documents, "_LARGEST", 10)
    dataset.write("a.json", json.dumps([NESTED]))
    assert "a JSON document of more than 256 MiB; write one object per line, as .ndjson" in refusal(dataset)


def test_only_the_user_may_be_the_name_of_the_file(dataset: Dataset) -> None:
    dataset.set(value="{file}")
    with pytest.raises(BadConfig, match=r"only user may be \{file\}"):
        _ = dataset.config


def test_the_local_engine_reads_from_an_object_store_through_a_copy_that_it_removes(dataset: Dataset) -> None:
    store = fsspec.filesystem("memory")
    store.pipe("/bucket/day.csv", (HEADER + ROW).encode())
    dataset.set(files=["memory://bucket/*.csv"])
    ingest(dataset)
    assert rows_of(dataset) == [BUS1]
    assert not (Path(dataset.config.storage_path) / "private" / "fetched").exists()
    store.pipe("/bucket/other.csv", b"bus,time,lat,lon\n")
    assert refusal(dataset).startswith("memory:///bucket/other.csv: no column")
    store.pipe("/hours/2026-01-15/07.csv", (HEADER + ROW).replace("bus,", "", 1).replace("bus1,", "", 1).encode())
    dataset.set(files=["memory://hours/**/*.csv"], user="{file}")
    assert "/2026-01-15/07.csv: columns.user" in refusal(dataset)


@pytest.mark.parametrize("name", ["day.csv", "day.ndjson", "day.json"])
def test_the_mark_of_utf_8_costs_no_record(dataset: Dataset, name: str) -> None:
    record = f'{{"bus": "bus1", "time": "{DATE}T08:00:00Z", "lat": 47.05, "lon": 8.31, "speed": 30}}'
    content = {"day.csv": HEADER + ROW, "day.ndjson": f"{record}\n", "day.json": f"[{record}]"}[name]
    dataset.write(name, b"\xef\xbb\xbf" + content.encode())
    ingest(dataset)
    assert rows_of(dataset) == [BUS1]
    assert dataset.query("select count(*) from quarantine") == [(0,)]


@pytest.mark.parametrize(
    ("document", "records"),
    [
        ('{"a": [1], "result": [ {"b": "]"} , [2, 3],4 ], "result": [5, 6]}', [' {"b": "]"} ', " [2, 3]", "4 "]),
        ('{"x": {"result": [1]}, "result": ["\\"", "\\\\", "\\ud800"]}', ['"\\""', ' "\\\\"', ' "\\ud800"']),
        ('{"res\\u0075lt": [{}]}', ["{}"]),
        ('{"result": [  ]}', []),
        ('{"result": [1,]}', ["1", ""]),
        ('{"result": [' + "[" * 50_000 + "]" * 50_000 + "]}", ["[" * 50_000 + "]" * 50_000]),
        ('{"result": [' + "9" * 5_000 + "]}", ["9" * 5_000]),
    ],
)
def test_a_document_is_split_into_its_records_as_they_are_written(
    tmp_path: Path, document: str, records: list[str]
) -> None:
    path = tmp_path / "a.json"
    path.write_text(document)
    assert json_documents.numbered_records(path, "result")["line"].to_pylist() == records
    assert json_documents.count_records(path, "result") == len(records)


@pytest.mark.quick(4)
@pytest.mark.parametrize("value", ["30", "012", "9" * 5_000, "1e999", '"x"', "null", "[1,[2]]"])
@pytest.mark.parametrize("first_has_time", [True, False])
def test_a_time_beside_the_list_is_that_of_records_without_one_whatever_values_are(
    dataset: Dataset, value: str, first_has_time: bool
) -> None:
    """Before, the first record decided for all, and one value that Python cannot read made it one without a time."""
    own, none = f'"time": "{DATE}T09:00:00Z", ', '"a": {"time": 1}, '
    times = [own, none] if first_has_time else [none, own]
    records = [
        f'{{{time}"bus": "b{n}", "lat": 47.05, "lon": 8.31, "speed": {value if n == 0 else 30}}}'
        for n, time in enumerate(times * 2)
    ]
    dataset.write("a.json", f'{{"time": "{DATE}T08:00:00Z", "list": [{", ".join(records)}]}}')
    dataset.set(records="list")
    ingest(dataset)
    found = dict(dataset.query("select user_id, hour(observed_at at time zone 'UTC') from raw_record order by user_id"))
    hours = [9, 8] if first_has_time else [8, 9]
    is_json = value != "012"  # else the record is malformed, and no other is
    assert [found.get(f"b{n}") for n in range(4)] == [hours[0] if is_json else None, hours[1], *hours]


def test_a_time_around_several_lists_is_not_that_of_another_list(dataset: Dataset) -> None:
    record = '{{"bus": "b{}", "lat": 47.05, "lon": 8.31, "speed": 30}}'
    trips = ", ".join(f'{{"recs": [{record.format(n)}], "t": "{DATE}T0{n}:00:00Z"}}' for n in (7, 8))
    dataset.write("a.json", f'{{"trips": [{trips}]}}')
    dataset.set(records="trips[*].recs", time="trips[0].t")
    ingest(dataset)
    assert dataset.query("select n_rows, n_undated from raw_file") == [(2, 2)]


@pytest.mark.parametrize("at", ["routes[*].buses", "routes[*][*]", "[*].c", "a[*].b[*].c", "routes[1].buses", None])
@pytest.mark.parametrize(
    "document",
    [
        '{"routes": [{"buses": [1, 2]}, {"name": "]", "buses": []}, {"none": 0}, {"buses": [ {"buses": [7]} ]}]}',
        '{"x": {"routes": [{"buses": [1]}]}, "routes": [[3, 4], [], [5]]}',
        '[{"c": [1]}, {"d": [2]}, {"c": ["\\"[", 3]}, 4]',
        '{"a": [{"b": [{"c": [1]}, {"c": [2, [3]]}]}, {"b": []}, {"b": [{"c": [4]}]}]}',
        '{"routes": {"buses": [1]}}',
        "{}",
        '{"routes": null}',
        '{"x": {"routes": null}, "routes": [{"buses": null}, {"none": [1]}, {"a": 0}], "a": [{"b": [{}]}]}',
        '{"a": [], "routes": []}',
        '{"routes": [null, {"buses": null}]}',
        '[{"c": null}]',
    ],
)
def test_many_lists_are_read_as_python_finds_them(tmp_path: Path, document: str, at: str | None) -> None:
    path = tmp_path / "a.json"
    path.write_text(document)
    expected = json_paths.records_of(json.loads(document), at)
    if expected is None:
        with pytest.raises(BadInput, match="or has no list"):
            json_documents.numbered_records(path, at)
        return
    found = json_documents.numbered_records(path, at)
    assert [json.loads(one) for one in found["line"].to_pylist()] == expected
    assert json_documents.count_records(path, at) == len(expected)


@pytest.mark.parametrize("document", ["[1", "[1}", '["a]', "{]", "1", "", "]", '{"a": [1]}'])
def test_a_document_that_is_not_whole_has_no_records(tmp_path: Path, document: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(document)
    with pytest.raises(BadInput, match="it is no whole JSON document, or has no list at its top"):
        json_documents.numbered_records(path, None)


@pytest.mark.parametrize(("user", "value"), [("speed.bus", "speed"), ("speed", "speed.kmh")])
def test_no_column_is_within_the_value_or_holds_it(dataset: Dataset, user: str, value: str) -> None:
    dataset.set(user=user)
    dataset.set(value=value)
    record = {"time": f"{DATE}T08:00:00Z", "lat": 47, "lon": 8, "speed": {"bus": "b", "kmh": 30}}
    dataset.write("a.ndjson", json.dumps(record) + "\n")
    assert "(columns.user) and columns.value are parts of one another" in refusal(dataset)


@pytest.mark.quick(4)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("value", ["9", "\r", "\n", "\r\n", "a\nb\r", '""'])
def test_line_ends_in_the_first_value_of_a_file_without_a_header_are_none_of_the_file(
    dataset: Dataset, value: str, line_end: str
) -> None:
    dataset.set(header=["speed", "bus", "time", "lat", "lon"])
    rows = [f'"{value}",b{n},2026-01-15T08:0{n}:00Z,47.0,8.3{line_end}' for n in range(3)]
    dataset.write("a.csv", "".join(rows))
    ingest(dataset)
    assert len(rows_of(dataset)) == 3
