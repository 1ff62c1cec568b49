"""The catalogue in `published/`, read as a portal reads it: by its address, from link to link, to the data."""

import csv
import datetime as dt
import hashlib
import io
import json
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urljoin

import httpx
import polars as pl
import pytest
from present import made, released, some_lines, write
from rdflib import DCAT, DCTERMS, FOAF, RDF, RDFS, Graph, Namespace, URIRef
from rdflib.term import Node
from support import DATE, Dataset, later_day

from tasks.account import ledger
from tasks.account.chain import releases
from tasks.base.config import load_config
from tasks.base.errors import BadConfig, HexveilError, LedgerBroken
from tasks.output_formats import catalogue
from tasks.output_formats.catalogue import Format, Medium, TableFormat
from tasks.output_formats.columns import COLUMNS, meaning
from tasks.output_formats.geography import with_instants
from tasks.presence import formats as presence_formats
from tasks.presence.formats import PresenceDay
from tasks.presence.publish import publish_day
from tasks.presence.verify import verify_presence
from tasks.release.formats import FORMATS, PublishedDay
from tasks.upkeep.renderings import unlike
from tasks.upkeep.verify import verify_ledger

pytestmark = pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning:rdflib")
MOBILITY = Namespace("https://w3id.org/mobilitydcat-ap#")
VCARD = Namespace("http://www.w3.org/2006/vcard/ns#")
LICENCE = "https://creativecommons.org/licenses/by/4.0/"
PUBLISHER = f"""[publisher]
name = "Transport Authority of Test"
contact = "data@test.example"
licence = "{LICENCE}"
homepage = "https://test.example/"
"""
MANDATORY = {
    DCAT.Catalog: [
        DCTERMS.title,
        DCTERMS.description,
        DCTERMS.identifier,
        DCTERMS.publisher,
        DCTERMS.spatial,
        FOAF.homepage,
        DCAT.record,
        DCAT.dataset,
    ],
    DCAT.CatalogRecord: [DCTERMS.created, DCTERMS.modified, DCTERMS.language, FOAF.primaryTopic],
    DCAT.Dataset: [
        DCTERMS.title,
        DCTERMS.description,
        DCTERMS.publisher,
        DCTERMS.spatial,
        DCTERMS.accrualPeriodicity,
        DCAT.distribution,
        MOBILITY.mobilityTheme,
    ],
    DCAT.Distribution: [DCAT.accessURL, DCTERMS.format, DCTERMS.rights, DCTERMS.license, MOBILITY.mobilityDataStandard],
    FOAF.Agent: [FOAF.name],
}
"""What mobilityDCAT-AP 1.1 makes mandatory; of it, that is once only: all but the distributions."""
NDJSON = "application/x-ndjson"
READ = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": {"true": True, "false": False}.__getitem__,
    "datetime": dt.datetime.fromisoformat,
}


@pytest.fixture
def published(busy_dataset: Dataset) -> Dataset:
    """Return two released days, and a further release of the first."""
    busy_dataset.edit("[storage]", f"{PUBLISHER}[storage]")
    busy_dataset.set(epsilon_total=50.0)
    busy_dataset.run_day()
    busy_dataset.run_day(revision="again")
    busy_dataset.run_day(later_day(busy_dataset, 1))
    return busy_dataset


@pytest.fixture
def address(published: Dataset) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_request(self, code: Any = "-", size: Any = "-") -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder(published))) as server:
        Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def folder(dataset: Dataset) -> Path:
    return dataset.config.storage_path / "published"


def fetched(url: object) -> bytes:
    return httpx.get(str(url)).raise_for_status().content


def graph_of(address: str) -> Graph:
    return Graph().parse(
        data=fetched(address + "catalogue.jsonld"), format="json-ld", publicID=f"{address}catalogue.jsonld"
    )


