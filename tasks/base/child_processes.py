"""Child processes: they end with their parent, and print nothing when a person presses Ctrl+C."""

import functools
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from pathlib import Path


@contextmanager
def undisturbed() -> Iterator[None]:
    """Start processes in the block that ignore Ctrl+C. Otherwise each prints an error if it is interrupted early."""
    _start_silent_tracker()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_with_parent() -> None:
    """End this process when its parent ends, for whatever reason the parent ends."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()


@functools.cache
def _start_silent_tracker() -> None:
    """Start Python's resource tracker without standard error.

    The tracker removes what an interrupted process leaves, and reports that on standard error.
    """
    kept = os.dup(2)
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        resource_tracker.ensure_running()
    finally:
        os.dup2(kept, 2)
        os.close(kept)
