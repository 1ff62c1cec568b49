"""Verifying, showing and backing up a collection: what was changed is found, whoever changed it and wherever."""

import datetime as dt
import json
import shutil
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from collected import DATE, Collected
from typer.testing import CliRunner

from flows.cli import app
from tasks.account.chain import chained
from tasks.base.durable import canonical_json, sha256
from tasks.base.errors import HexveilError, LedgerBroken
from tasks.base.frames import parquet_bytes
from tasks.collect.backup import back_up_collection
from tasks.collect.ledger import list_entries
from tasks.collect.rounds import estimate, open_period
from tasks.collect.verify import verify_collection

Entry = dict[str, Any]


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    collected = Collected(tmp_path_factory.mktemp("released"))
    collected.whole()
    open_period.fn(DATE + dt.timedelta(days=1), collected.config)
    return collected.file.parent


@pytest.fixture
def collected(released: Path, tmp_path: Path) -> Collected:
    shutil.copytree(released, tmp_path / "copy")
    return Collected(tmp_path / "copy", anew=False)


def verify(collected: Collected) -> str:
    return verify_collection(collected.config).in_words


def all_files(collected: Collected) -> list[Path]:
    store = collected.config.storage_path
    folders = (store / "published" / "period=2026-03-02", store / "private" / "releases")
    return [store / "ledger.jsonl", *(path for folder in folders for path in sorted(folder.iterdir()))]


def test_every_state_of_a_period_verifies(tmp_path: Path) -> None:
    collected = Collected(tmp_path)
    assert verify(collected).startswith("0 periods")
    collected.report(1)
    assert verify(collected).startswith("1 periods, 0 of them released")
    collected.report(2)
    assert verify(collected).startswith("1 periods, 0 of them released")
    estimate.fn(DATE, collected.config)
    assert verify(collected).startswith("1 periods, 1 of them released")


