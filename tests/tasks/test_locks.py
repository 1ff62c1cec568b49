"""One process at a time, and none for ever: real processes wait for one another and are killed."""

import logging
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tasks.base.locks import turn

HOLD = """
import sys, time
from pathlib import Path
from tasks.locks import turn
with turn(Path(sys.argv[1])):
    print("in", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "lock"


@pytest.fixture
def holder(lock: Path) -> subprocess.Popen[str]:
    """Start another process that keeps the lock."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(lock)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == "in\n"
    return process


def test_a_turn_is_waited_for_and_comes_when_its_holder_is_killed(
    lock: Path, holder: subprocess.Popen[str], caplog: pytest.LogCaptureFixture
) -> None:
    came = threading.Event()

    def wait() -> None:
        with turn(lock, "the room"):
            came.set()

    waiting = threading.Thread(target=wait)
    waiting.start()
    assert not came.wait(0.5)
    holder.kill()
    holder.wait()
    waiting.join(timeout=60)
    assert came.is_set()
    assert caplog.messages == [f"waiting for another process to leave the room lock={lock}"]


def test_a_turn_ends_with_an_error_and_nothing_is_said_where_nobody_waits(
    lock: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with pytest.raises(KeyError), turn(lock, "the room"):
        raise KeyError
    with turn(lock, "the room"):
        assert lock.exists()
    assert caplog.messages == []
