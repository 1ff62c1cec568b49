"""Who is told what: a real server of Prefect tells a real HTTP server by way of Apprise."""

import datetime as dt
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from deployed import FIRST, Deployed, day_rows, free_ports
from support import CONFIG, Dataset

pytestmark = pytest.mark.slow
SECRET = "a-secret-part-of-the-address"
MONITORING = '[monitoring]\nsilence_hours = 0.01\nnotify = ["$HEXVEIL_TEST_NOTIFY"]\n'


@dataclass
class Channel:
    """An HTTP server that keeps what it is told.

    Attributes:
        told: Title and text of each message.
        types: The type of each message.
        port: Where it listens.
    """

    told: list[tuple[str, str]] = field(default_factory=list)
    types: set[str] = field(default_factory=set)
    port: int = 0

    def wait_for(self, title: str, seconds: float = 180) -> str:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for one, text in list(self.told):
                if one == title:
                    return text
            time.sleep(0.5)
        pytest.fail(f"told only {self.told}")


@pytest.fixture(scope="module")
def channel() -> Iterator[Channel]:
    made = Channel()

    class Told(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            made.told.append((message["title"], message["message"]))
            made.types.add(message["type"])
            self.send_response(200)
            self.end_headers()

        def log_request(self, code: Any = "-", size: Any = "-") -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Told) as server:
        made.port = server.server_port
        Thread(target=server.serve_forever).start()
        yield made
        server.shutdown()


@pytest.fixture(scope="module")
def watched(channel: Channel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    dataset = Dataset(tmp_path_factory.mktemp("dataset"))
    dataset.config_file.write_text(CONFIG.replace("epsilon_total = 5.0", "epsilon_total = 50.0") + MONITORING)
    dataset.write("day.csv", day_rows(FIRST))
    made = Deployed(dataset, tmp_path_factory.mktemp("home"), free_ports())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEXVEIL_TEST_NOTIFY", f"json://127.0.0.1:{channel.port}/{SECRET}")
        made.up()
        yield made
        made.down()


def automations(watched: Deployed) -> list[dict[str, Any]]:
    return [one for one in watched.listed("automations") if "test" in one["name"]]


def test_silence_after_the_deployment_is_told_though_nothing_was_ever_released(
    watched: Deployed, channel: Channel
) -> None:
    assert {one["enabled"] for one in automations(watched)} == {True}
    assert len(automations(watched)) == 5
    assert "daily-test" in channel.wait_for("test: nothing was published in 0.01 hours")


def test_silence_after_a_release_is_told_once_and_not_before_its_time(watched: Deployed, channel: Channel) -> None:
    channel.told.clear()
    run = watched.ended(watched.start("daily", date=FIRST))
    assert run["state"]["type"] == "COMPLETED", run["state"]
    [event] = watched.events("hexveil.released")
    channel.wait_for("test: nothing was published in 0.01 hours")
    silent = dt.datetime.now(dt.UTC) - dt.datetime.fromisoformat(event["occurred"])
    assert silent >= dt.timedelta(hours=0.01)
    assert len(channel.told) == 1


def test_a_failed_verification_is_told_with_the_place(watched: Deployed, channel: Channel) -> None:
    published = watched.dataset.published("statistics.csv", FIRST)
    content = published.read_bytes()
    published.write_bytes(content.replace(b"2026", b"2027"))
    try:
        assert watched.ended(watched.start("verify"))["state"]["type"] == "FAILED"
    finally:
        published.write_bytes(content)
    assert str(published) in channel.wait_for("test: the ledger does not verify")


def test_a_failed_night_is_told_with_its_day_and_cause(watched: Deployed, channel: Channel) -> None:
    without_file = FIRST + dt.timedelta(days=40)
    assert watched.ended(watched.start("daily", date=without_file))["state"]["type"] == "FAILED"
    assert str(without_file) in channel.wait_for(f"test: daily test {without_file} failed")


def test_a_low_budget_and_a_withheld_day_are_told_once(watched: Deployed, channel: Channel) -> None:
    channel.told.clear()
    text = watched.dataset.config_file.read_text()
    watched.dataset.set(epsilon_total=2.0)
    try:
        assert watched.ended(watched.start("daily", date=FIRST, revision="again"))["state"]["type"] == "FAILED"
    finally:
        watched.dataset.config_file.write_text(text)
    assert "pays 0 more days in full, of 2.0 for" in channel.wait_for("test: the budget is low")
    assert "budget.epsilon_total" in channel.wait_for(f"test: nothing of {FIRST} could be published")
    watched.dataset.set(epsilon_total=2.0)
    try:
        watched.ended(watched.start("daily", date=FIRST, revision="again"))
    finally:
        watched.dataset.config_file.write_text(text)
    time.sleep(10)
    titles = [title for title, _ in channel.told if "silent" not in title and "hours" not in title]
    assert titles.count("test: the budget is low") == 1
    assert not any(title.endswith("failed") for title in titles), "a withheld day is told as such"
    assert channel.types == {"warning"}


def test_the_address_is_not_shown_and_a_disabled_notification_stays_disabled(watched: Deployed) -> None:
    [silence] = [one for one in automations(watched) if one["name"] == "hexveil: test is silent"]
    with watched.api as api:
        api.patch(f"/automations/{silence['id']}", json={"enabled": False}).raise_for_status()
    watched.up()
    assert [one["enabled"] for one in automations(watched) if one["id"] == silence["id"]] == [False]
    shown = json.dumps(watched.listed("automations")) + json.dumps(watched.listed("block_documents"))
    assert "slack-webhook" in shown
    assert SECRET not in shown
    stored = [path.read_bytes() for path in watched.home.glob("prefect.db*")]
    assert stored
    assert all(SECRET.encode() not in content for content in stored)


def test_addresses_that_cannot_be_used_are_refused_without_being_quoted(watched: Deployed) -> None:
    text = watched.dataset.config_file.read_text()
    try:
        watched.dataset.edit('"$HEXVEIL_TEST_NOTIFY"', '"$HEXVEIL_NO_SUCH"')
        with pytest.raises(AssertionError, match="names the environment variable HEXVEIL_NO_SUCH; set it"):
            watched.up()
        watched.dataset.edit('"$HEXVEIL_NO_SUCH"', f'"nothing://{SECRET}"')
        with pytest.raises(AssertionError, match="is none that Apprise knows") as refused:
            watched.up()
        assert SECRET not in str(refused.value)
    finally:
        watched.dataset.config_file.write_text(text)


def test_without_addresses_nothing_is_left_of_the_notifications(watched: Deployed) -> None:
    watched.dataset.edit(MONITORING, "")
    watched.up()
    assert automations(watched) == []
    assert watched.listed("block_documents") == []
