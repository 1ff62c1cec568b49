"""A copy is enough to go on from, whatever happened while it was made."""

import shutil
from pathlib import Path

import pytest
from estimates import day
from support import DATE, Dataset, later_day, slow

from tasks.account.chain import releases
from tasks.account.ledger import read_entries
from tasks.base import copies
from tasks.base.errors import HexveilError, LedgerBroken
from tasks.release.publish import publish_files
from tasks.upkeep import backup
from tasks.upkeep.backup import back_up
from tasks.upkeep.verify import verify_ledger


def restored(dataset: Dataset, copy: Path) -> Dataset:
    shutil.rmtree(dataset.folder / "store")
    shutil.copytree(copy, dataset.folder / "store")
    return dataset


def test_a_restored_copy_verifies_publishes_the_same_and_goes_on(busy_dataset: Dataset, tmp_path: Path) -> None:
    busy_dataset.set(epsilon_total=50.0)
    busy_dataset.release()
    content = busy_dataset.published("statistics.csv").read_bytes()
    copy = tmp_path / "copy"
    assert back_up(copy, busy_dataset.config) == 1
    assert (copy / "private").stat().st_mode & 0o077 == 0
    again = restored(busy_dataset, copy)
    assert verify_ledger(again.config).n_releases == 1
    again.run_day()
    assert again.published("statistics.csv").read_bytes() == content
    again.release(later_day(again, 1))
    assert verify_ledger(again.config).n_releases == 2
    assert back_up(copy, again.config) == 2
    assert verify_ledger(restored(again, copy).config).n_releases == 2


@pytest.mark.slow
def test_a_restored_copy_of_estimates_verifies_and_learns_from_them(estimated: Dataset, tmp_path: Path) -> None:
    estimated.run_day()
    copy = tmp_path / "copy"
    assert back_up(copy, estimated.config) == 1
    again = restored(estimated, copy)
    assert verify_ledger(again.config).n_releases == 1
    again.run_day(day(1))
    assert releases(read_entries(again.config))[1].stated["learned_from"] == 1
    assert verify_ledger(again.config).n_releases == 2


@pytest.mark.parametrize("every", [7, slow(1)])
def test_a_copy_cut_short_anywhere_is_as_good_as_the_one_before(
    busy_dataset: Dataset, every: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy_dataset.set(epsilon_total=50.0)
    busy_dataset.release()
    before = tmp_path / "before"
    back_up(before, busy_dataset.config)
    busy_dataset.release(later_day(busy_dataset, 1))
    n_files = len(list(backup._in_order(read_entries(busy_dataset.config), busy_dataset.config)))
    copy_file = copies._copy
    for n_copied in range(0, n_files, every):
        copy = tmp_path / f"cut-{n_copied}"
        shutil.copytree(before, copy)
        left = iter(range(n_copied))

        def cut(path: Path, to: Path, left=left) -> None:
            if next(left, None) is None:
                raise OSError(28, "No space left on device")
            copy_file(path, to)

        monkeypatch.setattr(copies, "_copy", cut)
        with pytest.raises(HexveilError):
            back_up(copy, busy_dataset.config)
        held = Dataset(tmp_path / f"house-{n_copied}")
        held.folder.mkdir()
        shutil.copy(busy_dataset.config_file, held.config_file)
        shutil.copytree(copy, held.folder / "store")
        for entry in read_entries(held.config):
            publish_files.fn(entry.stated["release_id"], held.config)
        assert verify_ledger(held.config).n_releases in (1, 2)


def test_a_copy_of_another_ledger_is_not_overwritten(busy_dataset: Dataset, tmp_path: Path) -> None:
    busy_dataset.release()
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "ledger.jsonl").write_text('{"dataset":"another"}\n')
    with pytest.raises(HexveilError, match="not the beginning"):
        back_up(tmp_path / "copy", busy_dataset.config)


def test_a_broken_ledger_is_not_copied_over_a_good_copy(busy_dataset: Dataset, tmp_path: Path) -> None:
    busy_dataset.release()
    back_up(tmp_path / "copy", busy_dataset.config)
    path = busy_dataset.config.storage_path / "ledger.jsonl"
    path.write_bytes(path.read_bytes().replace(str(DATE).encode(), b"2026-01-16"))
    with pytest.raises(LedgerBroken):
        back_up(tmp_path / "copy", busy_dataset.config)
    assert str(DATE) in (tmp_path / "copy" / "ledger.jsonl").read_text()


def test_a_copy_within_the_storage_is_refused(busy_dataset: Dataset) -> None:
    busy_dataset.release()
    with pytest.raises(HexveilError, match="within the storage"):
        back_up(busy_dataset.config.storage_path / "copy", busy_dataset.config)


def test_a_draw_that_was_never_charged_is_in_no_copy(busy_dataset: Dataset, tmp_path: Path) -> None:
    busy_dataset.release()
    draw = busy_dataset.config.storage_path / "private" / "releases" / ("f" * 64)
    draw.write_bytes(b"noisy and not charged")
    (tmp_path / "copy" / "private" / "releases").mkdir(parents=True)
    shutil.copy(draw, tmp_path / "copy" / "private" / "releases")
    back_up(tmp_path / "copy", busy_dataset.config)
    assert not (tmp_path / "copy" / "private" / "releases" / draw.name).exists()


def test_an_older_copy_put_back_beside_what_was_published_since_is_refused(
    busy_dataset: Dataset, tmp_path: Path
) -> None:
    busy_dataset.set(epsilon_total=50.0)
    busy_dataset.release()
    back_up(tmp_path / "copy", busy_dataset.config)
    busy_dataset.release(later_day(busy_dataset, 1))
    store = busy_dataset.config.storage_path
    shutil.rmtree(store / "private")
    shutil.copytree(tmp_path / "copy" / "private", store / "private")
    shutil.copy(tmp_path / "copy" / "ledger.jsonl", store / "ledger.jsonl")
    with pytest.raises(LedgerBroken, match="a backup older than that release was restored"):
        verify_ledger(busy_dataset.config)
