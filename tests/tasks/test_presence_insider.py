"""An insider where presence is secret: changes what was released, and every hash with it. Verify says what it was."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from insider import Change, of_table, only_entry, release_again
from present import made, published, some_lines, write
from support import DATE

from tasks.account.entry import Stated
from tasks.base.errors import LedgerBroken
from tasks.presence.config import PresenceConfig, load_presence
from tasks.presence.formats import manifest
from tasks.presence.verify import verify_presence


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a dataset with a published day: to be copied."""
    files, config = made(tmp_path_factory.mktemp("whole"))
    write(files, DATE, some_lines(1, 300))
    published(config)
    return files.folder


@pytest.fixture
def config(whole: Path, tmp_path: Path) -> PresenceConfig:
    return load_presence(Path(shutil.copytree(whole, tmp_path / "dataset")) / "dataset.toml")


def rewrite(config: PresenceConfig, stated: dict[str, Any], changes: dict[str, Change | None]) -> None:
    """Release the only day again, with other statements and files."""
    release_again(only_entry(config) | stated, changes, manifest, config)


def larger(name: str) -> Change:
    return of_table(lambda table: table.with_columns(pl.col(name) * 1.5))


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"statistics.csv": lambda content: content.replace(b"2026", b"2027")}, "statistics.csv does not say what"),
        ({"manifest.json": lambda content: content.replace(b"2026-", b"2027-")}, "manifest.json does not say what"),
        ({"more.csv": lambda _: b"x"}, "its files are not those of a day"),
        ({"joint.parquet": None}, "its files are not those of a day"),
        ({"joint.parquet": larger("variance")}, "joint.parquet does not follow from the noisy answers"),
        ({"joint_users.parquet": larger("variance")}, "joint_users.parquet does not follow from the noisy answers"),
        ({"area.json": lambda _: b'["881f1d4887fffff"]'}, "settings cannot be used|do(es)? not"),
        ({"statistics.parquet": of_table(lambda table: table.head(2))}, "cells are not those of the table"),
        ({"statistics.parquet": lambda _: b"no table"}, "its files cannot be read"),
        ({"answers.parquet": lambda _: b"no table"}, "are not those of its questions"),
    ],
)
def test_a_changed_file_is_found_though_every_hash_agrees(
    changes: dict[str, Change | None], reason: str, config: PresenceConfig
) -> None:
    rewrite(config, {}, changes)
    with pytest.raises(LedgerBroken, match=reason):
        verify_presence(config)


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda entry: {"settings": entry["settings"] | {"grid": {}}}, "its settings cannot be used"),
        (lambda _: {"release_id": "0" * 64}, "release_id is not that of its settings"),
        (lambda _: {"guarantee": "nobody learns anything"}, "the guarantee is not that of its settings"),
        (lambda _: {"in_words": "costs nothing"}, "in_words does not follow from the losses"),
        (lambda entry: {"loss": str(int(entry["loss"]) // 2)}, "does not follow from the losses"),
        (lambda entry: {"cells": entry["cells"] | {"published": 1}}, "cells are not those of the table"),
        (lambda _: {"joint_error": {"least": "1.00", "largest": "9.00"}}, "joint_error is not that of"),
        (lambda entry: {"whole_day": entry["whole_day"] | {"mean": "1.5"}}, "whole_day is not that of joint.parquet"),
    ],
)
def test_a_changed_statement_is_found_though_every_hash_agrees(
    change: Callable[[Stated], dict[str, Any]], reason: str, config: PresenceConfig
) -> None:
    rewrite(config, change(only_entry(config)), {})
    with pytest.raises(LedgerBroken, match=reason):
        verify_presence(config)


def test_a_day_that_was_only_written_again_is_sound(config: PresenceConfig) -> None:
    """So what is found above is the change."""
    rewrite(config, {}, {})
    assert verify_presence(config).n_made_again == 1


def test_a_page_over_all_days_that_says_something_else_is_found(config: PresenceConfig) -> None:
    path = config.storage_path / "published" / "index.html"
    path.write_bytes(path.read_bytes() + b"<!-- -->")
    with pytest.raises(LedgerBroken, match="Run a released day again, which costs nothing and writes it"):
        verify_presence(config)
    path.unlink()
    with pytest.raises(LedgerBroken, match="is missing, or is not what the ledger says"):
        verify_presence(config)
