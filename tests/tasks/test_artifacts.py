"""The pages and pictures that people read in the scheduler."""

import pytest
from support import Dataset

from flows.verify import verify
from tasks.account import ledger
from tasks.account.ledger import list_entries
from tasks.base import announcing
from tasks.base.errors import HexveilError
from tasks.reporting import artifacts, burndown, pages
from tasks.reporting.budget_report import report_budget


def test_what_is_left_is_counted_under_todays_limit(busy_dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    busy_dataset.set(definition="pure")
    busy_dataset.release()
    entries = list_entries(busy_dataset.config)
    drawn: list[list[float]] = []
    monkeypatch.setattr("matplotlib.figure.Figure.subplots", lambda _figure, **_margins: Axes(drawn))
    for limit, left in (("5.0", [5, 3, 3]), ("3.0", [3, 1, 1]), ("1.0", [1, 0, 0])):
        monkeypatch.setattr(burndown, "_address", lambda _: "")
        busy_dataset.config_file.write_text(
            busy_dataset.config_file.read_text().replace("epsilon_total = 5.0", f"epsilon_total = {limit}")
        )
        burndown.burndown(entries, busy_dataset.config)
        assert drawn.pop() == pytest.approx(left, abs=1e-6)
        busy_dataset.edit(f"epsilon_total = {limit}", "epsilon_total = 5.0")


class Axes:
    """Takes note of the line, and of nothing else."""

    def __init__(self, drawn: list[list[float]]) -> None:
        self.xaxis = self
        self._drawn = drawn

    def step(self, _numbers: range, left: list[float], **_: object) -> None:
        self._drawn.append(left)

    def __getattr__(self, name: str) -> object:
        return lambda *_, **__: None


def test_the_picture_is_a_png_that_needs_no_other_address(busy_dataset: Dataset) -> None:
    assert burndown.burndown([], busy_dataset.config).startswith("data:image/png;base64,iVBOR")


def test_the_budget_page_of_nothing_says_so(busy_dataset: Dataset) -> None:
    busy_dataset.set(definition="pure")
    page = pages.budget_page(
        [], report_budget(ledger.read_entries(busy_dataset.config), busy_dataset.config), "picture", busy_dataset.config
    )
    assert "The budget, epsilon 5.0, **pays 2 more days in full**, at 2.0 a day." in page
    assert "No user has lost anything." in page


@pytest.mark.parametrize(("limit", "low"), [("28.0", False), ("27.9", True)])
def test_the_budget_is_low_when_it_pays_fewer_than_two_weeks(busy_dataset: Dataset, limit: str, low: bool) -> None:
    busy_dataset.set(definition="pure")
    busy_dataset.edit("epsilon_total = 5.0", f"epsilon_total = {limit}")
    assert (
        pages.is_low(report_budget(ledger.read_entries(busy_dataset.config), busy_dataset.config), busy_dataset.config)
        == low
    )


def test_a_low_budget_is_told_once_until_it_pays_more_again(
    busy_dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy_dataset.set(definition="pure")
    busy_dataset.run_day()
    told: list[dict[str, object]] = []
    monkeypatch.setattr(artifacts.scheduler, "in_flow_run", lambda: True)
    monkeypatch.setattr(artifacts, "show_markdown", lambda *_: None)
    monkeypatch.setattr(artifacts, "burndown", lambda *_: "")
    monkeypatch.setattr(announcing, "emit", lambda what, _, **fields: told.append({"event": what, **fields}))
    for total in (100.0, 29.9, 29.9, 29.0, 100.0, 29.9):
        busy_dataset.set(epsilon_total=total)
        artifacts.make_budget_artifact.fn(busy_dataset.config)
    assert [one["event"] for one in told] == ["budget.low"] * 2
    assert (told[0]["type"], told[0]["days_left"]) == ("warning", 13)
    assert told[0]["pays"] == "the budget pays 13 more days in full"


def test_a_scheduled_check_of_a_storage_that_is_not_there_tells_so(
    busy_dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a disk that is not mounted; an empty ledger once held, and nobody was told."""
    told: list[tuple[str, str]] = []
    monkeypatch.setattr(announcing, "emit", lambda what, _, reason: told.append((what, str(reason))))
    busy_dataset.set(path="elsewhere")
    with pytest.raises(HexveilError, match="is not there"):
        verify(busy_dataset.config_file)
    [(what, reason)] = told
    assert what == "verify.failed"
    assert "elsewhere is not there" in reason


def test_text_of_others_is_no_markup() -> None:
    assert pages.text("[x](http://a) ![b](c) <img> `d` |e|\nf") == (
        "\\[x\\]\\(http://a\\) \\!\\[b\\]\\(c\\) \\<img\\> \\`d\\` \\|e\\| f"
    )


def test_artifacts_of_two_datasets_never_share_a_key(busy_dataset: Dataset) -> None:
    keys = set()
    for name in ("bus-a-b", "bus-a_b", "bus_a-b", "bus_a_b"):
        config = busy_dataset.config
        keys.add(
            artifacts.artifact_key(
                "day", config.model_copy(update={"dataset": config.dataset.model_copy(update={"name": name})})
            )
        )
    assert len(keys) == 4
