"""Recorder: fetches a feed again and again, and writes each new snapshot to a file of its own for the daily run.

A feed may answer with anything. So another process asks it and looks at the answer, and this one only waits and writes.
"""

import datetime as dt
import functools
import logging
import os
import time
import zlib
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple
from zoneinfo import ZoneInfo

from tasks.base.durable import sha256, write_whole
from tasks.base.errors import BadInput, HexveilError
from tasks.base.logs import say, warn
from tasks.records.input_formats.all_formats import format_by_start
from tasks.records.input_formats.compressed import TooLarge, unzipped
from tasks.records.input_formats.input_format import Snapshot
from tasks.records.recorder.bounded import Bounded, Broke, TookTooLong
from tasks.records.recorder.feed import Feed
from tasks.records.recorder.packing import Packer

if TYPE_CHECKING:
    import httpx

LONGEST_WAIT = 900.0
"""The longest time between two attempts after failures, in seconds."""
LONGEST_ASKED = 3600.0
"""The longest wait that a feed may ask for, in seconds."""

_LARGEST = 1 << 28  # bytes of a snapshot, compressed or not
_START = 1 << 17
_LONGEST_ANSWER = 30.0  # seconds from the request until the answer was read and recognised
_LONGEST_NUMBER = 6  # digits of the seconds that a feed may ask to wait
_LONGEST_PLACES = 1 << 20  # characters; a feed whose lists have other names each time has no places
_TRY_AGAIN = (408, 425, 429)
_VERSIONS = {b"etag": b"if-none-match", b"last-modified": b"if-modified-since"}
"""What an answer says of its version, and how a request repeats it."""

log = logging.getLogger("hexveil.recorder")


class _Snapshot(NamedTuple):
    """What a feed held at one moment, the end of the name of its file, and its hash."""

    content: bytes
    ending: str
    hash: str


class _Known(NamedTuple):
    """What the answers so far say: how to ask for newer ones only, and where snapshots had records."""

    version: tuple[tuple[bytes, bytes], ...] = ()
    places: frozenset[Any] = frozenset()


class _Failed(Exception):
    """One request failed. ``wait``: the seconds that the feed asks to wait; ``final``: asking again is in vain."""

    def __init__(self, reason: str, wait: float = 0.0, final: bool = False) -> None:
        super().__init__(reason, wait, final)  # all of them, so that it can come from another process
        self.wait, self.final = wait, final

    def __str__(self) -> str:
        return str(self.args[0])


def record(feed: Feed, stop: Event) -> int:
    """Write a feed's snapshots until told to stop, and return how many were written.

    A snapshot that equals the one before is not written. After a failure the time to the next request doubles, to at
    most a quarter of an hour, or is what the feed asks for, up to an hour.

    Args:
        feed: The feed.
        stop: Is set to end; a request that is under way is given up.

    Raises:
        HexveilError: The very first request is refused, so that the address or a key must be wrong.
        BadInput: The folder cannot be written to, or read.
    """
    n_written, n_failures, packer = 0, 0, Packer()
    with Bounded(stop, _client) as asker:
        before, known = _opened(feed.folder, asker)
        due = time.monotonic()
        while not stop.is_set():
            try:
                snapshot, known = _asked(asker, feed, known)
                if snapshot is not None and snapshot.hash != before:
                    packer.pack_before(_write(snapshot, feed))
                    before = snapshot.hash
                    n_written += 1
                if n_failures:
                    warn(log, "the feed answers again", feed=feed.host, n_failures=n_failures)
                n_failures, asked = 0, 0.0
            except _Failed as error:
                if error.final and not n_written and not n_failures:
                    problem = f"{feed.host} refuses the request: {error}"
                    break
                known = known._replace(version=())  # the next answer may not rest on one that is not kept
                n_failures, asked = n_failures + 1, error.wait
                wait = round(wait_after(feed.every, n_failures, asked))
                about = {"feed": feed.host, "reason": str(error), "n_failures": n_failures, "wait_seconds": wait}
                warn(log, "a snapshot failed", **about)
            due = _next(due, feed.every, n_failures, asked)
            stop.wait(max(0.0, due - time.monotonic()))
        else:
            return n_written
    raise HexveilError(problem)


