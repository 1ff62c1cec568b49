"""An account does not begin anew while anything is left of an older one."""

import shutil
from pathlib import Path

import pytest
from support import DATE, Dataset, all_files, later_day

from tasks.account import commit, ledger, witnesses
from tasks.base.errors import HexveilError, LedgerBroken
from tasks.planning.preview import preview_plan
from tasks.reporting.budget_report import report_budget
from tasks.upkeep import verify
from tasks.upkeep.backup import back_up


def private(dataset: Dataset) -> Path:
    return dataset.folder / "store" / "private"


def remove_what_was_a_witness_before(dataset: Dataset) -> None:
    (private(dataset) / "ledger-head").unlink()
    (dataset.folder / "store" / "release.duckdb").unlink()
    shutil.rmtree(dataset.folder / "store" / "published")


def attempts_of(dataset: Dataset) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (private(dataset) / "attempts").iterdir()}


@pytest.mark.parametrize("left", ["plans", "attempts", "releases", "totals", "pending-entry", "ledger-head"])
def test_a_missing_ledger_is_refused_while_anything_of_an_account_is_left(busy_dataset: Dataset, left: str) -> None:
    busy_dataset.release()
    (private(busy_dataset) / "pending-entry").write_bytes(b"{}")
    ledger.ledger_path(busy_dataset.config).unlink()
    (busy_dataset.folder / "store" / "release.duckdb").unlink()
    shutil.rmtree(busy_dataset.folder / "store" / "published")
    for name in ("plans", "attempts", "releases", "totals", "pending-entry", "ledger-head"):
        path = private(busy_dataset) / name
        if name != left:
            path.unlink() if path.is_file() else shutil.rmtree(path)
    for use in (busy_dataset.run_day, lambda: verify.verify_ledger(busy_dataset.config), busy_dataset.prepare):
        with pytest.raises(
            LedgerBroken, match=rf"is missing or was emptied, but .*private/{left} is left of an account"
        ):
            use()
    assert not ledger.ledger_path(busy_dataset.config).exists()


def test_what_to_delete_is_named_for_a_storage_that_never_released_anything(dataset: Dataset) -> None:
    (private(dataset) / "plans").mkdir(parents=True)
    (private(dataset) / "plans" / "one").write_bytes(b"a plan")
    with pytest.raises(LedgerBroken, match=r"delete \S*private/plans and run"), ledger.locked(dataset.config):
        pass
    shutil.rmtree(private(dataset) / "plans")
    with ledger.locked(dataset.config):
        assert ledger.read_entries(dataset.config) == []


def test_a_storage_begins_with_an_empty_ledger_before_anything_is_planned(busy_dataset: Dataset) -> None:
    busy_dataset.prepare()
    assert ledger.ledger_path(busy_dataset.config).read_bytes() == b""
    preview_plan(DATE, busy_dataset.config)
    assert (private(busy_dataset) / "plans").is_dir()
    busy_dataset.run_day()
    assert len(ledger.read_entries(busy_dataset.config)) == 1


