"""Lets Ctrl-C end a publishing command at once with one message: in imports, a long query, a wait for a worker.

The stack is not unwound, because that would wait for the work in progress. To end a run at any point is as safe as a
power cut: the same command goes on afterwards. This module is imported first, and imports little.
"""

import atexit
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

_SAID = b"hexveil: interrupted. Nothing was charged twice; the same command goes on where it was.\n"
_BAR_CLEARED = b"\r\x1b[2K\x1b[?25h"
"""Clears a progress bar, and shows the cursor again."""

_EXIT_CODE = 130
_PATIENCE_SECONDS, _MOMENT = 15.0, 0.05

_ending = threading.Lock()
_server_waits = threading.Event()
_pressed = threading.Event()


def end_at_once(commands: set[str]) -> None:
    """Let Ctrl-C end this process at once, if it runs one of some commands and no other Python process started it.

    Python handles a signal only in the main thread, and only between two steps of Python code: a query may take minutes
    until then. So another thread waits for the signal.
    """
    if not commands & set(sys.argv[1:2]) or _has_python_parent():
        return
    seen, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGINT, lambda *_: None)
    threading.Thread(target=_end_when_told, args=(seen,), daemon=True).start()
    atexit.register(_leave_to_other_thread)


@contextmanager
def told_to_server() -> Iterator[None]:
    """After Ctrl-C, give Prefect some seconds to report the interrupted run to its server before the process ends.

    A second Ctrl-C ends the process at once.
    """
    signal.signal(signal.SIGINT, _unwind)
    _server_waits.set()
    try:
        yield
    finally:
        _server_waits.clear()
        if _pressed.is_set():
            end()
        signal.signal(signal.SIGINT, lambda *_: end())


@contextmanager
def said(message: str) -> Iterator[None]:
    """After Ctrl-C, end the process with a message that says what is left to do."""
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write(f"hexveil: {message}\n")
    else:
        return
    sys.exit(_EXIT_CODE)


def end() -> None:
    """Print the message about the interruption, and end the process; a second call does nothing."""
    if not _ending.acquire(blocking=False):
        return
    time.sleep(_MOMENT)  # a child process that is just starting would complain if its start were cut off
    with suppress(OSError):  # last, so that no bar is drawn after it
        os.write(sys.stderr.fileno(), (_BAR_CLEARED if sys.stderr.isatty() else b"") + _SAID)
    os._exit(_EXIT_CODE)


def _end_when_told(seen: int) -> None:
    patience = None
    while True:
        n_presses = os.read(seen, 64).count(signal.SIGINT)
        if n_presses > 1 or (n_presses and (patience or not _server_waits.is_set())):
            end()
        elif n_presses:
            _pressed.set()
            patience = threading.Timer(_PATIENCE_SECONDS, end)
            patience.daemon = True
            patience.start()


def _unwind(*_: Any) -> None:
    """Raise KeyboardInterrupt in the main thread, once, when that comes to it; Prefect reports it to its server."""
    _pressed.set()
    signal.signal(signal.SIGINT, lambda *_: None)
    raise KeyboardInterrupt


def _leave_to_other_thread() -> None:
    """Wait for an end that has begun; else ignore Ctrl-C from now on: all is printed, and the process ends anyway."""
    if _ending.locked():
        time.sleep(_PATIENCE_SECONDS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _has_python_parent() -> bool:
    """Return whether another Python process started this one and will end it."""
    used = sys.modules.get("multiprocessing")
    return used is not None and used.current_process().name != "MainProcess"
