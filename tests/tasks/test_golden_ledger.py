"""The ledger's format: a storage as the program writes it today is read, replayed and verified by every later version.

``tests/golden/ledger.tar.gz`` holds a day, a revision, an amendment of the budget, a day that learned from the first, a
stopped day, and the raw files. Nothing in it is a secret: its key and its records were made for this test. Where the
format or the model changes, and that is meant, delete it and run the test: it is written anew, and the test fails once.
"""

import json
import shutil
import tarfile
from pathlib import Path

import pytest
from estimates import day
from insider import forged
from screened import N_BUSES, screen, write_day
from support import Dataset, all_files

from dpmath.estimate.state import MODEL
from tasks.account import ledger
from tasks.account.amendments import amend_budget
from tasks.account.chain import releases
from tasks.account.entry import FORMAT
from tasks.base.durable import canonical_json
from tasks.base.errors import DayStopped, LedgerBroken
from tasks.upkeep.verify import verify_ledger

KEPT = Path(__file__).parents[1] / "golden" / "ledger.tar.gz"
REBUILT = ("*.duckdb*", "*.lock", "states")


def make(dataset: Dataset) -> None:
    """Release what the archive holds, and write it."""
    screen(dataset, "zcdp", "estimated")
    for number in range(4):
        write_day(dataset, N_BUSES if number == 2 else 0, day(number))
    dataset.run_day(day(0))
    dataset.run_day(day(0), revision="again")
    dataset.set(epsilon_total=5000)
    amend_budget("a test", dataset.config)
    dataset.run_day(day(1))
    with pytest.raises(DayStopped):
        dataset.run_day(day(2))
    kept = dataset.folder / "kept"
    shutil.copytree(dataset.folder, kept, ignore=shutil.ignore_patterns("kept", *REBUILT))
    with tarfile.open(KEPT, "w:gz") as archive:
        archive.add(kept, ".")


@pytest.fixture
def golden(tmp_path: Path, request: pytest.FixtureRequest) -> Dataset:
    if not KEPT.exists():
        make(request.getfixturevalue("dataset"))
        pytest.fail(f"{KEPT} was missing and is written; read it, and run the test again")
    with tarfile.open(KEPT) as archive:
        archive.extractall(tmp_path / "golden", filter="data")
    return Dataset(tmp_path / "golden")


def lines(dataset: Dataset) -> bytes:
    return ledger.ledger_path(dataset.config).read_bytes()


def test_the_golden_ledger_is_read_replayed_and_verified_byte_for_byte(golden: Dataset) -> None:
    before, published = lines(golden), all_files(golden)
    entries = ledger.read_entries(golden.config)
    assert [entry.kind for entry in entries] == ["release", "release", "amendment", "release", "stopped"]
    assert {entry.stated["format"] for entry in entries} == {FORMAT}
    assert {entry.stated["model"] for entry in releases(entries)} == {MODEL}, "only a release of this model is replayed"
    assert "".join(ledger.export(golden.config)).encode() == before
    assert verify_ledger(golden.config).n_releases == 3
    shutil.rmtree(golden.config.storage_path / "published")
    for number, revision in ((0, None), (0, "again"), (1, None)):
        golden.run_day(day(number), revision)
    assert all_files(golden) == published
    assert lines(golden) == before


def test_the_golden_ledger_goes_on_and_its_lines_stay(golden: Dataset) -> None:
    before = lines(golden)
    with pytest.raises(DayStopped):
        golden.run_day(day(2))
    golden.run_day(day(3))
    assert lines(golden).startswith(before)
    assert verify_ledger(golden.config).n_releases == 4
    assert ledger.read_entries(golden.config)[-1].stated["learned_from"] == 2


def test_a_line_of_another_format_is_not_read(golden: Dataset) -> None:
    *first, last = lines(golden).splitlines(keepends=True)
    for other in ({"format": FORMAT - 1}, {"format": FORMAT + 1}, {}):
        stated = {key: value for key, value in json.loads(last).items() if key != "format"}
        changed = forged(canonical_json(stated), **other)
        ledger.ledger_path(golden.config).write_bytes(b"".join([*first, changed]))
        with pytest.raises(LedgerBroken, match=rf"entry 5 of the ledger has the format {other.get('format')}, and"):
            ledger.read_entries(golden.config)
