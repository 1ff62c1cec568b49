"""What a storage takes on the disk is said in full, by parts that the reference names too."""

import json
import math
import re
from pathlib import Path

import pytest
from support import Dataset

from flows.storing import storage
from tasks.upkeep.storage_parts import PARTS, storage_parts

FILES = Path(__file__).parents[2] / "docs" / "reference" / "files.md"


def test_the_parts_are_all_that_is_there_and_a_day_that_was_released_is_one_of_365(busy_dataset: Dataset) -> None:
    busy_dataset.run_day()
    store = busy_dataset.folder / "store"
    (store / "private" / "errors.log").write_text("text")
    (store / "of-others").write_bytes(bytes(7))
    parts = {part["part"]: part for part in storage_parts(busy_dataset.config)}
    assert sum(part["bytes"] for part in parts.values()) == sum(
        in_blocks(path) for path in store.rglob("*") if path.is_file()
    )
    assert parts["ledger.jsonl"]["bytes_a_year"] == 365 * in_blocks(store / "ledger.jsonl")
    assert parts["private/errors.log"] == {
        "part": "private/errors.log",
        "holds": "texts of unexpected errors",
        "bytes": 4096,
        "bytes_a_year": None,
        "may_be_deleted": "yes",
    }
    assert parts["others"]["may_be_deleted"] == "no"


def in_blocks(path: Path) -> int:
    """Return what a file takes on a disk that gives whole blocks, so that no report's length is told."""
    return math.ceil(path.stat().st_size / 4096) * 4096


def test_a_storage_without_a_release_has_no_year(busy_dataset: Dataset) -> None:
    assert storage_parts(busy_dataset.config) == []
    busy_dataset.prepare()
    assert all(part["bytes_a_year"] is None for part in storage_parts(busy_dataset.config))


def test_the_command_says_it_in_megabytes_or_as_json(busy_dataset: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    storage(busy_dataset.config_file)
    assert capsys.readouterr().out == "The storage is empty.\n"
    busy_dataset.run_day()
    capsys.readouterr()
    storage(busy_dataset.config_file)
    said = capsys.readouterr().out
    assert "if input is kept" in said
    assert "MB: a year of days like those until now adds" in said
    storage(busy_dataset.config_file, as_json=True)
    assert json.loads(capsys.readouterr().out) == storage_parts(busy_dataset.config)


def test_whatever_may_be_deleted_is_made_again_or_not_missed(busy_dataset: Dataset) -> None:
    busy_dataset.run_day()
    store = busy_dataset.folder / "store"
    for part in PARTS:
        if part.may_delete != "no":
            for path in [
                path for path in store.rglob("*") if path.relative_to(store).as_posix().startswith(part.paths)
            ]:
                if path.is_file():
                    path.unlink()
    busy_dataset.run_day()
    busy_dataset.prepare()


def test_the_reference_names_each_part() -> None:
    named = set(re.findall(r"`([^`]+)`", FILES.read_text().partition("## The storage")[2]))
    paths = {path for part in PARTS for path in part.paths if path}
    assert {path for path in paths if not any(name.startswith(path) for name in named)} == set()