def wait_after(every: float, n_failures: int, asked: float) -> float:
    """Return how many seconds are between two requests."""
    doubled = min(every * 2.0**n_failures, max(every, LONGEST_WAIT))
    return max(doubled, min(asked, LONGEST_ASKED))


def _next(due: float, every: float, n_failures: int, asked: float) -> float:
    """Return when the next request is due. Requests that are missed are not made up for."""
    return max(due + wait_after(every, n_failures, asked), time.monotonic() if not n_failures else due)


def _asked(asker: Bounded, feed: Feed, known: _Known) -> tuple[_Snapshot | None, _Known]:
    """Return what the feed holds now, and what is known then; no snapshot if nothing is new, or if it is time to stop.

    Raises:
        _Failed: No answer comes in time, or none that can be read.
    """
    try:
        answer = asker.run(_LONGEST_ANSWER, _answer, feed, known, _LARGEST)
    except TookTooLong:
        answer = _Failed(f"the answer takes longer than {_LONGEST_ANSWER:.0f} s")
    except Broke:
        answer = _Failed("the answer cannot be read, or takes too much memory")
    if isinstance(answer, _Failed):
        raise answer
    return answer or (None, known)


def _answer(feed: Feed, known: _Known, largest: int) -> tuple[_Snapshot | None, _Known] | _Failed:
    """Return the same, or why it fails; runs in the other process."""
    import httpx

    try:
        return _fetched(feed, known, largest)
    except _Failed as error:
        return error
    except httpx.HTTPError as error:
        return _Failed(type(error).__name__)  # its text may quote the address with its key
    except Exception as error:
        return _Failed(f"the answer cannot be read: {type(error).__name__}")


def _fetched(feed: Feed, known: _Known, largest: int) -> tuple[_Snapshot | None, _Known]:
    import httpx

    headers = httpx.Headers({"accept-encoding": "gzip"})
    for given in (dict(feed.headers), known.version):
        headers.update(given)
    with _client().stream("GET", feed.url, headers=headers) as answer:
        if answer.status_code == httpx.codes.NOT_MODIFIED:
            return None, known
        if not answer.is_success:
            raise _refusal(answer)
        content = _whole(answer, largest)
    places = set(known.places)
    snapshot = _Snapshot(content, _ending(content, places, largest), sha256(content))
    version = tuple((_VERSIONS[name.lower()], value) for name, value in answer.headers.raw if name.lower() in _VERSIONS)
    return snapshot, _Known(version, frozenset(places) if len(str(places)) <= _LONGEST_PLACES else frozenset())


@functools.cache
def _client() -> "httpx.Client":
    """Return a client that keeps its connection. It has no time limit: whoever waits for this process has one."""
    import httpx

    return httpx.Client(timeout=None)  # noqa: S113


def _refusal(answer: "httpx.Response") -> _Failed:
    wait = answer.headers.get("retry-after", "")
    seconds = float(wait) if wait.isdecimal() and len(wait) <= _LONGEST_NUMBER else 0.0
    if answer.is_redirect:  # not followed: the key would go to another host
        return _Failed(f"HTTP {answer.status_code}, it redirects; give the address that it redirects to", final=True)
    final = 400 <= answer.status_code < 500 and answer.status_code not in _TRY_AGAIN
    return _Failed(f"HTTP {answer.status_code}", seconds, final)


