"""A disk that is full or read-only, for real: a small file system in memory."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import DATE, Dataset

from tasks import ledger, verify
from tasks.errors import HexveilError


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


def test_a_full_disk_fails_the_day_whole_and_more_room_mends_it(busy_dataset: Dataset, small_disk: Path) -> None:
    """The disk grows step by step, so that it is full at ever later moments of the day."""
    messages = []
    for kibibytes in [*range(64, 6000, 256), 60_000]:
        mount(small_disk, f"remount,size={kibibytes}k")
        try:
            busy_dataset.release()
            break
        except HexveilError as error:
            messages.append(str(error))
        assert ledger.read_entries(busy_dataset.config) or not (small_disk / "published").exists()
    assert len(messages) > 3
    assert all("run the day again" in message for message in messages)
    assert len(ledger.read_entries(busy_dataset.config)) == 1
    assert verify.verify_ledger(busy_dataset.config) == 1


def test_a_read_only_disk_is_said_and_spends_nothing(busy_dataset: Dataset, small_disk: Path) -> None:
    mount(small_disk, "remount,size=60m")
    busy_dataset.prepare()
    mount(small_disk, "remount,ro")
    with pytest.raises(HexveilError, match=r"[Rr]ead-only"):
        busy_dataset.release()
    mount(small_disk, "remount,rw")
    assert ledger.read_entries(busy_dataset.config) == []
    assert not busy_dataset.published("manifest.json", DATE).exists()
