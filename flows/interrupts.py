"""Ctrl-C ends what publishes at once and plainly, wherever it is: in imports, a long query, a wait for a worker.

Nothing is unwound, which would wait for whatever is at work. Ending a run anywhere is as safe as a power cut, after
which the same command goes on. This module is the first to be imported, and imports little.
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
_PATIENCE_SECONDS, _MOMENT = 5.0, 0.05

_ending = threading.Lock()
_pressed = threading.Event()


def end_at_once(commands: set[str]) -> None:
    """Let Ctrl-C end this process at once, where it was started as one of some commands, and by a person.

    Python hands a signal to the main thread only, and between two steps of its own code: a query may be minutes away
    from that. So another thread waits for it.
    """
    if not commands & set(sys.argv[1:2]) or _has_python_parent():
        return
    seen, told = os.pipe()
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told)
    signal.signal(signal.SIGINT, lambda *_: None)
    threading.Thread(target=_end_when_told, args=(seen,), daemon=True).start()
    atexit.register(_leave_to_other_thread)


@contextmanager
def told_to_server() -> Iterator[None]:
    """Let Prefect tell its server within some seconds that the run was interrupted, before the process ends."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGINT, _unwind)
    try:
        yield
    finally:
        if _pressed.is_set():
            end()
        signal.signal(signal.SIGINT, lambda *_: end())


@contextmanager
def said(message: str) -> Iterator[None]:
    """Let an interruption end the process with a message of what is left to do."""
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write(f"hexveil: {message}\n")
    else:
        return
    sys.exit(_EXIT_CODE)


def end() -> None:
    """Say what an interrupted person must know, and end the process; a second call leaves it to the first."""
    if not _ending.acquire(blocking=False):
        return
    with suppress(OSError):
        os.write(sys.stderr.fileno(), (_BAR_CLEARED if sys.stderr.isatty() else b"") + _SAID)
    time.sleep(_MOMENT)  # a process that is being started would complain if it were left half told what to do
    os._exit(_EXIT_CODE)


def _end_when_told(seen: int) -> None:
    while signal.SIGINT not in os.read(seen, 64):
        pass
    end()


def _unwind(*_: Any) -> None:
    if _pressed.is_set():
        end()
    _pressed.set()
    patience = threading.Timer(_PATIENCE_SECONDS, end)
    patience.daemon = True
    patience.start()
    raise KeyboardInterrupt


def _leave_to_other_thread() -> None:
    """Keep the end that has begun, or let there be none any more: all is said, and the rest takes no time."""
    if _ending.locked():
        time.sleep(_PATIENCE_SECONDS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _has_python_parent() -> bool:
    """Tell whether this process works for another of Python's, which sees to its end."""
    used = sys.modules.get("multiprocessing")
    return used is not None and used.current_process().name != "MainProcess"