def validated(dataset: Dataset) -> dict[str, Any]:
    """Return the report of Frictionless's own tool on what is published."""
    import frictionless  # each process of the tests imports every file of them, and this takes a second

    return frictionless.Package("datapackage.json", basepath=str(folder(dataset))).validate().to_dict()


def test_the_package_is_valid_for_its_own_tool_and_a_changed_file_is_not(published: Dataset) -> None:
    report = validated(published)
    assert report["valid"], report
    tables = [task for task in report["tasks"] if task["place"].endswith("statistics.csv")]
    assert [task["stats"]["rows"] for task in tables] == [2, 2, 2]
    path = published.published("statistics.csv", DATE)
    path.write_bytes(path.read_bytes().replace(b"2026", b"2027"))
    assert not validated(published)["valid"]


def test_so_is_the_package_of_an_estimate_whose_measurements_have_lists(estimated: Dataset) -> None:
    estimated.run_day()
    report = validated(estimated)
    assert report["valid"], report
    kinds = {task["place"].partition("/")[2]: task["type"] for task in report["tasks"]}
    assert {name for name, kind in kinds.items() if kind == "table"} == {
        *("statistics.csv", "statistics.parquet", "typical.parquet"),
    }
    assert kinds["measurements.parquet"] == "file"


def test_a_portal_gets_from_the_catalogue_to_every_row_of_every_day(address: str, published: Dataset) -> None:
    graph = graph_of(address)
    [dataset] = graph.subjects(RDF.type, DCAT.Dataset)
    links = [graph.value(one, DCAT.downloadURL) for one in graph.objects(dataset, DCAT.distribution)]
    assert all(fetched(link) for link in links)
    [package_url] = [str(link) for link in links if str(link).endswith(".json")]
    package = json.loads(fetched(package_url))
    read = {}
    for resource in package["resources"]:
        content = fetched(urljoin(package_url, resource["path"]))
        assert resource["hash"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
        if "schema" in resource:
            schema = json.loads(fetched(urljoin(package_url, resource["schema"])))
            read[resource["path"]] = typed_rows(content, schema["fields"])
    entries = ledger.read_entries(published.config)
    assert len(read) == len(entries) == 3
    assert {path.split("/")[0] for path in read} == {f"date={DATE}", f"date={DATE + dt.timedelta(days=1)}"}
    for rows in read.values():
        assert {row["slot_start"].tzinfo for row in rows} == {dt.UTC}
        assert all(row["mean_ci95_low"] <= row["mean"] <= row["mean_ci95_high"] for row in rows)


def typed_rows(content: bytes, fields: list[dict[str, str]]) -> list[dict[str, Any]]:
    rows = list(csv.DictReader(io.StringIO(content.decode())))
    assert list(rows[0]) == [field["name"] for field in fields]
    return [{one["name"]: READ[one["type"]](row[one["name"]]) for one in fields if row[one["name"]]} for row in rows]


def test_the_catalogue_states_what_the_profile_makes_mandatory(address: str) -> None:
    graph = graph_of(address)
    for kind, properties in MANDATORY.items():
        subjects = set(graph.subjects(RDF.type, kind))
        assert subjects, kind
        for subject in subjects:
            for name in properties:
                values = list(graph.objects(subject, name))
                assert len(values) == 1 or (values and name == DCAT.distribution), (kind, name)
    assert not list(graph.query("select ?node where { ?node ?property 'None' }"))


def test_licence_publisher_contact_and_privacy_are_said_in_both(address: str, published: Dataset) -> None:
    graph, package = graph_of(address), json.loads(fetched(address + "datapackage.json"))
    last = ledger.read_entries(published.config)[-1].stated
    assert package["privacy"]["statement"] == last["in_words"]
    assert package["privacy"]["epsilon_in_all"] == last["epsilon_total_after"]
    assert package["privacy"]["epsilon_limit"] == "50.0"
    for part in ("unit_of_privacy", "neighbours", "not_protected"):
        assert package["privacy"][part] == last["guarantee"][part]
    assert package["licenses"] == [{"path": LICENCE}]
    assert package["contributors"][0]["title"] == "Transport Authority of Test"
    assert {str(one) for one in graph.objects(None, DCTERMS.license)} == {LICENCE}
    assert {str(one) for one in graph.objects(None, FOAF.name)} == {"Transport Authority of Test"}
    assert one_value(graph, VCARD.hasEmail) == URIRef("mailto:data@test.example")
    said = str(one_value(graph, RDFS.label))
    assert last["in_words"] in said
    assert last["guarantee"]["neighbours"] in said
    page = fetched(address).decode()
    assert all(told in page for told in ("Transport Authority of Test", LICENCE, "catalogue.jsonld"))


def one_value(graph: Graph, name: URIRef) -> Node:
    [value] = graph.objects(None, name)
    return value


def test_a_catalogue_with_its_address_can_be_copied_elsewhere(published: Dataset) -> None:
    published.set(publisher={"address": "https://data.example.org/test/"})
    published.run_day()
    graph = Graph().parse(folder(published) / "catalogue.jsonld", format="json-ld")
    links = {str(link) for link in graph.objects(None, DCAT.downloadURL)}
    assert f"https://data.example.org/test/date={DATE + dt.timedelta(days=1)}/statistics.csv" in links
    assert all(link.startswith("https://data.example.org/test/") for link in links)


def test_the_publisher_is_in_no_ledger_entry_and_may_change(published: Dataset) -> None:
    stored = (published.config.storage_path / "ledger.jsonl").read_text()
    assert "Transport Authority" not in stored
    published.edit("Transport Authority of Test", "Another Authority")
    published.run_day()
    assert (published.config.storage_path / "ledger.jsonl").read_text() == stored
    assert "Another Authority" in (folder(published) / "catalogue.jsonld").read_text()
    assert verify_ledger(published.config).others == ()


def test_the_same_releases_give_the_same_files_and_others_of_the_folder_are_told(published: Dataset) -> None:
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder(published).glob("*.*")}
    assert len(before) == 4, "page, package, catalogue, and one schema"
    published.run_day()
    assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in before} == before
    (folder(published) / "columns-of-mine.json").touch()
    assert verify_ledger(published.config).others == ("columns-of-mine.json",)


