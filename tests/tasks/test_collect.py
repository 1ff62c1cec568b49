"""A collection from open to published means: what is used, what is refused, and the same bytes whenever it is run."""

import datetime as dt
import gzip
import json
import re
import shutil
from contextlib import closing, nullcontext
from fractions import Fraction
from pathlib import Path

import duckdb
import polars as pl
import pytest
from collected import DATE, N_DEVICES, Collected
from support import Dataset
from typer.testing import CliRunner

from dpmath.local.collector import estimated, localised
from dpmath.local.device import round_of
from flows import collect_cli
from flows.cli import app
from tasks.account.chain import problem_of
from tasks.base import warehouse
from tasks.base.errors import BadConfig, BadInput, HexveilError, LedgerBroken, NothingToPublish, SchemaBroken
from tasks.base.schemas import check
from tasks.collect.config import load_collection
from tasks.collect.known import plan_collection
from tasks.collect.reports import _contract
from tasks.collect.rounds import estimate, localise, open_period
from tasks.collect.simulated import simulated_ticks
from tasks.collect.verify import verify_collection
from tasks.device.parameters import read_parameters
from tasks.device.report import drawn_report
from tasks.device.rules import is_label
from tasks.records.input_formats.text_lines import LONGEST_RECORD

ROOT = Path(__file__).parents[2]