def _whole(answer: "httpx.Response", largest: int) -> bytes:
    content = bytearray()
    for part in answer.iter_raw():
        content += part
        if len(content) > largest:
            raise _too_large()
    codings = [one.strip().lower() for one in answer.headers.get("content-encoding", "identity").split(",")]
    if codings == ["identity"]:
        return bytes(content)
    if codings not in (["gzip"], ["x-gzip"]):
        raise _Failed("the answer has a Content-Encoding that is not gzip")
    try:
        return unzipped(bytes(content), largest)
    except TooLarge:
        raise _too_large() from None


def _too_large() -> _Failed:
    return _Failed("the answer is larger than 256 MiB")


def _ending(content: bytes, places: set[Any], largest: int = _LARGEST) -> str:
    """Return the end of a file's name by its content.

    Args:
        content: The snapshot.
        places: Where earlier snapshots had records: there alone may be none. Where this one has some is added.
        largest: How many bytes it may be, not compressed.

    Raises:
        _Failed: It is no data: for example a page that says that the service is down.
    """
    ending, shows = _recognised(content, largest) or ("", Snapshot(frozenset(), False))
    if not (shows.has_records or shows.places & places):
        raise _Failed("the answer is no data: neither JSON with a list of objects, GTFS-Realtime, Parquet nor CSV")
    if shows.has_records:
        places |= shows.places
    return ending


def _places(path: Path) -> frozenset[Any]:
    """Return where a snapshot that was taken before can have records; runs in the other process."""
    try:
        recognised = _recognised(path.read_bytes(), _LARGEST)
    except (OSError, _Failed):
        return frozenset()
    return recognised[1].places if recognised else frozenset()


def _recognised(content: bytes, largest: int) -> tuple[str, Snapshot] | None:
    """Return the end of its file's name, and what a snapshot shows; None if it is no data. It may be too large."""
    zipped = content.startswith(b"\x1f\x8b")
    try:
        whole = unzipped(content, largest) if zipped else content
        kind = format_by_start(whole[:_START])
        shows = kind and kind.snapshot(whole[:_START], lambda: whole)
    except TooLarge:
        raise _too_large() from None
    except (ValueError, zlib.error, EOFError, OSError):
        return None
    return (kind.endings[0] + (".gz" if zipped else ""), shows) if kind and shows else None


def _write(snapshot: _Snapshot, feed: Feed) -> Path:
    """Write a snapshot under the time of now, whole or not at all, and return its place.

    Raises:
        _Failed: The disk does not take it; it may have room again later.
    """
    now = dt.datetime.now(dt.UTC)
    day = now.astimezone(ZoneInfo(feed.timezone)).date()
    path = feed.folder / day.isoformat() / f"{now:%Y-%m-%dT%H-%M-%S.%fZ}{snapshot.ending}"
    try:
        write_whole(path, snapshot.content)
    except OSError as error:
        problem = f"the snapshot cannot be written: {os.strerror(error.errno or 0)}"
    else:
        say(log, "recorded", feed=feed.host, file=path.name)
        return path
    raise _Failed(problem)


def _opened(folder: Path, asker: Bounded) -> tuple[str | None, _Known]:
    """Make a folder if it is not there, and return the hash of its newest snapshot, and what that shows."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        last = _last_snapshot(folder)
        before = None if last is None else sha256(last.read_bytes())
    except OSError as error:
        problem = f"--to {folder}: {os.strerror(error.errno or 0)}; name a folder that you may read and write"
        raise BadInput(problem) from None
    try:
        places = None if last is None else asker.run(_LONGEST_ANSWER, _places, last)
    except (TookTooLong, Broke):
        places = None
    return before, _Known(places=places or frozenset())


def _last_snapshot(folder: Path) -> Path | None:
    """Return the file of the newest snapshot in a folder. The names are in order of time."""
    days = sorted((one for one in folder.glob("????-??-??") if one.is_dir()), reverse=True)
    for day in days:
        files = sorted(one for one in day.glob("[!.]*") if one.is_file())
        if files:
            return files[-1]
    return None