def test_without_a_publisher_there_is_a_package_and_no_entry_for_portals(busy_dataset: Dataset) -> None:
    busy_dataset.run_day()
    package = json.loads((folder(busy_dataset) / "datapackage.json").read_text())
    assert "licenses" not in package
    assert not (folder(busy_dataset) / "catalogue.jsonld").exists()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('contact = "data@test.example"\n', "", "publisher: a catalogue needs contact too"),
        ("data@test.example", "call us", "publisher.contact: string should match"),
        (LICENCE, "CC-BY", "publisher.licence: string should match"),
    ],
)
def test_a_publisher_that_a_catalogue_cannot_use_is_refused(dataset: Dataset, old: str, new: str, said: str) -> None:
    dataset.edit("[storage]", f"{PUBLISHER.replace(old, new)}[storage]")
    with pytest.raises(BadConfig, match=said):
        load_config(dataset.config_file)


def test_every_published_column_has_one_meaning() -> None:
    assert meaning("mean_clip_high") == COLUMNS["mean_clip_low, mean_clip_high"]
    assert meaning("variance_ci95_low") == COLUMNS["variance, variance_..."]
    with pytest.raises(HexveilError, match="no_such_column has no meaning"):
        meaning("no_such_column")


@pytest.fixture
def ndjson(monkeypatch: pytest.MonkeyPatch) -> str:
    """Add a row to the forms of tables, wherever they are used; return the name of a day's file in it."""

    def write(table: pl.DataFrame, _: str) -> bytes:
        return with_instants(table).write_ndjson().encode()

    def says_the_same(content: bytes, table: pl.DataFrame, _: str) -> bool:
        expected = with_instants(table)
        return pl.read_ndjson(io.BytesIO(content), schema_overrides=dict(expected.schema)).equals(expected)

    monkeypatch.setattr(
        catalogue, "TABLE_FORMATS", [TableFormat("ndjson", Medium(NDJSON, "JSON"), write, says_the_same)]
    )
    of_days: tuple[Format[PublishedDay], ...] = catalogue.of_table("statistics", lambda day: day.statistics)
    of_secret: tuple[Format[PresenceDay], ...] = catalogue.of_table("statistics", lambda day: day.table)
    users = [module for name, module in sys.modules.items() if name.startswith("tasks.")]
    for formats, added in ((FORMATS, of_days), (presence_formats.FORMATS, of_secret)):
        for module in [one for one in users if vars(one).get("FORMATS") is formats]:
            monkeypatch.setattr(module, "FORMATS", (*formats, *added))
    return of_days[0].name


