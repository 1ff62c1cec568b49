"""Files of XML: documents with one element for each record, such as SIRI and GPX."""

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from tasks.base import warehouse
from tasks.base.config import Config
from tasks.base.config_presets import preset_records
from tasks.base.errors import BadInput
from tasks.records.input_formats import recognise, xml_documents
from tasks.records.input_formats.columns import source_names
from tasks.records.input_formats.compressed import in_memory, packed
from tasks.records.input_formats.input_format import Given, InputFormat, Left, Look, Merged, Snapshot
from tasks.records.input_formats.json_members import first_rows
from tasks.records.input_formats.json_records import FEWEST_IN_SNAPSHOT, merged, of_objects, read_lines
from tasks.records.input_formats.thinning import MOST_RECORDS, evenly
from tasks.records.input_formats.times import N_LOOKED_AT

_BATCH = 5_000
_SCHEMA = pa.schema({"row_number": pa.int64(), "line": pa.string()})
_PAGES = (b"<!doctype html", b"<html")


def _look(path: Path, given: Given) -> Look:
    known = tuple(xml_documents.steps_of(one)[-1] for one in preset_records())
    at = given.records if given.records is not None else xml_documents.record_element(path, known)
    if not at:
        raise BadInput(
            f"{path}: no element of the XML document is named like a latitude; name the element of each record with "
            "--records"
        )
    records = list(itertools.islice(xml_documents.records(path, at), MOST_RECORDS))

    def spread() -> list[Any]:
        return evenly(xml_documents.records(path, at), MOST_RECORDS)

    return of_objects(XML, records, spread, given, at)


def _lines(path: Path, config: Config, *, has_all: bool = False) -> pa.RecordBatchReader:
    """Return the records of a document as JSON, with the members that columns name, or with all."""
    names = None if has_all else list(source_names(config).values())
    return pa.RecordBatchReader.from_batches(_SCHEMA, _batches(path, _at(path, config), names))


def _batches(path: Path, at: str, names: list[str] | None) -> Iterator[pa.RecordBatch]:
    found, n_before = xml_documents.records(path, at, names), 0
    while lines := [json.dumps(one, ensure_ascii=False) for one in itertools.islice(found, _BATCH)]:
        numbers = pa.array(range(n_before + 1, n_before + len(lines) + 1), pa.int64())
        yield pa.RecordBatch.from_arrays([numbers, pa.array(lines, pa.string())], schema=_SCHEMA)
        n_before += len(lines)


def _at(path: Path, config: Config) -> str:
    if config.dataset.records is None:
        raise BadInput(f"{path}: dataset.records is missing: the name of the XML element that each record is")
    return config.dataset.records


def _read(connection: warehouse.Connection, path: Path, file: dict[str, Any], config: Config) -> Left:
    first = first_rows(_lines(path, config, has_all=True), N_LOOKED_AT)
    return read_lines(connection, path, first, _lines(path, config), file, config, FEWEST_IN_SNAPSHOT)


def _merged(paths: Sequence[Path], _: Path, config: Config) -> list[Merged]:
    return merged(paths, lambda path: _lines(path, config).read_all(), config, FEWEST_IN_SNAPSHOT)


def _begins(start: bytes) -> bool:
    text = recognise.without_blanks(start).lower()
    return text.startswith(b"<") and not text.startswith(_PAGES)


def _snapshot(_: bytes, whole: Callable[[], bytes]) -> Snapshot | None:
    """Return what a snapshot shows: without a place it is taken for a message on an error."""
    path = Path("snapshot.xml")
    with in_memory({path: whole()}):
        try:
            at = xml_documents.record_element(path, ())
            n_records = xml_documents.n_records(path, at) if at else 0
        except BadInput:
            return None
    return Snapshot(frozenset({at}), True) if n_records else None


XML = InputFormat(
    name="xml",
    endings=packed(".xml", ".gpx"),
    domain="in XML any text or elements in a record of at most 4 MiB",
    begins=_begins,
    look=_look,
    count=lambda path, config: xml_documents.n_records(path, _at(path, config)),
    read=_read,
    merge=_merged,
    snapshot=_snapshot,
    holds_snapshots=True,
    has_members=True,
    has_columns=True,
    can_name_user=True,
)
