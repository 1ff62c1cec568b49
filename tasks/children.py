"""Processes that work for this one: they end with it, and have nothing to say when a person interrupts them all."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import util

_SECONDS = 2.0

_starting = threading.Lock()


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let processes be started that an interruption does not reach, or each would complain of it while it begins."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        with _starting:
            yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_with_parent() -> None:
    """Let this process end with the one it works for, however that ends."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()


def end_children() -> None:
    """End the processes that work for this one, which is about to end, and give back what it shared with them.

    Else those that are just beginning would find it gone, and say so on standard error, as would Python's own tracker
    of what is shared.
    """
    _starting.acquire(timeout=_SECONDS)
    children = multiprocessing.active_children()
    for child in children:
        child.kill()
    for child in children:
        child.join(_SECONDS)
    util._run_finalizers(0)