def test_attempts_and_plans_without_a_release_are_in_nobodys_way(
    busy_dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(ledger, "append", lambda *_: 1 / 0)
        with pytest.raises(HexveilError, match="ZeroDivisionError"):
            busy_dataset.run_day()
    assert list(attempts_of(busy_dataset).values()) == [b"."]
    assert verify.verify_ledger(busy_dataset.config).n_releases == 0
    busy_dataset.run_day()
    assert list(attempts_of(busy_dataset).values()) == [b"..+"]


@pytest.mark.quick(1)
@pytest.mark.parametrize("n_kept", [0, 1])
def test_a_ledger_cut_with_all_that_was_a_witness_before_is_refused_by_the_marks(
    busy_dataset: Dataset, n_kept: int
) -> None:
    busy_dataset.set(epsilon_total=50.0)
    busy_dataset.run_day()
    busy_dataset.run_day(later_day(busy_dataset, 1))
    path = ledger.ledger_path(busy_dataset.config)
    cut = b"".join(path.read_bytes().splitlines(keepends=True)[:n_kept])
    path.write_bytes(cut)
    remove_what_was_a_witness_before(busy_dataset)
    with pytest.raises(LedgerBroken, match=r"says that test-2026-01-1\S+ was paid for, but the ledger lacks it"):
        verify.verify_ledger(busy_dataset.config)
    with pytest.raises(LedgerBroken, match="but the ledger lacks it"):
        busy_dataset.run_day(later_day(busy_dataset, 2))
    assert path.read_bytes() == cut


def test_a_crash_before_the_mark_is_made_good_by_the_next_run(
    busy_dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def kill(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(commit, "mark_paid", kill)
        with pytest.raises(Killed):
            busy_dataset.run_day()
    assert list(attempts_of(busy_dataset).values()) == [b"."]
    busy_dataset.run_day()
    assert list(attempts_of(busy_dataset).values()) == [b".+"]
    assert verify.verify_ledger(busy_dataset.config).n_releases == 1


def test_releases_whose_mark_was_lost_are_marked_by_the_next_and_attempts_still_counted(
    busy_dataset: Dataset,
) -> None:
    busy_dataset.set(epsilon_total=50.0)
    first = busy_dataset.run_day()
    path = private(busy_dataset) / "attempts" / first
    path.write_bytes(b".")
    tomorrow = later_day(busy_dataset, 1)
    (path.parent / f"test-{tomorrow}-h3r7-60min-mean").write_bytes(b"..")
    second = busy_dataset.run_day(tomorrow)
    assert attempts_of(busy_dataset) == {first: b".+", second: b"...+"}
    assert ledger.read_entries(busy_dataset.config)[1].stated["attempt"] == 3
    assert witnesses.count_attempt(second, busy_dataset.config) == 4


def test_the_documented_restore_refuses_a_copy_older_than_the_marks(busy_dataset: Dataset, tmp_path: Path) -> None:
    """Though the published folders and the mirror are lost: private/attempts is left where it is."""
    busy_dataset.set(epsilon_total=50.0)
    busy_dataset.run_day()
    older, newer = tmp_path / "older", tmp_path / "newer"
    back_up(older, busy_dataset.config)
    busy_dataset.run_day(later_day(busy_dataset, 1))
    before = all_files(busy_dataset)
    back_up(newer, busy_dataset.config)
    remove_what_was_a_witness_before(busy_dataset)
    restore(older, busy_dataset)
    with pytest.raises(LedgerBroken, match="but the ledger lacks it"):
        busy_dataset.run_day(later_day(busy_dataset, 2))
    restore(newer, busy_dataset)
    for number in range(3):
        busy_dataset.run_day(later_day(busy_dataset, number) if number else DATE)
    assert verify.verify_ledger(busy_dataset.config).n_releases == 3
    assert before.items() <= all_files(busy_dataset).items()


def restore(copy: Path, dataset: Dataset) -> None:
    """Do what docs/how-to/restore.md says."""
    for path in private(dataset).iterdir():
        if path.name != "attempts":
            path.unlink() if path.is_file() else shutil.rmtree(path)
    shutil.copytree(copy / "private", private(dataset), dirs_exist_ok=True, ignore=lambda *_: ["attempts"])
    shutil.copy(copy / "ledger.jsonl", dataset.folder / "store" / "ledger.jsonl")


@pytest.mark.slow
def test_a_copy_counts_attempts_on_where_the_storage_is_lost(
    busy_dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy_dataset.set(epsilon_total=50.0)
    busy_dataset.run_day()
    tomorrow = later_day(busy_dataset, 1)
    with monkeypatch.context() as patch:
        patch.setattr(ledger, "append", lambda *_: 1 / 0)
        with pytest.raises(HexveilError):
            busy_dataset.run_day(tomorrow)
    back_up(tmp_path / "copy", busy_dataset.config)
    shutil.rmtree(busy_dataset.folder / "store")
    shutil.copytree(tmp_path / "copy", busy_dataset.folder / "store")
    busy_dataset.run_day(tomorrow)
    assert [one.stated["attempt"] for one in ledger.read_entries(busy_dataset.config)] == [1, 2]


def test_a_storage_where_nothing_was_released_can_be_backed_up(busy_dataset: Dataset, tmp_path: Path) -> None:
    busy_dataset.prepare()
    assert back_up(tmp_path / "copy", busy_dataset.config) == 0
    assert (tmp_path / "copy" / "ledger.jsonl").read_bytes() == b""
    assert report_budget(ledger.read_entries(busy_dataset.config), busy_dataset.config).n_users == 0


def test_an_emptied_ledger_beside_released_files_is_refused(busy_dataset: Dataset) -> None:
    busy_dataset.run_day()
    store = busy_dataset.folder / "store"
    (store / "ledger.jsonl").write_bytes(b"")
    for name in ("private/ledger-head", "release.duckdb"):
        (store / name).unlink()
    for name in ("private/attempts", "published"):
        shutil.rmtree(store / name)
    with pytest.raises(LedgerBroken, match="is missing or was emptied"):
        busy_dataset.run_day()
