"""`hexveil record` as an operator meets it: what it refuses at once, and what it shows of a feed that fails."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from feeds import snapshot
from support import Hexveil

from tasks.base import time_zones
from tasks.base.errors import BadInput, HexveilError
from tasks.records.recorder import recorder
from tasks.records.recorder.feed import Feed
from tasks.records.recorder.recorder import record

URL = "http://127.0.0.1:9/feed"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("file:///etc/passwd?key=k3y",), "the feed's address must begin with http:// or https://"),
        (("ftp://example.org/feed?key=k3y",), "the feed's address must begin with http:// or https://"),
        (("http://[x?key=k3y",), "the feed's address must begin with http:// or https:// and name a host"),
        (("http://?key=k3y",), "the feed's address must begin with http:// or https:// and name a host"),
        (("http://h:99999/?key=k3y",), "the feed's address must begin with http:// or https:// and name a host"),
        (("example.org/feed?key=k3y",), "the feed's address must begin with http:// or https://"),
        ((URL, "--header", "Key: k3y-ü"), "--header Key: its value may have printable characters of ASCII alone"),
        ((URL, "--header", "Key: k3y\nHost: evil"), "--header Key: its value may have printable characters"),
        ((URL, "--header", "Schlüssel: k3y"), "--header 'Schl\\xfcssel': the name may have letters, digits"),
        ((URL, "--header", "k3y"), "--header must be NAME: VALUE"),
        ((URL, "--timezone", "mars"), "--timezone mars must be an IANA time zone"),
        ((URL, "--timezone", "Europe/Zuerich"), "did you mean Europe/Zurich?"),
        ((URL, "--timezone", "Factory"), "--timezone Factory must be an IANA time zone"),
    ],
)
def test_what_no_waiting_would_mend_is_refused_at_once(
    hexveil: Hexveil, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    ended = hexveil("record", *options, "--to", tmp_path / "raw")
    assert ended.returncode == 1
    assert said in ended.stderr
    assert "k3y" not in ended.stderr
    assert not (tmp_path / "raw").exists()


@pytest.mark.parametrize("name", ["raw", "raw/of/the/day"])
def test_a_file_in_the_place_of_the_folder_is_named_and_left_alone(hexveil: Hexveil, tmp_path: Path, name: str) -> None:
    (tmp_path / "raw").write_text("mine")
    ended = hexveil("record", URL, "--to", tmp_path / name)
    assert (ended.returncode, (tmp_path / "raw").read_text()) == (1, "mine")
    assert f"--to {tmp_path / name}: {tmp_path / 'raw'} is a file; name a folder" in ended.stderr


def test_a_folder_that_may_not_be_read_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "the text of the system")

    monkeypatch.setattr(recorder, "_last_snapshot", refuse)
    with pytest.raises(HexveilError, match="Permission denied; name a folder that you may read and write"):
        record(Feed(URL, tmp_path / "raw", 1, "UTC"), threading.Event())


def test_a_feed_has_the_time_zones_of_a_dataset(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="did you mean America/Chicago"):
        Feed(URL, tmp_path, 1, "America/Chigaco")
    assert not {"localtime", "Factory", "posixrules"} & time_zones.time_zones()
    assert Feed(URL, tmp_path, 1, "America/Chicago").host == "127.0.0.1"


class _Failing(BaseHTTPRequestHandler):
    """Is down twice, gives a page that is no data, and then a snapshot."""

    n_asked = 0

    def do_GET(self) -> None:
        type(self).n_asked += 1
        content = b"<html>down</html>" if self.n_asked < 4 else snapshot([("bus1", 1768464000, 11)])
        self.send_response(503 if self.n_asked < 3 else 200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002


@pytest.fixture
def failing() -> Iterator[Callable[[], str]]:
    _Failing.n_asked = 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Failing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield lambda: f"http://127.0.0.1:{server.server_port}/feed?key=k3y"
    server.shutdown()
    server.server_close()


def test_failures_and_dropped_snapshots_are_shown_without_being_asked_for(
    failing: Callable[[], str], tmp_path: Path
) -> None:
    words = ["-m", "flows.cli", "record", failing(), "--to", str(tmp_path / "raw"), "--every", "1"]
    command = subprocess.Popen(
        [sys.executable, *words], env=os.environ.copy(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not list(tmp_path.rglob("*.pb")):
        assert command.poll() is None
        time.sleep(0.05)
    command.send_signal(signal.SIGINT)
    said, warned = command.communicate(timeout=60)
    assert (command.returncode, "1 snapshots were written." in said) == (0, True)
    lines = [line.partition(" | ")[2] for line in warned.splitlines()]
    prefix = "WARNING | hexveil.recorder - "
    assert lines == [
        f'{prefix}a snapshot failed feed=127.0.0.1 reason="HTTP 503" n_failures=1 wait_seconds=2',
        f'{prefix}a snapshot failed feed=127.0.0.1 reason="HTTP 503" n_failures=2 wait_seconds=4',
        f'{prefix}a snapshot failed feed=127.0.0.1 reason="the answer is no data: neither JSON with a list of objects, '
        'GTFS-Realtime, Parquet nor CSV" n_failures=3 wait_seconds=8',
        f"{prefix}the feed answers again feed=127.0.0.1 n_failures=3",
    ]


def test_a_disk_that_is_full_for_a_while_does_not_end_the_recording(
    failing: Callable[[], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    _Failing.n_asked, stop = 10, threading.Event()
    whole, tried = recorder.write_whole, []

    def full_at_first(path: Path, content: bytes) -> None:
        tried.append(path)
        if len(tried) < 3:
            raise OSError(28, "the text of the system")
        whole(path, content)
        stop.set()

    monkeypatch.setattr(recorder, "write_whole", full_at_first)
    assert record(Feed(failing(), tmp_path / "raw", 0.01, "UTC"), stop) == 1
    assert "the snapshot cannot be written: No space left on device" in caplog.text
    assert "n_failures=2" in caplog.text
