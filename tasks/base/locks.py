"""Locks: one process at a time. The system lets go of a lock when its process ends, however it ends."""

import fcntl
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tasks.base.logs import say

log = logging.getLogger("hexveil.locks")


@contextmanager
def turn(lock: Path, what: str | None = None) -> Iterator[None]:
    """Wait for one's turn and keep it: of those who name the same file, one at a time is in the block.

    Args:
        lock: A file that is made if it is not there, in a folder that is.
        what: What is kept, for the log to say when it is waited for; None where it is kept for a moment.
    """
    with lock.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if what is not None:
                say(log, f"waiting for another process to leave {what}", lock=lock)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
