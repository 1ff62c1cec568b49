"""Recorder: fetches a feed again and again, and writes each new snapshot to a file of its own for the daily run."""

import datetime as dt
import gzip
import logging
import os
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple
from zoneinfo import ZoneInfo

from tasks.base.durable import sha256, write_whole
from tasks.base.errors import BadInput, HexveilError
from tasks.base.logs import say, warn
from tasks.records.input_formats.input_format import Snapshot
from tasks.records.input_formats.table import format_by_start
from tasks.records.record.feed import Feed

if TYPE_CHECKING:
    import httpx

LONGEST_WAIT = 900.0
"""The longest time between two attempts after failures, in seconds, unless the feed asks for more."""

_LARGEST = 1 << 28  # bytes of a snapshot
_START = 1 << 17
_LONGEST_ANSWER = 30.0  # seconds
_LONGEST_NUMBER = 6  # digits of the seconds that a feed may ask to wait
_TRY_AGAIN = (408, 425, 429)

log = logging.getLogger("hexveil.recorder")


class _Recognised(NamedTuple):
    """The end of the name of a snapshot's file, and what it shows of its records."""

    ending: str
    shows: Snapshot


class _Snapshot(NamedTuple):
    """What a feed held at one moment, the end of the name of its file, and its hash."""

    content: bytes
    ending: str
    hash: str


class _Failed(Exception):
    """One request failed. ``wait``: the seconds that the feed asks to wait; ``final``: asking again is in vain."""

    def __init__(self, reason: str, wait: float = 0.0, final: bool = False) -> None:
        super().__init__(reason)
        self.wait, self.final = wait, final


def record(feed: Feed, stop: Event) -> int:
    """Write a feed's snapshots until told to stop, and return how many were written.

    A snapshot that equals the one before is not written. After a failure the time to the next request doubles, to at
    most a quarter of an hour, or is what the feed asks for.

    Args:
        feed: The feed.
        stop: Is set to end; a request that is under way is given up.

    Raises:
        HexveilError: The very first request is refused, so that the address or a key must be wrong.
        BadInput: The folder cannot be written to, or read.
    """
    import httpx

    logging.getLogger("httpx").setLevel(logging.WARNING)  # it logs whole addresses, with their keys
    n_written, n_failures, last = 0, 0, _opened(feed.folder)
    before, places = None if last is None else sha256(last), set() if last is None else _places(last)
    with httpx.Client(headers=dict(feed.headers), timeout=_LONGEST_ANSWER) as client:
        known: dict[str, str] = {}
        due = time.monotonic()
        while not stop.is_set():
            try:
                snapshot = _fetched(client, feed, known, places, stop)
                if snapshot is not None and snapshot.hash != before:
                    _write(snapshot, feed)
                    before = snapshot.hash
                    n_written += 1
                if n_failures:
                    warn(log, "the feed answers again", feed=feed.host, n_failures=n_failures)
                n_failures, asked = 0, 0.0
            except _Failed as error:
                if error.final and not n_written and not n_failures:
                    problem = f"{feed.host} refuses the request: {error}"
                    break
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
    return max(doubled, asked)


def _next(due: float, every: float, n_failures: int, asked: float) -> float:
    """Return when the next request is due. Requests that are missed are not made up for."""
    return max(due + wait_after(every, n_failures, asked), time.monotonic() if not n_failures else due)


def _fetched(
    client: "httpx.Client", feed: Feed, known: dict[str, str], places: set[Any], stop: Event
) -> _Snapshot | None:
    """Return what the feed holds now; None if it says itself that nothing changed, or if it is time to stop.

    Args:
        client: Sends the request.
        feed: The feed.
        known: What the last answer said of its version; is replaced by what this one says.
        places: Where snapshots had records; this one's are added.
        stop: Ends the request.
    """
    import httpx

    try:
        with client.stream("GET", feed.url, headers=known) as answer:
            if answer.status_code == httpx.codes.NOT_MODIFIED:
                return None
            if not answer.is_success:
                raise _refusal(answer)
            content = _whole(answer, stop)
    except httpx.HTTPError as error:
        problem = type(error).__name__  # its text may quote the address with its key
    else:
        if content is None:
            return None
        snapshot = _Snapshot(content, _ending(content, places), sha256(content))
        known.clear()
        known.update(_version(answer.headers))
        return snapshot
    raise _Failed(problem)


