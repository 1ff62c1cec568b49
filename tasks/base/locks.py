"""Locks between processes. The operating system releases a lock when its process ends, even after a crash."""

import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tasks.base.logs import say

log = logging.getLogger("hexveil.locks")


@contextmanager
def turn(lock: Path, what: str | None = None) -> Iterator[None]:
    """Wait for the lock of a file and hold it: only one process at a time runs a block with the same file.

    Args:
        lock: The lock file. It is created if it does not exist; its folder must exist.
        what: What the lock protects, for the log line about waiting. None for a short lock: nothing is logged.
    """
    with open(lock, "a", opener=_not_for_others) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if what is not None:
                say(log, f"waiting for another process to leave {what}", lock=lock)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _not_for_others(path: str, flags: int) -> int:
    return os.open(path, flags, 0o644)
