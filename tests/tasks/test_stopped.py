"""What is kept of a stopped day is checked, backed up and counted again, and the day can be released later."""

import datetime as dt
import json
from decimal import Decimal

import pytest
from insider import forged
from screened import N_BUSES, paid, screen, write_day
from support import DATE, OF_SUMS_IN_BRIEF, Dataset, choose

from tasks.account import ledger, private_files
from tasks.account.budgets import Account
from tasks.account.entry import Charge
from tasks.account.in_words import guarantee_in_words
from tasks.base.errors import BadConfig, DayStopped, LedgerBroken
from tasks.planning.preview import preview_plan
from tasks.release import draw
from tasks.reporting.budget_report import report_budget
from tasks.reporting.pages import budget_page
from tasks.upkeep.backup import back_up
from tasks.upkeep.forget import forget_days
from tasks.upkeep.verify import verify_ledger


def stopped_and_released(one: Dataset) -> list[Charge]:
    """Have a day stopped, for its decimal commas, and release it with the right settings; return both entries."""
    write_day(one, N_BUSES, word='"31,5"')
    with pytest.raises(DayStopped):
        one.run_day()
    one.set(decimal=",")
    one.run_day()
    return paid(one)


def test_mended_settings_are_asked_anew_at_a_new_charge_and_the_day_is_released(one: Dataset) -> None:
    stop, release = stopped_and_released(one)
    (charge,) = set(private_files.losses(stop, one.config).values())
    totals = Account(ledger.read_entries(one.config), one.config).total
    assert set(totals.values()) == {charge + int(release.stated["loss"])}
    assert release.stated["attempt"] == 2
    currency = one.config.privacy.currency
    assert f"all values of the day: {currency.in_words(max(totals.values()))};" in release.stated["in_words"]
    assert verify_ledger(one.config).n_releases == 1


