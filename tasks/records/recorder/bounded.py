"""Runs functions in a child process, which is killed when it takes too long, or when it is time to stop.

Nothing within a process is sure to end what the bytes of a stranger make it do: a client that reads header after
header, a name that is looked up, a library that decompresses. The system ends a process whatever it does.
"""

import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from threading import Event
from typing import Any, Self

from tasks.base.child_processes import end_with_parent, undisturbed

_MOST_MEMORY = 1 << 31  # bytes
_LONGEST_START = 120.0  # seconds
_MOMENT = 0.1  # seconds


class TookTooLong(Exception):
    """A function was not done in its time."""


class Broke(Exception):
    """A function broke: for example, it took more than 2 GiB of memory."""


class Bounded:
    """A child process that runs functions of modules, one after the other. If it was killed, another one takes over."""

    def __init__(self, stop: Event, prepare: Callable[[], Any]) -> None:
        """Start nothing yet.

        Args:
            stop: Is set to end the function that runs.
            prepare: What each child does first, in no limited time: for example, it imports something.
        """
        self._stop, self._prepare = stop, prepare
        self._child: tuple[BaseProcess, Connection] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._kill()

    def run(self, seconds: float, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a function returns; None if it is time to stop.

        Args:
            seconds: How long it may take.
            function: Handles its own errors.
            arguments: Are small, and so read at once.

        Raises:
            TookTooLong: It took longer.
            Broke: It raised an error, or its process ended.
        """
        try:
            pipe = self._child[1] if self._child else self._started()
            pipe.send((function, arguments))
            return self._returned(pipe, seconds)
        except (EOFError, OSError):
            self._kill()
        if self._stop.is_set():
            return None
        raise Broke

    def _started(self) -> Connection:
        spawn = multiprocessing.get_context("spawn")
        pipe, of_child = spawn.Pipe()
        child = spawn.Process(target=_serve, args=(of_child, self._prepare), daemon=True)
        with undisturbed():
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # this process kills it, and nobody else does
            child.start()
        self._child = child, pipe
        of_child.close()
        self._returned(pipe, _LONGEST_START)
        return pipe

    def _returned(self, pipe: Connection, seconds: float) -> Any:
        """Return what the child sends next; None if it is time to stop. It is killed then, as when it is late."""
        deadline = time.monotonic() + seconds
        while not pipe.poll(_MOMENT):
            if self._stop.is_set() or time.monotonic() > deadline:
                self._kill()
                if self._stop.is_set():
                    return None
                raise TookTooLong
        return pipe.recv()

    def _kill(self) -> None:
        if self._child is not None:
            child, pipe = self._child
            child.kill()
            child.join()
            pipe.close()
            self._child = None


def _serve(pipe: Connection, prepare: Callable[[], Any]) -> None:
    end_with_parent()
    with suppress(OSError, ValueError):  # not every system has this limit
        resource.setrlimit(resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))
    with suppress(BaseException):  # its text may quote an address with its key
        prepare()
        pipe.send(None)
        while True:
            function, arguments = pipe.recv()
            pipe.send(function(*arguments))
    os._exit(1)