@pytest.fixture
def collected(tmp_path: Path) -> Collected:
    return Collected(tmp_path)


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a collection whose devices answered both rounds: to be copied."""
    folder = tmp_path_factory.mktemp("answered")
    for number in (1, 2):
        Collected(folder).report(number)
    return folder


def test_the_published_means_are_those_of_the_reports(collected: Collected) -> None:
    rows = collected.whole()
    ballots, estimates = (
        [json.loads(line) for line in (collected.reports / f"round-{number}.jsonl").read_text().splitlines()]
        for number in (1, 2)
    )
    asked, config = collected.asked(2), collected.config
    assert asked.protocol.n_bins > 3
    assert [row["area"] for row in rows] == ["north", "south"]
    for row in rows:
        cast = [one["ballot"] for one in ballots if one["area"] == row["area"]]
        said = [one["estimate"] for one in estimates if one["area"] == row["area"]]
        n_votes = [sum(ballot[number] == "1" for ballot in cast) for number in range(asked.protocol.n_bins)]
        number = localised(n_votes, asked.protocol)
        assert asked.bins[row["area"]] == number
        sums = len(said), sum(said), sum(one**2 for one in said)
        known = config.crowd(asked.protocol)
        found = estimated(sums, number, asked.protocol, known, (n_votes, len(cast)))
        assert float(row["mean"]) == pytest.approx(found.mean / 10, abs=1e-6)
        assert float(row["mean_ci95_low"]) == pytest.approx(found.low / 10, abs=1e-6)
        assert float(row["mean_ci95_high"]) == pytest.approx(found.high / 10, abs=1e-6)
        assert (int(row["n_round_1"]), int(row["n_round_2"])) == (len(cast), len(said))
    assert len(ballots) + len(estimates) == N_DEVICES


@pytest.mark.statistical
def test_the_means_are_those_of_the_devices_up_to_noise(collected: Collected) -> None:
    """7 standard deviations and the slack of clipping: a false alarm once in 1e10 runs."""
    rows = collected.whole()
    asked, config = collected.asked(2), collected.config
    for at, row in enumerate(rows):
        data = [simulated_ticks(f"device-{i:06}", at, asked, config) for i in range(at, N_DEVICES, 2)]
        size = asked.protocol.effective_size
        weights = [min(len(one) / size, 1) ** 0.5 for one in data]
        pairs = zip(weights, data, strict=True)
        truth = sum(w * sum(one) / len(one) for w, one in pairs if one) / sum(weights) / 10
        slack = max(float(row["mean_ci95_high"]) - float(row["mean"]), float(row["mean"]) - float(row["mean_ci95_low"]))
        assert abs(float(row["mean"]) - truth) < 5 * float(row["mean_sd"]) + slack


def test_late_and_repeated_runs_give_the_same_bytes_and_one_line_each(collected: Collected) -> None:
    collected.whole()
    before = collected.published()
    first, late = collected.reports / "round-1.jsonl", collected.reports / "later.jsonl"
    late.write_text(first.read_text().replace("device-", "another-"))
    for path in (collected.config.storage_path / "published").rglob("*.*"):
        path.unlink()
    for step in (estimate, localise, open_period, estimate):
        step.fn(DATE, collected.config)
    assert collected.published() == before
    entries = collected.entries()
    assert [one["kind"].partition("-")[2] for one in entries] == ["opened", "localised", "estimated"]
    assert all(one["guarantee"]["epsilon_per_period"] == "4" for one in entries)


def test_the_order_of_lines_and_files_does_not_matter(collected: Collected, tmp_path: Path) -> None:
    collected.report(1)
    here, folder = collected.config.storage_path, tmp_path / "other"
    shutil.copytree(here, folder / "store")
    other = Collected(folder)
    whole = (collected.reports / "round-1.jsonl").read_text().splitlines()
    other.add(*reversed(whole[:200]), name="b.jsonl")
    other.add(*whole[200:], name="a.jsonl")
    assert localise.fn(DATE, other.config).joinpath("round-2.json").read_bytes() == (
        localise.fn(DATE, collected.config).joinpath("round-2.json").read_bytes()
    )


def refused(collected: Collected, number: int, *lines: object) -> dict[str, int]:
    """Let the devices answer a round, add lines of a stranger, and return how many lines were not used, by reason."""
    honest = collected.report(number)
    collected.add(*lines)
    (localise if number == 1 else estimate).fn(DATE, collected.config)
    rows = collected.entries()[-1]["rows"]
    return {reason: n for reason, n in rows.items() if reason != "used"} | {"more used": rows["used"] - len(honest)}


def of_a_stranger(collected: Collected, number: int, at: int = 0) -> dict[str, object]:
    """Return a good report of a device that reports nothing else."""
    honest, key = collected.report(number)[0], collected.asked(number).key
    names = [name for name in map("x{}".format, range(99)) if round_of(key, name) == number]
    return {**honest, "area": "north", "device": names[at]}


def test_lines_that_are_no_reports_are_refused_and_empty_ones_are_none(collected: Collected) -> None:
    good = of_a_stranger(collected, 1)
    nameless = {key: value for key, value in good.items() if key != "device"}
    lines = ["no json", "[1]", nameless, {**good, "device": 7}, {**good, "device": "x" * 65}, {**good, "ballot": 1}, ""]
    assert refused(collected, 1, *lines) == {"malformed": 6, "more used": 0}


NAMES = ["x", "a b", " x", "\u00e9", "e\u0301", "\U0001f600", "\u5317", *("x" * n for n in (60, 61))]
NAMES += ["\U0001f600" * 60, "\u5317" * 61, "\x00", "a\x00b", "a\nb", "x\n", "a\rb", "\t", "\x1b[2J", "\x7f", "\x85"]
NAMES += ["\xa0", "\u3000", "\u2028", "\u2029", "\u202e", "\u200e", "\u200b", "\ufeff", "\xad", "\ue000", "\U0010fffd"]


def test_a_name_that_no_device_takes_is_refused_and_any_that_one_takes_is_used(collected: Collected) -> None:
    """Each name gets a number of four digits before it, so that its device answers round 1."""
    good, key = of_a_stranger(collected, 1), collected.asked(1).key
    in_half = [next(one for one in (f"{n:04}{name}" for n in range(999)) if round_of(key, one) == 1) for name in NAMES]
    taken = [is_label(name) for name in in_half]
    assert 8 < sum(taken) < len(NAMES) - 8
    counts = refused(collected, 1, *({**good, "device": name} for name in in_half))
    assert counts == {"malformed": taken.count(False), "more used": taken.count(True)}
    with closing(duckdb.connect(str(collected.config.storage_path / "private" / "reports.duckdb"))) as reports:
        used = {name for (name,) in reports.execute("select device from device_report").fetchall()}
    assert {name for name in in_half if name in used} == {name for name in in_half if is_label(name)}


def test_the_contract_of_used_reports_refuses_names_that_no_device_takes(collected: Collected) -> None:
    asked = collected.asked(1)
    row = {"area": "north", "ballot": "0" * asked.protocol.n_bins, "estimate": None}
    for name, is_kept in (
        ("x" * 64, True),
        ("\u5317 \U0001f600", True),
        ("x" * 65, False),
        ("", False),
        ("a\nb", False),
    ):
        frame = pl.DataFrame([{**row, "device": name}], schema_overrides={"estimate": pl.Int64})
        with nullcontext() if is_kept else pytest.raises(SchemaBroken):
            check(frame, _contract(asked), "device_report")


def test_reports_for_something_else_are_refused_and_those_of_the_other_round_are_left_for_it(
    collected: Collected,
) -> None:
    good = of_a_stranger(collected, 1)
    others = [{"collection": "another"}, {"period": "2026-03-03"}, {"round": 3}, {"area": "west"}]
    of_round_2 = {**good, "round": 2, "estimate": 5}
    found = refused(collected, 1, *({**good, **other} for other in others), of_round_2)
    assert found == {"other_collection": 1, "other_round": 2, "unknown_area": 1, "more used": 0}


def test_a_device_of_the_other_half_is_refused(collected: Collected) -> None:
    good, key = of_a_stranger(collected, 1), collected.asked(1).key
    other_half = next(name for name in map("x{}".format, range(99)) if round_of(key, name) == 2)
    assert refused(collected, 1, {**good, "device": other_half}) == {"other_half": 1, "more used": 0}


def test_ballots_that_no_honest_device_sends_are_refused(collected: Collected) -> None:
    good, n = of_a_stranger(collected, 1), collected.asked(1).protocol.n_bins
    lines = [{**good, "ballot": "0" * (n + 1)}, {**good, "ballot": "2" * n}, {**good, "ballot": ""}]
    assert refused(collected, 1, *lines) == {"outside_domain": 3, "more used": 0}


def test_of_two_reports_of_a_device_the_first_is_used(collected: Collected) -> None:
    good, honest = of_a_stranger(collected, 1), collected.report(1)
    other = {**good, "ballot": "1" * collected.asked(1).protocol.n_bins}
    assert refused(collected, 1, good, other, honest[0]) == {"repeated": 2, "more used": 1}


def test_estimates_that_no_honest_device_sends_are_refused(collected: Collected) -> None:
    collected.report(1)
    asked = collected.asked(2)
    least, largest = asked.protocol.domain(asked.bins["north"] or 0)
    said = [least - 1, largest + 1, least, largest, 1.5, "3", 10**30, True]
    lines = [{**of_a_stranger(collected, 2, at), "estimate": one} for at, one in enumerate(said)]
    assert refused(collected, 2, *lines) == {"outside_domain": 2, "malformed": 4, "more used": 2}


def test_a_line_that_is_no_text_or_too_long_is_refused_and_the_others_are_used(collected: Collected) -> None:
    honest = collected.report(1)
    longest = b" " * (LONGEST_RECORD - 40)
    lines = [
        b"\xff\xfe",
        b'{"device": "\xc3\x28"}',
        b"\x00",
        b'{"device": "' + b"x" * (3 << 20) + b'"}',
        b"x" * (LONGEST_RECORD + 1),
        json.dumps(honest[0]).encode() + b" " * (1 << 17),
        json.dumps({**honest[0], "padding": longest.decode()})[:-2].strip().encode(),
        b"\r",
        b"\t \v",
        b"x" * (1 << 21),
    ]
    (collected.reports / "a.jsonl").write_bytes(b"\n".join(lines))
    localise.fn(DATE, collected.config)
    counted = {"used": len(honest), "not_utf8": 2, "too_long": 4, "malformed": 3}
    assert collected.entries()[-1]["rows"] == counted
    with closing(duckdb.connect(str(collected.config.storage_path / "private" / "reports.duckdb"))) as reports:
        found = reports.execute("select line_number, reason from refused_report order by 1").fetchall()
    assert [number for number, reason in found if reason == "too_long"] == [4, 5, 6, 10]


def test_an_area_with_few_reports_is_left_out_and_a_period_without_enough_can_be_run_again(
    collected: Collected,
) -> None:
    asked = collected.asked(1)
    with pytest.raises(BadInput, match="no file of reports"):
        localise.fn(DATE, collected.config)
    collected.add("")
    with pytest.raises(NothingToPublish, match="50 ballots"):
        localise.fn(DATE, collected.config)
    assert len(collected.entries()) == 1
    collected.report(1)
    assert sorted(collected.asked(2).bins) == ["north", "south"]
    assert sorted(asked.bins) == ["empty", "north", "south"]


@pytest.mark.parametrize("period", ["day", "week"])
def test_a_period_that_has_not_begun_is_not_opened(collected: Collected, period: str) -> None:
    """Its key would be public before new devices take their names, and no device would answer."""
    collected.change("alpha = 4", f'alpha = 4\nperiod = "{period}"')
    today = dt.datetime.now(dt.UTC).date()
    with pytest.raises(BadInput, match="has not begun, so no device answers it"):
        open_period.fn(today + dt.timedelta(days=9), collected.config)
    assert not (collected.config.storage_path / "ledger.jsonl").exists()
    assert (open_period.fn(today, collected.config) / "round-1.json").exists()


def test_the_steps_need_those_before_them(collected: Collected) -> None:
    for step, needed in ((localise, "collect open"), (estimate, "collect localise")):
        with pytest.raises(HexveilError, match=needed):
            step.fn(DATE, collected.config)


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("alpha = 4", "alpha = 1"),
        ("upper = 100", "upper = 400"),
        ("tick = 0.1", "tick = 0.5"),
        ("least_devices = 50", "least_devices = 500"),
        ('"north", "south", "empty"', '"north", "west"'),
        ("[0, 400, 1000]", "[0, 4, 1000]"),
        ('"km/h"', '"m/s"'),
    ],
)
def test_a_period_keeps_the_settings_that_it_was_opened_with(
    answered: Path, tmp_path: Path, before: str, after: str
) -> None:
    folders = [shutil.copytree(answered, tmp_path / name) for name in ("as it was", "changed")]
    collected, changed = (Collected(folder, anew=False) for folder in folders)
    changed.change(before, after)
    shutil.rmtree(folders[1] / "store" / "published")
    for step in (estimate, localise, open_period):
        for one in (collected, changed):
            step.fn(DATE, one.config)
    assert changed.published() == collected.published()
    assert changed.entries()[-1]["settings"] == collected.entries()[-1]["settings"]
    asked = read_parameters(open_period.fn(DATE + dt.timedelta(days=1), changed.config) / "round-1.json")
    verify_collection(changed.config)
    assert changed.entries()[-1]["settings"] == changed.config.public_settings(), "what changed holds from the next on"
    assert asked.period == "2026-03-03"


def test_a_round_is_localised_with_the_settings_that_it_was_opened_with(collected: Collected) -> None:
    asked = collected.asked(1)
    collected.report(1)
    collected.change("alpha = 4", "alpha = 1")
    collected.change("least_devices = 50", "least_devices = 5000")
    assert collected.asked(2).protocol == asked.protocol


def test_a_storage_is_of_one_collection_or_of_one_dataset(
    collected: Collected, dataset: Dataset, tmp_path: Path
) -> None:
    collected.change('path = "store"', 'path = "phones"')
    collected.asked(1)
    path = str(dataset.config.storage_path)
    collected.change('path = "phones"', f'path = "{path}"')
    with warehouse.connect(dataset.config):
        pass
    ledger = Path(path, "ledger.jsonl").read_bytes()
    with pytest.raises(HexveilError, match="holds the dataset test, not the collection phones"):
        open_period.fn(DATE, collected.config)
    collected.change('name = "phones"', 'name = "test"')
    with pytest.raises(HexveilError, match="holds the dataset test, not the collection test"):
        open_period.fn(DATE, collected.config)
    assert Path(path, "ledger.jsonl").read_bytes() == ledger
    collected.change(f'path = "{path}"', f'path = "{tmp_path / "phones"}"')
    with pytest.raises(HexveilError, match="holds the collection phones, not the collection test"):
        open_period.fn(DATE, collected.config)


def test_a_dataset_does_not_enter_the_storage_of_a_collection(collected: Collected, dataset: Dataset) -> None:
    collected.change('path = "store"', f'path = "{dataset.config.storage_path}"')
    collected.change('name = "phones"', 'name = "test"')
    open_period.fn(DATE, collected.config)
    before = collected.entries()
    with pytest.raises(HexveilError, match="holds the collection test, not the dataset test"):
        dataset.run_day()
    assert collected.entries() == before


@pytest.mark.parametrize("n_left", [0, 1])
def test_a_step_refuses_a_ledger_that_lost_the_entry_of_what_is_published(collected: Collected, n_left: int) -> None:
    collected.asked(1)
    collected.report(1)
    localise.fn(DATE, collected.config)
    published, path = collected.published(), collected.config.storage_path / "ledger.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:n_left]))
    with pytest.raises(LedgerBroken, match="it was cut, or is an older copy"):
        (localise if n_left else open_period).fn(DATE, collected.config)
    assert collected.published() == published
    assert len(collected.entries()) == n_left


def test_a_line_that_was_cut_short_is_removed_and_a_changed_one_is_found(collected: Collected) -> None:
    collected.report(1)
    ledger = collected.config.storage_path / "ledger.jsonl"
    whole = ledger.read_bytes()
    ledger.write_bytes(whole + b'{"kind":"collec')
    localise.fn(DATE, collected.config)
    lines = ledger.read_bytes().split(b"\n")
    assert lines[0] + b"\n" == whole
    assert problem_of(lines[1], 2, collected.entries()[0]["hash"]) is None
    ledger.write_bytes(ledger.read_bytes().replace(b'"2026-03-02"', b'"2026-03-01"', 1))
    with pytest.raises(LedgerBroken, match="line 1 was changed"):
        estimate.fn(DATE, collected.config)


def test_a_week_is_one_period(collected: Collected) -> None:
    collected.change("alpha = 4", 'alpha = 4\nperiod = "week"')
    folders = {open_period.fn(dt.date(2026, 3, day), collected.config) for day in (2, 5, 8)}
    assert [one.name for one in folders] == ["period=2026-W10"]
    assert collected.config.first_day("2026-W10") == dt.date(2026, 3, 2)
    collected.change("[storage]", '[monitoring]\nnotify = ["json://x"]\n[storage]')
    with pytest.raises(BadConfig, match="above 168"):
        _ = collected.config


@pytest.mark.parametrize(("period", "before"), [("day", dt.date(2026, 3, 8)), ("week", dt.date(2026, 3, 2))])
def test_a_schedule_is_for_the_last_period_that_is_over(collected: Collected, period: str, before: dt.date) -> None:
    collected.change("alpha = 4", f'alpha = 4\nperiod = "{period}"')
    config = collected.config
    monday, sunday = dt.date(2026, 3, 9), dt.date(2026, 3, 15)
    assert config.first_day(config.period_of(config.last_over(monday))) == before
    same = config.period_of(config.last_over(sunday)) == config.period_of(config.last_over(monday))
    assert same == (period == "week"), "all three steps of a week are for the same one"
    assert len(config.periods(dt.date(2026, 3, 1), sunday)) == (15 if period == "day" else 3)


def test_the_plan_says_the_error_before_and_it_falls_with_more_devices(collected: Collected) -> None:
    rows = plan_collection(collected.config)
    errors = [row["expected_error"] for row in rows]
    assert errors == sorted(errors, reverse=True)
    assert all(row["error_with_a_trusted_curator"] < row["expected_error"] for row in rows)
    assert collected.config.protocol.alpha == Fraction(4)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("{period}", "x", "must contain {period}"),
        ('"south"', '"north"', "different names"),
        ('"south"', '"86489e347ffffff"', "must all be H3 cells, if one is: north"),
        ('"north", "south", "empty"', '"86489e347ffffff", "86489e347fffffe"', "86489e347fffffe is none"),
        ('"north", "south", "empty"', '"86489E347FFFFFF"', "86489E347FFFFFF is none"),
        ('"north", "south", "empty"', '"86489e347ffffff", "85489e37fffffff"', "of one resolution"),
        ("alpha = 4", 'alpha = 4\ntimezone = "Europe/Zurig"', "did you mean Europe/Zurich"),
        ("[0, 400, 1000]", "[0, 400]", "equally many"),
        ("[0, 400, 1000]", "[400, 0, 1000]", "ascending"),
        ("0.6]", "0.5]", "add up to 1"),
        ("tick = 0.1", "tick = 0.1\nfactor = 2", "value.factor"),
        ("tick = 0.1", "tick = 0.1\nscreen = true", "value.factor, missing, change and screen"),
        ("[storage]", "[monitoring]\nbudget_low_days = 3\n[storage]", "each device keeps its own"),
        ("least_devices", "at_least", "unknown key collection.at_least"),
        ("alpha = 4", "alpha = 0", "collection.alpha"),
        ("alpha = 4", "alpha = 1e-300", "in fewer digits"),
        ("alpha = 4", "alpha = 1e-11", "alpha is too small"),
        ("alpha = 4", "alpha = 101", "less than or equal to 100"),
        ("alpha = 4", "alpha = 1e300", "less than or equal to 100"),
        ("alpha = 4", "alpha = 0.1234567890123456789", "alpha must be written in fewer digits"),
        ("[0.1, 0.3, 0.6]", "[1, 0, 0]", "all have none"),
        ("[0, 400, 1000]", f"[0, 400, {2**64}]", "counts must be at most"),
        ("[0, 400, 1000]", f"[0, 400, {10**30}]", "counts must be at most"),
        ("expected_devices = 100000", f"expected_devices = {10**400}", "expected_devices"),
        ("least_devices = 50", f"least_devices = {2**64}", "least_devices"),
        ("tick = 0.1", "tick = 1000", "must divide"),
        ("tick = 0.1", "tick = 0.3", "must divide"),
        ("tick = 0.1", "tick = 1e-20", "at most 1048576 ticks"),
        ("upper = 100", "upper = 1e17", "at most 1048576 ticks"),
        ("lower = 0\nupper = 100", "lower = 1e17\nupper = 100000000000000100", "value.lower must be written"),
        ('"south"', '"so\\u200buth"', "printable"),
    ],
)
def test_settings_that_cannot_be_are_refused(collected: Collected, before: str, after: str, message: str) -> None:
    collected.change(before, after)
    with pytest.raises(BadConfig, match=message):
        _ = collected.config


def test_more_bins_than_a_report_has_room_for_are_refused(collected: Collected) -> None:
    collected.change("tick = 0.1", "tick = 0.0001")
    collected.change("[0, 400, 1000]", "[0, 4, 1000000000000]")
    with pytest.raises(BadConfig, match="bins are too many for a report: at most 32,768"):
        _ = collected.config


def test_a_device_can_use_what_any_configuration_that_is_accepted_gives(collected: Collected) -> None:
    """The numbers at the edge of what is allowed: the device reads them and answers, with and without values."""
    collected.change("lower = 0\nupper = 100\ntick = 0.1", "lower = -0.05\nupper = 99999.95\ntick = 0.1")
    collected.change("alpha = 4", "alpha = 1e-7")
    collected.change("[0, 400, 1000]", "[0, 400, 1000000000000]")
    asked = collected.asked(1)
    for ticks in ([], [0, asked.protocol.value_range]):
        assert len(drawn_report(asked, "north", "d", ticks)["ballot"]) == asked.protocol.n_bins


@pytest.mark.parametrize("date", [dt.date.min, dt.date(1, 1, 8), dt.date.max])
def test_a_week_of_any_year_has_a_name_that_can_be_read(collected: Collected, date: dt.date) -> None:
    collected.change("alpha = 4", 'alpha = 4\nperiod = "week"')
    config = collected.config
    first = config.first_day(config.period_of(date))
    assert first.isocalendar()[:2] == date.isocalendar()[:2]
    assert [config.period_of(one) for one in config.periods(date, date)] == [config.period_of(date)]


def test_every_setting_of_a_collection_is_explained() -> None:
    page = (ROOT / "docs" / "reference" / "settings.md").read_text().partition("\n## collection\n")[2]
    fields = type(load_collection(ROOT / "deploy" / "config" / "collection.toml").collection).model_fields
    assert [name for name in fields if f"| `{name}` |" not in page] == []


def test_the_commands_run_a_collection(collected: Collected) -> None:
    def run(name: str) -> str:
        command = ["collect", name, "--config", str(collected.file)]
        done = CliRunner().invoke(app, command if name == "plan" else [*command, "--date", "2026-03-02"])
        assert done.exit_code == 0, done.output
        return done.stdout

    assert {"expected", "error"} <= set(run("plan").split())
    assert "there is one" not in run("plan")
    assert "answers 2 periods; then its usual total limit of 10 is spent" in run("plan")
    assert "Where devices differ so much that some are clipped, the error is larger" in run("plan")
    assert "round-1.json" in run("open")
    collected.report(1)
    assert "round-2.json" in run("localise")
    collected.report(2)
    assert "north" in run("estimate")
    collected.change("[0, 400, 1000]", "[0, 4, 10]")
    assert "there is one" in run("plan")
    for alpha, said in (("1.5", "answers 6 periods"), ("4.5", "does not answer: its usual limit")):
        collected.file.write_text(re.sub("alpha = .*", f"alpha = {alpha}", collected.file.read_text()))
        assert said in run("plan")


def test_what_a_step_warns_of_is_said_once_by_its_command(collected: Collected) -> None:
    def warned(name: str) -> str:
        done = CliRunner().invoke(app, ["collect", name, "--config", str(collected.file), "--date", "2026-03-02"])
        assert done.exit_code == 0, done.output
        assert "damaged" not in done.stdout
        return done.stderr

    collected.report(1)
    assert warned("localise") == ""
    collected.report(2)
    (collected.config.storage_path / "private" / "reports.duckdb").write_bytes(b"x" * 20_000)
    assert warned("estimate").count("damaged file is set aside and made anew") == 1
    (collected.reports / "cut.jsonl.gz").write_bytes(gzip.compress(b"{}\n" * 999)[:-9])
    collected.change('/*.jsonl"', '/*.jsonl*"')
    assert warned("open").count("late reports could not be counted") == 1


def test_the_demo_publishes_its_city(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect_cli, "_DEMO", tmp_path / "demo")
    monkeypatch.setattr(collect_cli, "_DEMO_DEVICES", 9000)
    done = CliRunner().invoke(app, ["collect", "demo"])
    assert done.exit_code == 0, done.output
    assert "Round 2: 4," in done.stdout
    assert "there is one, and the devices of round 1 do not help" in done.stdout
    (means,) = (tmp_path / "demo").rglob("means.csv")
    assert len(means.read_text().splitlines()) == 8
