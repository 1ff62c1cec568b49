"""A disk that is full or read-only, for real: a small file system in memory."""

import pkgutil
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support import DATE, Dataset, later_day, slow

from flows.ledger_cli import ledger_verify
from tasks.account import ledger
from tasks.base.errors import HexveilError
from tasks.upkeep import verify


def mount(path: Path, options: str) -> subprocess.CompletedProcess[bytes]:
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)]
    return subprocess.run(command, capture_output=True, check=False)


@pytest.fixture
def small_disk(busy_dataset: Dataset) -> Iterator[Path]:
    path = busy_dataset.folder / "store"
    path.mkdir()
    if shutil.which("mount") is None or mount(path, "size=64k").returncode:
        pytest.skip("mounting a file system in memory needs root")
    yield path
    subprocess.run(["umount", str(path)], check=True)


@pytest.mark.parametrize("step", [1024, slow(256)])
def test_a_full_disk_fails_the_day_whole_and_more_room_mends_it(
    busy_dataset: Dataset, small_disk: Path, step: int
) -> None:
    """The disk grows step by step, so that it is full at ever later moments of the day."""
    busy_dataset.with_map()
    messages = []
    for kibibytes in [*range(64, 6000, step), 60_000]:
        mount(small_disk, f"remount,size={kibibytes}k")
        try:
            busy_dataset.release()
            break
        except HexveilError as error:
            messages.append(str(error))
        assert ledger.read_entries(busy_dataset.config) or not (small_disk / "published").exists()
    assert len(messages) > 3
    assert all("run it again" in message for message in messages)
    assert len(ledger.read_entries(busy_dataset.config)) == 1
    assert verify.verify_ledger(busy_dataset.config).n_releases == 1


def test_a_read_only_disk_is_said_and_spends_nothing(busy_dataset: Dataset, small_disk: Path) -> None:
    mount(small_disk, "remount,size=60m")
    busy_dataset.prepare()
    mount(small_disk, "remount,ro")
    with pytest.raises(HexveilError, match=r"[Rr]ead-only"):
        busy_dataset.release()
    mount(small_disk, "remount,rw")
    assert ledger.read_entries(busy_dataset.config) == []
    assert not busy_dataset.published("manifest.json", DATE).exists()


@pytest.mark.parametrize("is_open_to_all", [False, True])
def test_an_auditor_who_can_only_read_verifies_and_is_told_so(
    busy_dataset: Dataset, small_disk: Path, is_open_to_all: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """A backup that was copied without its modes is read too; a log of the mirror beside it is no hindrance."""
    mount(small_disk, "remount,size=60m")
    busy_dataset.run_day()
    if is_open_to_all:
        (small_disk / "private").chmod(0o755)
    before = {path: path.stat().st_mtime_ns for path in small_disk.rglob("*")}
    mount(small_disk, "remount,ro")
    try:
        assert verify.verify_ledger(busy_dataset.config).n_releases == 1
        ledger_verify(busy_dataset.config_file)
        assert "The storage can only be read here" in capsys.readouterr().out
    finally:
        mount(small_disk, "remount,rw")
    assert {path: path.stat().st_mtime_ns for path in small_disk.rglob("*")} == before
    ledger_verify(busy_dataset.config_file)
    assert "can only be read" not in capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in small_disk.rglob("*")} == before


@pytest.mark.quick(2)
@pytest.mark.parametrize("at", ["account.ledger.append", "account.commit.append_line", "base.durable.write_whole"])
def test_a_disk_full_at_the_very_commit_or_export_is_made_good_by_the_next_run(
    busy_dataset: Dataset, small_disk: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    mount(small_disk, "remount,size=60m")
    real, filler = pkgutil.resolve_name(f"tasks.{at}"), small_disk / "filler"

    def on_a_full_disk(*arguments: Any, **options: Any) -> Any:
        if at != "base.durable.write_whole" or "published" in str(arguments[0]):
            fill(filler)
        return real(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(f"tasks.{at}", on_a_full_disk)
        with pytest.raises(HexveilError, match="No space left"):
            busy_dataset.run_day()
    filler.unlink()
    n_released = len(ledger.read_entries(busy_dataset.config))
    assert n_released == (at == "base.durable.write_whole")
    pending = small_disk / "private" / "pending-entry"
    assert pending.exists() == (at == "account.commit.append_line")
    busy_dataset.run_day()
    (entry,) = ledger.read_entries(busy_dataset.config)
    assert entry.stated["attempt"] == (2 if at == "account.ledger.append" else 1), (
        "what was stored to be appended is not drawn anew"
    )
    assert not pending.exists()
    assert verify.verify_ledger(busy_dataset.config).n_releases == 1


def fill(filler: Path) -> None:
    with filler.open("wb") as file, suppress(OSError):
        while True:
            file.write(bytes(1 << 12))
            file.flush()


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", ["ledger.jsonl", "private/plans", "private/releases", "published", "private/user-key"])
def test_a_read_only_file_or_folder_is_said_and_a_later_run_makes_it_good(
    busy_dataset: Dataset, small_disk: Path, name: str
) -> None:
    """A bind mount holds against every user, root too."""
    mount(small_disk, "remount,size=60m")
    busy_dataset.set(target_error=49.0)
    busy_dataset.run_day()
    tomorrow = later_day(busy_dataset, 1)
    path = str(small_disk / name)
    subprocess.run(["mount", "--bind", path, path], check=True)
    subprocess.run(["mount", "-o", "remount,ro,bind", path], check=True)
    try:
        if name == "private/user-key":
            busy_dataset.run_day(tomorrow)
        else:
            with pytest.raises(HexveilError, match=r"[Rr]ead-only"):
                busy_dataset.run_day(tomorrow)
    finally:
        subprocess.run(["umount", path], check=True)
    busy_dataset.run_day(tomorrow)
    assert len(ledger.read_entries(busy_dataset.config)) == 2
    assert verify.verify_ledger(busy_dataset.config).n_releases == 2