def _refusal(answer: "httpx.Response") -> _Failed:
    wait = answer.headers.get("retry-after", "")
    seconds = float(wait) if wait.isdecimal() and len(wait) <= _LONGEST_NUMBER else 0.0
    if answer.is_redirect:  # not followed: the key would go to another host
        return _Failed(f"HTTP {answer.status_code}, it redirects; give the address that it redirects to", final=True)
    final = 400 <= answer.status_code < 500 and answer.status_code not in _TRY_AGAIN
    return _Failed(f"HTTP {answer.status_code}", seconds, final)


def _whole(answer: "httpx.Response", stop: Event) -> bytes | None:
    deadline, parts, n_bytes = time.monotonic() + _LONGEST_ANSWER, [], 0
    for part in answer.iter_bytes():
        parts.append(part)
        n_bytes += len(part)
        if stop.is_set():
            return None
        if n_bytes > _LARGEST:
            raise _Failed("the answer is larger than 256 MiB")
        if time.monotonic() > deadline:
            raise _Failed(f"the answer takes longer than {_LONGEST_ANSWER:.0f} s")
    return b"".join(parts)


def _version(headers: Any) -> Iterator[tuple[str, str]]:
    for given, asked in (("etag", "if-none-match"), ("last-modified", "if-modified-since")):
        if given in headers:
            yield asked, headers[given]


def _ending(content: bytes, places: set[Any]) -> str:
    """Return the end of a file's name by its content.

    Args:
        content: The snapshot.
        places: Where earlier snapshots had records: there alone may be none. Where this one has some is added.

    Raises:
        _Failed: It is no data: for example a page that says that the service is down.
    """
    recognised = _recognised(content)
    if recognised is None or not (recognised.shows.has_records or recognised.shows.places & places):
        raise _Failed("the answer is no data: neither JSON with a list of objects, GTFS-Realtime, Parquet nor CSV")
    if recognised.shows.has_records:
        places |= recognised.shows.places
    return recognised.ending


def _places(snapshot: bytes) -> set[Any]:
    """Return where a snapshot that was taken before can have records."""
    recognised = _recognised(snapshot)
    return set() if recognised is None else set(recognised.shows.places)


def _recognised(content: bytes) -> _Recognised | None:
    """Return what a snapshot is; None if it is no data."""
    zipped = content.startswith(b"\x1f\x8b")
    try:
        start = zlib.decompressobj(wbits=31).decompress(content, _START) if zipped else content[:_START]
        kind = format_by_start(start)
        shows = kind and kind.snapshot(start, lambda: gzip.decompress(content) if zipped else content)
    except (ValueError, zlib.error, EOFError):
        return None
    return _Recognised(kind.endings[0] + (".gz" if zipped else ""), shows) if kind and shows else None


def _write(snapshot: _Snapshot, feed: Feed) -> None:
    """Write a snapshot under the time of now, whole or not at all.

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
        return
    raise _Failed(problem)


def _opened(folder: Path) -> bytes | None:
    """Make a folder if it is not there, and return its newest snapshot."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return _last_snapshot(folder)
    except OSError as error:
        problem = f"--to {folder}: {os.strerror(error.errno or 0)}; name a folder that you may read and write"
    raise BadInput(problem)


def _last_snapshot(folder: Path) -> bytes | None:
    """Return the newest snapshot in a folder. The names are in order of time."""
    days = sorted((one for one in folder.glob("????-??-??") if one.is_dir()), reverse=True)
    for day in days:
        files = sorted(one for one in day.glob("[!.]*") if one.is_file())
        if files:
            return files[-1].read_bytes()
    return None