def test_a_changed_byte_is_found_wherever_it_is(collected: Collected) -> None:
    assert len(all_files(collected)) == 18
    for path in all_files(collected):
        whole = path.read_bytes()
        for place in (0, len(whole) // 3, len(whole) // 2, len(whole) - 2):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            with pytest.raises(LedgerBroken):
                verify(collected)
        path.write_bytes(whole)
    verify(collected)


def test_a_missing_file_and_one_too_many_are_found(collected: Collected) -> None:
    for path in all_files(collected)[1:]:
        moved = path.rename(path.with_name(".away"))
        with pytest.raises(LedgerBroken, match="missing"):
            verify(collected)
        moved.rename(path)
    extra = collected.config.storage_path / "published" / "period=2026-03-02" / "more.csv"
    extra.write_text("x")
    with pytest.raises(LedgerBroken, match=r"more\.csv was never released"):
        verify(collected)


@pytest.mark.parametrize("n_left", [0, 1, 2])
def test_a_ledger_that_was_cut_is_found_by_what_is_published(collected: Collected, n_left: int) -> None:
    ledger = collected.config.storage_path / "ledger.jsonl"
    ledger.write_bytes(b"".join(ledger.read_bytes().splitlines(keepends=True)[:n_left]))
    with pytest.raises(LedgerBroken, match="the ledger was cut"):
        verify(collected)


def test_the_newest_entry_may_wait_for_its_files(collected: Collected) -> None:
    newest = collected.config.storage_path / "published" / "period=2026-03-03" / "round-1.json"
    newest.unlink()
    assert "2026-03-03 waits for its files" in verify(collected)


def rewrite(collected: Collected, change: Callable[[Entry, dict[str, bytes]], None]) -> None:
    """Let an insider change entries and files, and chain the ledger anew so that every hash is right."""
    config = collected.config
    private, entries = config.storage_path / "private" / "releases", list_entries(config)
    written: list[Entry] = []
    for entry in entries:
        contents = {name: (private / file_hash).read_bytes() for name, file_hash in entry["files"].items()}
        change(entry, contents)
        if "manifest.json" in contents:
            manifest = json.loads(contents["manifest.json"])
            manifest["files"] = {name: sha256(one) for name, one in contents.items() if name != "manifest.json"}
            contents["manifest.json"] = (json.dumps(manifest, sort_keys=True, indent=2) + "\n").encode()
        for name, content in contents.items():
            (private / sha256(content)).write_bytes(content)
            (config.storage_path / "published" / f"period={entry['period']}" / name).write_bytes(content)
        files = {name: sha256(content) for name, content in contents.items()}
        written.append(chained({**entry, "files": files}, written[-1] if written else None))
    lines = [canonical_json(entry) + b"\n" for entry in written]
    (config.storage_path / "ledger.jsonl").write_bytes(b"".join(lines))


def test_an_insider_who_changes_nothing_is_not_accused(collected: Collected) -> None:
    rewrite(collected, lambda *_: None)
    verify(collected)


def moved_means(_: Entry, contents: dict[str, bytes]) -> None:
    if "means.parquet" in contents:
        means = pl.read_parquet(BytesIO(contents["means.parquet"])).with_columns(mean=pl.col("mean") + 1)
        contents["means.parquet"] = parquet_bytes(means)
        contents["means.csv"] = means.write_csv().encode()


def moved_csv(_: Entry, contents: dict[str, bytes]) -> None:
    if "means.csv" in contents:
        contents["means.csv"] = contents["means.csv"].replace(b"north", b"south", 1)


def moved_bin(_: Entry, contents: dict[str, bytes]) -> None:
    if "round-2.json" in contents:
        asked = json.loads(contents["round-2.json"])
        asked["areas"]["north"] ^= 1
        contents["round-2.json"] = (json.dumps(asked, sort_keys=True, indent=2) + "\n").encode()


def beyond_the_domain(_: Entry, contents: dict[str, bytes]) -> None:
    if "sums.json" in contents:
        contents["sums.json"] = contents["sums.json"].replace(b'"total": ', b'"total": 99999')


def more_votes_than_ballots(_: Entry, contents: dict[str, bytes]) -> None:
    if "votes.json" in contents:
        votes = json.loads(contents["votes.json"])
        votes["north"]["n_ballots"] = max(votes["north"]["n_votes"]) - 1
        contents["votes.json"] = (json.dumps(votes, sort_keys=True, indent=2) + "\n").encode()


def less_epsilon(entry: Entry, _: dict[str, bytes]) -> None:
    entry["guarantee"] = {**entry["guarantee"], "epsilon_per_period": "1"}


def no_alpha(entry: Entry, _: dict[str, bytes]) -> None:
    entry["settings"]["collection"]["alpha"] = "1E-300"


def other_alpha(entry: Entry, _: dict[str, bytes]) -> None:
    entry["guarantee"] = {**entry["guarantee"], "epsilon_per_period": "1"}
    entry["settings"]["collection"]["alpha"] = "1"


def kinder_words(entry: Entry, _: dict[str, bytes]) -> None:
    entry["guarantee"] = {**entry["guarantee"], "protects": "everything"}


def twice(entry: Entry, _: dict[str, bytes]) -> None:
    entry["period"] = "2026-03-02"


def other_counts(entry: Entry, _: dict[str, bytes]) -> None:
    if entry["kind"] == "collection-estimated":
        entry["rows"] = {**entry["rows"], "used": 100}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (moved_means, "means.parquet does not follow"),
        (moved_csv, "means.csv does not say what means.parquet does"),
        (moved_bin, "round-2.json does not follow from votes.json"),
        (beyond_the_domain, "cannot be the sums of an area"),
        (more_votes_than_ballots, "votes.json has what cannot be the votes of an area"),
        (less_epsilon, "the guarantee is not that of its settings"),
        (other_alpha, "round-1.json is not what the settings give"),
        (no_alpha, "its settings cannot be used"),
        (kinder_words, "the guarantee is not that of its settings"),
        (other_counts, "more estimates than reports were used"),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_what_an_insider_changes_is_found_though_every_hash_is_right(
    collected: Collected, change: Callable[[Entry, dict[str, bytes]], None], message: str
) -> None:
    rewrite(collected, change)
    with pytest.raises(LedgerBroken, match=message):
        verify(collected)


def test_a_step_that_was_done_twice_is_found(collected: Collected) -> None:
    first = collected.config.storage_path / "published" / "period=2026-03-02" / "round-1.json"
    content = first.read_bytes()
    rewrite(collected, twice)
    first.write_bytes(content)
    with pytest.raises(LedgerBroken, match="does not follow what was done"):
        verify(collected)


def test_a_restored_copy_verifies_and_publishes_the_same_bytes(collected: Collected, tmp_path: Path) -> None:
    target, store = tmp_path / "backup", collected.config.storage_path
    assert back_up_collection(target, collected.config) == 2
    assert back_up_collection(target, collected.config) == 2
    assert not (target / "private" / "reports.duckdb").exists()
    assert (target / "private").stat().st_mode & 0o077 == 0
    before = collected.published()
    shutil.rmtree(store)
    shutil.copytree(target, store)
    verify(collected)
    shutil.rmtree(store / "published" / "period=2026-03-02")
    for step in (estimate, open_period):
        step.fn(DATE, collected.config)
    kept = {"round-2.json", "votes.json"}
    assert collected.published() == {name: one for name, one in before.items() if name not in kept}


def test_another_collection_or_a_damaged_ledger_is_never_copied_over(collected: Collected, tmp_path: Path) -> None:
    target = tmp_path / "backup"
    back_up_collection(target, collected.config)
    copy = (target / "ledger.jsonl").read_bytes()
    with pytest.raises(HexveilError, match="within the storage"):
        back_up_collection(collected.config.storage_path / "here", collected.config)
    ledger = collected.config.storage_path / "ledger.jsonl"
    ledger.write_bytes(copy.replace(b"phones", b"phonez", 1))
    with pytest.raises(LedgerBroken):
        back_up_collection(target, collected.config)
    assert (target / "ledger.jsonl").read_bytes() == copy


def test_the_commands_of_the_ledger_and_of_backups_know_collections(collected: Collected, tmp_path: Path) -> None:
    def run(*command: object) -> str:
        done = CliRunner().invoke(app, [*map(str, command), "--config", str(collected.file)])
        assert done.exit_code == 0, done.output
        return " ".join(done.stdout.split())

    shown = run("ledger", "show")
    assert "estimated" in shown
    assert "Each device loses epsilon 4 at most in a day" in shown
    assert "2 periods, 1 of them released" in run("ledger", "verify")
    assert "2 periods are backed up" in run("backup", "--to", tmp_path / "backup")
    refused = CliRunner().invoke(app, ["run", "--date", "2026-03-02", "--config", str(collected.file)])
    assert "is the configuration of a collection" in str(refused.exception)
