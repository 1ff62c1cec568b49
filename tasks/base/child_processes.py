"""Processes that work for this one: they end with it, and have nothing to say when a person interrupts them all."""

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
    """Let processes be started that an interruption does not reach, or each would complain of it while it begins."""
    _start_silent_tracker()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_with_parent() -> None:
    """Let this process end with the one it works for, however that ends."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()


@functools.cache
def _start_silent_tracker() -> None:
    """Start Python's tracker of what processes share, with nowhere to complain.

    What an interrupted process leaves it clears away, and says so on standard error.
    """
    kept = os.dup(2)
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        resource_tracker.ensure_running()
    finally:
        os.dup2(kept, 2)
        os.close(kept)
