"""The same noise gives the same ledger and the same published bytes, whatever was moved or renamed in the code.

``tests/golden`` holds the ledgers. Where a difference is meant, delete the ledger that differs and run the test: it
writes the ledger anew, fails once, and the difference is there to be read before it is committed.
"""

import datetime as dt
import hashlib
import shutil
from pathlib import Path

import pytest
from fixed import draw_first_page, fix
from support import DATE, OF_SUMS_IN_BRIEF, Dataset, by_the_planner, choose

from tasks.proposals.mechanisms import PROMISING
from tasks.records.synthetic import write_city

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
OF_CELLS = ('mechanism = "planned"', 'mechanism = "planned"\ncount = "cells"')
"""In the ledgers the planner counts cells."""
DEMO_DAYS = [dt.date(2026, 3, 2), dt.date(2026, 3, 3)]


@pytest.fixture(scope="module")
def first_page() -> None:
    draw_first_page()


@pytest.fixture
def fixed_noise(monkeypatch: pytest.MonkeyPatch, first_page: None) -> None:  # noqa: ARG001
    fix(monkeypatch)


def check(name: str, dataset: Dataset) -> None:
    """Compare a ledger with the one that is kept, and what is published with the ledger's hashes."""
    storage = dataset.config.storage_path
    ledger, golden = (storage / "ledger.jsonl").read_bytes(), GOLDEN / f"{name}.jsonl"
    if not golden.exists():
        golden.write_bytes(ledger)
        pytest.fail(f"{golden} was missing and is written; read it, and run the test again")
    assert ledger == golden.read_bytes()
    published = [path for path in (storage / "published").glob("date=*/**/*") if path.is_file()]
    assert published
    for path in published:
        assert f'"{path.name}":"{hashlib.sha256(path.read_bytes()).hexdigest()}"'.encode() in ledger, path


@pytest.mark.quick(2)
@pytest.mark.usefixtures("fixed_noise")
@pytest.mark.parametrize("mechanism", OF_SUMS_IN_BRIEF)
def test_a_small_day_is_the_same_by_each_mechanism(mechanism: str, busy_dataset: Dataset) -> None:
    choose(busy_dataset, mechanism)
    busy_dataset.with_map()
    if mechanism == "planned":
        busy_dataset.edit(*OF_CELLS)
    if mechanism in PROMISING:
        busy_dataset.set(variance=True)
    busy_dataset.run_day(DATE)
    check(mechanism, busy_dataset)


@pytest.mark.usefixtures("fixed_noise")
def test_two_days_of_the_demo_are_the_same(tmp_path: Path) -> None:
    text = by_the_planner((ROOT / "deploy" / "config" / "demo.toml").read_text()).replace(*OF_CELLS)
    (tmp_path / "dataset.toml").write_text(text.replace("../../var/demo/raw", "raw").replace("../../var/demo", "store"))
    (tmp_path / "raw").mkdir()
    write_city(tmp_path / "raw", DEMO_DAYS)
    dataset = Dataset(tmp_path)
    for date in DEMO_DAYS:
        dataset.run_day(date)
    check("demo", dataset)


@pytest.mark.usefixtures("fixed_noise")
def test_a_real_day_is_the_same(real_data: Path, tmp_path: Path) -> None:
    text = by_the_planner((ROOT / "deploy" / "config" / "austin.toml").read_text()).replace(*OF_CELLS)
    text = text.replace("../../../shared/data/capmetro", "raw").replace("../../var/austin", "store")
    (tmp_path / "dataset.toml").write_text(text)
    shutil.copytree(real_data, tmp_path / "raw")
    dataset = Dataset(tmp_path)
    dataset.run_day(dt.date(2016, 11, 25))
    check("austin", dataset)