def test_a_format_is_one_row_that_a_day_the_package_the_catalogue_and_verify_follow(
    ndjson: str, busy_dataset: Dataset
) -> None:
    busy_dataset.edit("[storage]", f"{PUBLISHER}[storage]")
    identity = busy_dataset.run_day()
    content = busy_dataset.published(ndjson).read_bytes()
    assert len(content.splitlines()) == len(pl.read_csv(busy_dataset.published("statistics.csv"))) == 2
    package = json.loads((folder(busy_dataset) / "datapackage.json").read_text())
    [resource] = [one for one in package["resources"] if one["path"].endswith(ndjson)]
    assert (resource["format"], resource["mediatype"]) == ("ndjson", NDJSON)
    assert resource["hash"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
    wrong = [error["message"] for task in validated(busy_dataset)["tasks"] for error in task["errors"]]
    assert wrong == ['Please install "frictionless[json]"'], "the tool reads no NDJSON, and finds nothing else"
    graph = Graph().parse(folder(busy_dataset) / "catalogue.jsonld", format="json-ld")
    [link] = [
        one for one in graph.subjects(DCAT.downloadURL) if str(graph.value(one, DCAT.downloadURL)).endswith(ndjson)
    ]
    assert str(graph.value(link, DCAT.mediaType)).endswith(NDJSON)
    assert str(graph.value(link, DCTERMS.format)).endswith("/JSON")
    assert verify_ledger(busy_dataset.config).others == ()
    [entry] = releases(ledger.read_entries(busy_dataset.config))
    assert entry.release_id == identity
    table = pl.read_parquet(busy_dataset.published("statistics.parquet"), hive_partitioning=False)
    assert list(unlike(table, entry, busy_dataset.config)) == []
    assert ndjson in unlike(table.with_columns(mean=pl.lit(0.5)), entry, busy_dataset.config)


def test_days_of_secret_presence_follow_that_row_too(ndjson: str, tmp_path: Path) -> None:
    dataset, config = made(tmp_path)
    write(dataset, DATE, some_lines(1, 300))
    publish_day.fn(released(config), config)
    table = pl.read_parquet(dataset.published("statistics.parquet"), hive_partitioning=False)
    assert len(pl.read_ndjson(dataset.published(ndjson))) == len(table) > 0
    assert verify_presence(config).n_releases == 1
    dataset.published(ndjson).write_text("{}")
    with pytest.raises(LedgerBroken, match=ndjson):
        verify_presence(config)


@pytest.mark.slow
def test_releases_with_a_file_of_a_format_that_is_gone_are_still_listed(
    busy_dataset: Dataset, ndjson: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy_dataset.run_day()
    monkeypatch.undo()
    assert ndjson not in [one.name for one in FORMATS]
    busy_dataset.run_day(later_day(busy_dataset, 1))
    package = json.loads((folder(busy_dataset) / "datapackage.json").read_text())
    media = {one["mediatype"] for one in package["resources"] if one["path"].endswith(ndjson)}
    assert media == {"application/octet-stream"}
