"""What a feed may do to `hexveil record`: whatever it answers, the next one is asked, and Ctrl-C ends the command."""

import gzip
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from feeds import snapshot
from hostile import HANGING, Hostile, Parts, hostile, plain, zeros
from support import slow

from tasks.records.recorder import recorder
from tasks.records.recorder.feed import Feed
from tasks.records.recorder.recorder import record

GOOD = snapshot([("bus1", 1768464000, 11)])


def asked_until(server: Hostile, n: int, folder: Path) -> tuple[int, float]:
    """Record until a server was asked so often; return how many snapshots were written, and how long the end took."""
    stop, counts = threading.Event(), list[int]()
    feed = Feed(server.url, folder, 0.01, "UTC")
    recording = threading.Thread(target=lambda: counts.append(record(feed, stop)))
    recording.start()
    while server.n_asked < n:
        assert recording.is_alive()
        time.sleep(0.01)
    time.sleep(0.1)
    began = time.monotonic()
    stop.set()
    recording.join(60)
    return counts[0], time.monotonic() - began


def some_always(cases: list[Any], n: int) -> list[Any]:
    """Return cases of which all but the first n are tried in the long campaign alone."""
    return [*cases[:n], *map(slow, cases[n:])]


@pytest.mark.quick(1)
@pytest.mark.parametrize("hanging", some_always(HANGING, 3))
def test_an_answer_that_never_ends_is_given_up_and_the_next_one_is_asked(
    hanging: Callable[[], Parts],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(recorder, "_LONGEST_ANSWER", 2)
    with hostile(hanging, plain(GOOD), hanging) as server:
        n_written, seconds = asked_until(server, 3, tmp_path)
    assert (n_written, seconds < 2) == (1, True)
    assert "a snapshot failed feed=127.0.0.1" in caplog.text
    assert "the feed answers again feed=127.0.0.1 n_failures=1" in caplog.text
    assert "k3y" not in caplog.text


BOMBS: list[tuple[Callable[[], bytes], list[bytes], str]] = [
    (lambda: zeros(300), [], "the answer is larger than 256 MiB"),
    (lambda: zeros(300), [b"Content-Encoding: gzip"], "the answer is larger than 256 MiB"),
    (lambda: gzip.compress(GOOD), [b"Content-Encoding: gzip, gzip"], "a Content-Encoding that is not gzip"),
    (lambda: GOOD, [b"Content-Encoding: zstd"], "a Content-Encoding that is not gzip"),
    (lambda: gzip.compress(zeros(300)), [b"Content-Encoding: gzip"], "the answer is larger than 256 MiB"),
    (lambda: zeros(300, b'[{"a": "', b" "), [], "the answer is larger than 256 MiB"),
    (lambda: zeros(255, GOOD), [], "the answer is no data"),
    (lambda: zeros(200, b'[[{"a": "', b"[],"), [], "the answer "),
    (lambda: zeros(200, b"", b'{"a":'), [], "the answer "),
]


@pytest.mark.quick(1)
@pytest.mark.parametrize("bomb", some_always(BOMBS, 4))
def test_a_bomb_is_not_written_and_the_next_one_is_asked(
    bomb: tuple[Callable[[], bytes], list[bytes], str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    content, headers, said = bomb
    with hostile(plain(content(), *headers), plain(GOOD)) as server:
        assert asked_until(server, 3, tmp_path)[0] == 1
    assert said in caplog.text
    assert [path.read_bytes() for path in tmp_path.rglob("*.pb")] == [GOOD]


@pytest.mark.quick(1)
@pytest.mark.parametrize("version", [b'ETag: "\xe9\xff"', b"Last-Modified: \xf0\x9f", b"ETag: \xff", b"ETag: a\tb"])
def test_a_version_in_any_bytes_is_said_again_as_it_came(version: bytes, tmp_path: Path) -> None:
    with hostile(plain(GOOD, version)) as server:
        assert asked_until(server, 3, tmp_path)[0] == 1
    assert version.partition(b": ")[2] in server.requests[1]


def test_a_feed_may_not_ask_for_days_of_silence() -> None:
    assert recorder.wait_after(30, 1, 11 * 86400) == recorder.LONGEST_ASKED


CTRL_C, TERM = signal.SIGINT, signal.SIGTERM
IN_BRIEF = [*zip(HANGING, (CTRL_C, TERM, CTRL_C), strict=False)]
SIGNALS = [(hanging, kind) for hanging in HANGING for kind in (CTRL_C, TERM)]


@pytest.mark.quick(1)
@pytest.mark.parametrize(("hanging", "kind"), [one if one in IN_BRIEF else slow(*one) for one in SIGNALS])
def test_a_signal_ends_the_command_within_two_seconds(
    hanging: Callable[[], Parts], kind: signal.Signals, tmp_path: Path
) -> None:
    with hostile(hanging) as server:
        words = [sys.executable, "-m", "flows.cli", "record", server.url, "--to", str(tmp_path)]
        command = subprocess.Popen(words, env=os.environ.copy(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while not server.n_asked:
            assert command.poll() is None
            time.sleep(0.01)
        time.sleep(0.3)
        began = time.monotonic()
        command.send_signal(kind)
        command.wait(60)
        assert time.monotonic() - began < 2
    assert (command.returncode, command.communicate()[1]) == (0, b"")