@pytest.mark.slow
def test_verify_tells_a_sentence_without_what_the_day_cost_before(one: Dataset) -> None:
    _, release = stopped_and_released(one)
    path, currency = ledger.ledger_path(one.config), one.config.privacy.currency
    stop_line, line = path.read_bytes().splitlines(keepends=True)
    total = int(release.stated["loss_total_after"])
    for of_day in (int(release.stated["loss"]), int(release.stated["loss"]) // 2):
        in_words = guarantee_in_words(currency, one.config, of_day, total, total)
        path.write_bytes(stop_line + forged(line, in_words=in_words))
        (one.folder / "store" / "release.duckdb").unlink(missing_ok=True)
        (path.parent / "private" / "ledger-head").unlink(missing_ok=True)
        with pytest.raises(LedgerBroken, match="in_words is not what the plans give"):
            verify_ledger(one.config)


@pytest.mark.slow
def test_a_day_that_is_right_as_it_is_is_released_without_the_question(one: Dataset) -> None:
    write_day(one, N_BUSES)
    with pytest.raises(DayStopped):
        one.run_day()
    one.set(screen=False)
    one.run_day()
    assert [entry.kind for entry in paid(one)] == ["stopped", "release"]
    assert verify_ledger(one.config).n_releases == 1


def test_verify_finds_a_changed_charge_count_or_verdict(screened: Dataset) -> None:
    write_day(screened, N_BUSES)
    with pytest.raises(DayStopped):
        screened.run_day()
    path = ledger.ledger_path(screened.config)
    line = path.read_bytes()
    stated = json.loads(line)
    screening = stated["screening"]
    small = next(iter(set(private_files.losses(paid(screened)[0], screened.config).values()))) // 2
    for changed, said in (
        ({"screening": {**screening, "noisy_count": 3}}, "screening does not follow from its noisy count"),
        ({"screening": {**screening, "verdict": "go on"}}, "screening does not follow from its noisy count"),
        ({"screening": {**screening, "n_asked": 20}}, "screening does not follow from its noisy count"),
        ({"screening": {**screening, "loss": "1"}}, "screening does not follow from its noisy count"),
        ({"screening": {**screening, "scale": "1/1"}}, "screening does not follow from its noisy count"),
        ({"loss": str(small)}, "loss is not what the plans give"),
        ({"losses": stated["totals"]}, "missing or was changed"),
        ({"totals": stated["losses"]}, "the totals are not the sums of the losses"),
        ({"release_id": "another"}, "was paid for, but the ledger lacks it"),
        ({"settings": {**stated["settings"], "value": {**stated["settings"]["value"], "screen": False}}}, "entry 1"),
    ):
        path.write_bytes(forged(line, **changed))
        (path.parent / "private" / "ledger-head").unlink(missing_ok=True)
        with pytest.raises(LedgerBroken, match=said):
            verify_ledger(screened.config)
        path.write_bytes(line)


def test_verify_finds_a_release_after_a_stop_with_the_same_settings(
    one: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_day(one, N_BUSES)
    with pytest.raises(DayStopped):
        one.run_day()
    write_day(one, 0)
    monkeypatch.setattr(draw, "check_not_stopped", lambda *_: None)
    one.run_day()
    with pytest.raises(LedgerBroken, match=r"entry 2 .*its day was stopped before with the same settings"):
        verify_ledger(one.config)


def test_verify_finds_a_release_that_its_own_count_should_have_stopped(
    one: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_day(one, N_BUSES)
    monkeypatch.setattr(draw, "says_stop", lambda _: False)
    one.run_day()
    with pytest.raises(LedgerBroken, match="it does not do what the verdict of its screening says"):
        verify_ledger(one.config)


def test_verify_finds_a_release_that_paid_for_a_count_and_does_not_state_it(
    one: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_day(one, 0)
    monkeypatch.setattr(draw, "screen_day", lambda *_: {})
    one.run_day()
    with pytest.raises(LedgerBroken, match="screening is missing, and the plan pays for it"):
        verify_ledger(one.config)


def test_a_stopped_day_is_forgotten_and_its_charge_stays(one: Dataset) -> None:
    write_day(one, N_BUSES)
    with pytest.raises(DayStopped):
        one.run_day()
    assert "is stopped before" in str(preview_plan(DATE, one.config)["refused"])
    entries = ledger.read_entries(one.config)
    page = budget_page(entries, report_budget(entries, one.config), "picture", one.config)
    assert f"- {DATE}: about " in page
    spent = Account(ledger.read_entries(one.config), one.config).total
    forget_days([DATE], one.config)
    assert Account(ledger.read_entries(one.config), one.config).total == spent
    assert verify_ledger(one.config).n_releases == 0


@pytest.mark.slow
def test_a_stop_is_backed_up(dataset: Dataset) -> None:
    screen(dataset, "pure", "planned")
    write_day(dataset, N_BUSES)
    with pytest.raises(DayStopped):
        dataset.run_day()
    later = DATE + dt.timedelta(days=1)
    write_day(dataset, 0, later)
    dataset.run_day(later)
    target = dataset.folder.with_name(f"{dataset.folder.name}-copy")
    back_up(target, dataset.config)
    copied = {path.name for path in (target / "private" / "plans").iterdir()}
    stop = paid(dataset)[0]
    assert {stop.plan, stop.losses} <= copied


@pytest.mark.quick(2)
@pytest.mark.parametrize("mechanism", OF_SUMS_IN_BRIEF)
def test_every_mechanism_is_screened_within_what_a_day_may_cost(dataset: Dataset, mechanism: str) -> None:
    choose(dataset, mechanism, epsilon="400", cell_epsilon="90")
    dataset.set(definition="pure", screen=True)
    write_day(dataset, 2)
    dataset.run_day()
    (entry,) = paid(dataset)
    currency = dataset.config.privacy.currency
    assert entry.stated["screening"]["verdict"] == "go on"
    assert int(entry.stated["screening"]["loss"]) < int(entry.stated["loss"]) <= currency.within(Decimal(400))
    assert verify_ledger(dataset.config).n_releases == 1


def test_a_cell_that_takes_all_of_a_day_leaves_nothing_to_screen_with(dataset: Dataset) -> None:
    dataset.set(definition="pure")
    choose(dataset, "levy", epsilon="400", cell_epsilon="399")
    dataset.set(screen=True)
    with pytest.raises(BadConfig, match=r"value\.screen takes a hundredth .* lower cell_epsilon"):
        dataset.config  # noqa: B018


def test_a_ledger_from_before_a_stop_is_refused_so_that_nothing_is_asked_twice(one: Dataset) -> None:
    write_day(one, 0)
    one.run_day()
    kept = {
        path: path.read_bytes()
        for path in (ledger.ledger_path(one.config), one.config.storage_path / "private" / "ledger-head")
    }
    tomorrow = DATE + dt.timedelta(days=1)
    write_day(one, N_BUSES, tomorrow)
    with pytest.raises(DayStopped):
        one.run_day(tomorrow)
    for path, content in kept.items():
        path.write_bytes(content)
    with pytest.raises(LedgerBroken, match=r"-stopped-1 was paid for, but the ledger lacks it"):
        one.run_day(tomorrow)
