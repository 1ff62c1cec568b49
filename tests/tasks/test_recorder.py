"""A feed is recorded from a real HTTP server on this machine, which answers well and badly."""

import datetime as dt
import gzip
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest
from feeds import snapshot

from tasks.base.errors import HexveilError
from tasks.records.input_formats.archives import PACK
from tasks.records.recorder import recorder
from tasks.records.recorder.feed import Feed, filled_in
from tasks.records.recorder.recorder import LONGEST_WAIT, record, wait_after

SECOND = 1768464000
FIRST, SECOND_ONE = (snapshot([("bus1", SECOND + one, 11)]) for one in (0, 30))
KEY = "k3y-7Q"


@dataclass
class Answer:
    status: int = 200
    content: bytes = FIRST
    headers: dict[str, str] = field(default_factory=dict)
    length: int | None = None


@dataclass
class Server:
    """Gives its answers one after the other, then sets ``done`` and repeats the last one."""

    answers: list[Answer]
    asked: list[dict[str, str]] = field(default_factory=list)
    done: threading.Event = field(default_factory=threading.Event)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/feed?key={KEY}"


Serve = Callable[[list[Answer]], Server]


def at(time_of_day: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the recorder's clock."""
    late = dt.datetime.now(dt.UTC) - dt.datetime.fromisoformat(time_of_day)
    clock = SimpleNamespace(now=lambda zone: dt.datetime.now(zone) - late)
    monkeypatch.setattr(recorder, "dt", SimpleNamespace(datetime=clock, UTC=dt.UTC))


@pytest.fixture(autouse=True)
def _noon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test begins at noon: when an hour ends, its snapshots are packed, and one test is of that."""
    at("2026-01-15T12:00:00+00:00", monkeypatch)


@pytest.fixture
def serve() -> Iterator[Serve]:
    running: list[ThreadingHTTPServer] = []

    def start(answers: list[Answer]) -> Server:
        server = Server(answers)
        running.append(ThreadingHTTPServer(("127.0.0.1", 0), handler_of(server)))
        server.port = running[-1].server_port
        threading.Thread(target=running[-1].serve_forever, daemon=True).start()
        return server

    yield start
    for http in running:
        http.shutdown()
        http.server_close()


def handler_of(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            number = len(server.asked)
            server.asked.append({name.lower(): value for name, value in self.headers.items()})
            answer = server.answers[min(number, len(server.answers) - 1)]
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(answer.length or len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)
            self.close_connection = answer.length is not None
            if number + 1 >= len(server.answers):
                server.done.set()

        def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002

    return Handler


def run(server: Server, folder: Path, timezone: str = "UTC", **headers: str) -> int:
    """Record until the server has given all its answers, and one answer more."""
    counts: list[int] = []
    stop = threading.Event()
    feed = Feed(server.url, folder, 0.01, timezone, headers)
    recording = threading.Thread(target=lambda: counts.append(record(feed, stop)))
    recording.start()
    assert server.done.wait(30)
    n_asked = len(server.asked)
    while len(server.asked) <= n_asked:
        time.sleep(0.005)
    stop.set()
    recording.join(30)
    return counts[0]


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_each_new_snapshot_is_written_once(serve: Serve, tmp_path: Path) -> None:
    server = serve([Answer(), Answer(), Answer(content=SECOND_ONE), Answer(content=SECOND_ONE), Answer()])
    assert run(server, tmp_path / "raw") == 3
    written = files(tmp_path / "raw")
    assert [path.read_bytes() for path in written] == [FIRST, SECOND_ONE, FIRST]
    assert all(path.suffix == ".pb" and path.stat().st_mode & 0o777 == 0o600 for path in written)


def test_nor_is_it_written_again_after_a_restart(serve: Serve, tmp_path: Path) -> None:
    assert run(serve([Answer()]), tmp_path) == 1
    assert run(serve([Answer(), Answer(content=SECOND_ONE)]), tmp_path) == 1
    assert [path.read_bytes() for path in files(tmp_path)] == [FIRST, SECOND_ONE]


def test_when_an_hour_ends_its_snapshots_are_packed_and_the_newest_is_still_known(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for time_of_day, content, n_written in (("11:59", FIRST, 1), ("12:00", SECOND_ONE, 1), ("13:00", SECOND_ONE, 0)):
        at(f"2026-01-15T{time_of_day}:00+00:00", monkeypatch)
        assert run(serve([Answer(content=content)]), tmp_path) == n_written
    archive, newest = files(tmp_path)
    assert (archive.name, newest.read_bytes()) == (f"2026-01-15T11.pb{PACK}", SECOND_ONE)


def test_a_server_that_knows_versions_is_asked_for_newer_ones_only(serve: Serve, tmp_path: Path) -> None:
    server = serve([Answer(headers={"ETag": '"7"'}), Answer(304, b""), Answer(304, b"")])
    assert run(server, tmp_path, accept="application/x-protobuf") == 1
    assert "if-none-match" not in server.asked[0]
    assert [asked["if-none-match"] for asked in server.asked[1:]] == ['"7"'] * (len(server.asked) - 1)
    assert {asked["accept"] for asked in server.asked} == {"application/x-protobuf"}


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    "bad",
    [
        Answer(503, b"down"),
        Answer(429, b"", {"Retry-After": "0"}),
        Answer(content=b"<html>down for maintenance</html>"),
        Answer(content=b"Service unavailable\n"),
        Answer(content=b'{"result": "false", "error": "limit"}'),
        Answer(content=b'{"error":"quota","details":[]}'),
        Answer(content=b'{"results":null}'),
        Answer(content=b"Error: too many requests, wait, please, thanks, bye\n"),
        Answer(content=b""),
        Answer(content=FIRST[:-4], length=len(FIRST)),
        Answer(content=FIRST, headers={"Content-Encoding": "gzip"}),
    ],
)
def test_a_bad_answer_is_not_written_and_the_next_good_one_is(
    serve: Serve, tmp_path: Path, bad: Answer, caplog: pytest.LogCaptureFixture
) -> None:
    assert run(serve([bad, bad, Answer()]), tmp_path) == 1
    assert [path.read_bytes() for path in files(tmp_path)] == [FIRST]
    assert "a snapshot failed feed=127.0.0.1" in caplog.text
    assert "n_failures=2 wait_seconds=0" in caplog.text
    assert "the feed answers again feed=127.0.0.1 n_failures=2" in caplog.text
    assert KEY not in caplog.text


def test_a_key_that_is_refused_at_once_ends_the_command(serve: Serve, tmp_path: Path) -> None:
    server = serve([Answer(403, b"who are you?")])
    with pytest.raises(HexveilError, match=r"^127\.0\.0\.1 refuses the request: HTTP 403$"):
        record(Feed(server.url, tmp_path, 0.01, "UTC"), threading.Event())
    assert len(server.asked) == 1


def test_a_redirection_is_not_followed_because_the_key_would_go_with_it(serve: Serve, tmp_path: Path) -> None:
    server = serve([Answer(302, b"", {"Location": "http://127.0.0.1:9/"})])
    with pytest.raises(HexveilError, match="HTTP 302, it redirects; give the address that it redirects to"):
        record(Feed(server.url, tmp_path, 0.01, "UTC"), threading.Event())


def test_an_answer_without_end_is_given_up(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(recorder, "_LARGEST", len(FIRST) + 10)
    assert run(serve([Answer(content=FIRST * 3), Answer()]), tmp_path) == 1
    assert "the answer is larger than 256 MiB" in caplog.text


def test_a_server_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    stop, counts = threading.Event(), list[int]()
    nobody = Feed("http://127.0.0.1:9/feed", tmp_path, 0.01, "UTC")
    recording = threading.Thread(target=lambda: counts.append(record(nobody, stop)))
    recording.start()
    time.sleep(0.1)
    stop.set()
    recording.join(30)
    assert counts == [0]


def test_waits_double_to_a_quarter_of_an_hour_or_to_what_the_feed_asks() -> None:
    assert [wait_after(30, n, 0) for n in (0, 1, 2, 5, 50)] == [30, 60, 120, LONGEST_WAIT, LONGEST_WAIT]
    assert wait_after(30, 1, 1000) == 1000
    assert wait_after(3600, 3, 0) == 3600


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("content", "ending"),
    [
        (json.dumps({"result": [{"a": 1}]}).encode(), ".json"),
        (gzip.compress(json.dumps([{"a": 1}]).encode(), mtime=0), ".json.gz"),
        (b'{"a": 1}\n{"a": 2}\n', ".ndjson"),
        (b"bus,time,lat,lon,speed\na,1,2,3,4\n", ".csv"),
    ],
)
def test_the_end_of_the_name_says_the_format(serve: Serve, tmp_path: Path, content: bytes, ending: str) -> None:
    assert run(serve([Answer(content=content)]), tmp_path, "Pacific/Kiritimati") == 1
    (path,) = files(tmp_path)
    assert path.name.endswith(f"Z{ending}")
    assert path.read_bytes() == content


def test_secrets_come_from_the_environment() -> None:
    assert filled_in("https://host/?key=${KEY}&cost=$$5", {"KEY": "x"}) == "https://host/?key=x&cost=$5"
    with pytest.raises(HexveilError, match="the environment variable KEY is not set"):
        filled_in("https://host/?key=${KEY}", {})
    with pytest.raises(HexveilError, match=r"a \$ in the address"):
        filled_in("https://host/?a=$", {})


@pytest.mark.quick(1)
@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT])
def test_the_command_ends_cleanly_at_a_signal_and_its_files_are_read(
    serve: Serve, tmp_path: Path, kind: signal.Signals
) -> None:
    server = serve([Answer(), Answer(content=SECOND_ONE)])
    words = [
        sys.executable,
        "-m",
        "flows.cli",
        "record",
        server.url.replace(KEY, "${KEY}"),
        "--to",
        str(tmp_path / "raw"),
    ]
    command = subprocess.Popen(
        [*words, "--every", "1"], env={**os.environ, "KEY": KEY}, stdout=subprocess.PIPE, text=True
    )
    assert server.done.wait(60)
    while len(files(tmp_path)) < 2:
        time.sleep(0.01)
    command.send_signal(kind)
    said = command.communicate(timeout=60)[0]
    assert command.returncode == 0
    assert "Recording 127.0.0.1 every 1 s" in said
    assert "2 snapshots were written." in said
    assert KEY not in said
    assert all(path.name[0] != "." for path in files(tmp_path))


@pytest.mark.parametrize("value", ["9" * 5_000, "[" * 20_000 + "]" * 20_000, '"' + "x,y\\n" * 40 + '"', '"a;b,c"'])
def test_no_value_decides_whether_a_snapshot_is_kept(value: str) -> None:
    """The reader keeps such records, so the recorder keeps the snapshot with everybody's records."""
    record = '{"bus": "a", "speed": VALUE}'.replace("VALUE", value)
    assert recorder._ending(f"[{record}, {record}]".encode(), set()) == ".json"
    assert recorder._ending(f"{record}\n{record}\n".encode(), set()) == ".ndjson"
    rows = "\n".join(f"a;1;2;3;{value}" for _ in range(40))
    assert recorder._ending(f"bus;time;lat;lon;speed\n{rows}\n".encode(), set()) == ".csv"


@pytest.mark.parametrize("page", [b'{"error": "down"}', b'[{"a": 1}', b'{"a": [1}', b"<html>", b"down\n", b'{"a": ["}'])
def test_what_is_not_whole_or_has_no_list_is_no_snapshot(page: bytes) -> None:
    with pytest.raises(recorder._Failed):
        recorder._ending(page, set())


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("full", "empty", "other"),
    [
        (b'{"at": 1, "result": [{"a": 1}]}', b'{"at": 2, "result": []}', b'{"error": "quota", "details": []}'),
        (b'{"d": {"v": [{"a": [1]}]}, "v": []}', b'{"d": {"v": []}, "v": []}', b'{"v": []}'),
        (b'[{"a": []}]', b"[ ]", b'{"a": []}'),
        (b"bus,time,lat,lon\na,1,2,3\n", b"bus,time,lat,lon\n", b"Wait, please, thanks, bye\n"),
    ],
)
def test_a_snapshot_may_be_empty_where_earlier_ones_had_records(
    serve: Serve, tmp_path: Path, full: bytes, empty: bytes, other: bytes
) -> None:
    def answers(*contents: bytes) -> list[Answer]:
        return [Answer(content=content) for content in contents]

    assert run(serve(answers(empty, full, other, empty, full)), tmp_path) == 3
    assert [path.read_bytes() for path in files(tmp_path)] == [full, empty, full]
    assert run(serve(answers(other, empty, other, full)), tmp_path) == 2  # also after a new start
