"""A budget is loosened by an entry that says so, or not at all."""

import datetime as dt
import json
import re
from collections.abc import Callable

import pytest
from support import DATE, Dataset, all_files, later_day

from tasks.account import chain, ledger, private_files
from tasks.account.amendments import amend_budget, budget_in_force, is_looser, proposed_amendment, refusal
from tasks.account.budgets import Account
from tasks.account.changes import Amendment, entry_of
from tasks.account.commit import commit, pending_path
from tasks.account.entry import Entry, Stated
from tasks.account.releases import find_release, released_days
from tasks.base.config_sections import Budget
from tasks.base.durable import write_whole
from tasks.base.errors import HexveilError, LedgerBroken
from tasks.planning.plan import plan_release
from tasks.planning.preview import preview_plan
from tasks.planning.spread import spread_budget
from tasks.release.draw import release_statistics
from tasks.reporting import burndown, pages
from tasks.reporting.budget_report import report_budget
from tasks.reporting.day_report import report_range
from tasks.upkeep import verify
from tasks.upkeep.backup import back_up
from tasks.upkeep.forget import forget_days

WINDOWS = [(5, None), (5, 7), (5, 30), (6, None), (6, 30), (4, None), (4, 7)]


def budget(epsilon: int, n_days: int | None) -> Budget:
    return Budget.model_validate({"epsilon_total": str(epsilon), "window_days": n_days}, strict=False)


@pytest.mark.parametrize("before", WINDOWS)
@pytest.mark.parametrize("after", WINDOWS)
def test_a_budget_is_looser_if_some_losses_are_allowed_that_were_not(
    before: tuple[int, int | None], after: tuple[int, int | None]
) -> None:
    """Losses that recur with a period: what counts of them is those within a window, or all of ten years."""

    def allows(limit: tuple[int, int | None], period: int, loss: int) -> bool:
        epsilon, n_days = limit
        return loss * -(-(n_days or 3660) // period) <= epsilon

    tried = [(period, loss) for period in range(1, 4000, 7) for loss in range(1, 7)]
    tried += [(period, loss) for period in (7, 30, 3660) for loss in range(1, 7)]
    some_more = any(allows(after, *one) and not allows(before, *one) for one in tried)
    assert is_looser(budget(*after), budget(*before)) >= some_more
    if before == after or (after[0] <= before[0] and before[1] == after[1]):
        assert not is_looser(budget(*after), budget(*before))


@pytest.fixture
def released(busy_dataset: Dataset) -> Dataset:
    """Return a dataset with one day released under a budget of 5, and a looser one in its configuration."""
    busy_dataset.set(definition="pure")
    busy_dataset.run_day()
    busy_dataset.set(epsilon_total=9.0)
    return busy_dataset


@pytest.fixture
def amended(released: Dataset) -> Dataset:
    """Return the same with an amendment, and a second day released after it."""
    tomorrow = later_day(released, 1)

    def amend_and_run() -> str:
        amend_budget("the board *decided*", released.config)
        return released.run_day(tomorrow)

    released.once("amended", amend_and_run)
    return released


def test_a_looser_budget_is_refused_before_the_day_is_prepared_in_words_that_say_what_to_do(released: Dataset) -> None:
    said = (
        r"epsilon 5.0 over everything ever released before, epsilon 9.0 .* now\. "
        r'.*hexveil ledger amend-budget --config FILE --reason "\.\.\."'
    )
    with pytest.raises(HexveilError, match=said):
        find_release.fn(later_day(released, 1), released.config)
    with pytest.raises(HexveilError, match=said):
        find_release.fn(DATE, released.config, "again")
    with pytest.raises(HexveilError, match=said):
        released_days.fn(DATE, later_day(released, 1), released.config)


def test_what_was_released_is_published_again_under_any_budget(released: Dataset) -> None:
    before = all_files(released)
    released.run_day()
    assert released_days.fn(DATE, DATE, released.config).released.keys() == {DATE}
    assert all_files(released) == before


def test_a_looser_budget_is_refused_under_the_lock_too(released: Dataset) -> None:
    """The release before may have been made by another process since the run looked."""
    tomorrow = later_day(released, 1)
    released.prepare(tomorrow)
    plan_hash = plan_release.fn(tomorrow, released.config)
    with pytest.raises(HexveilError, match="looser than the budget in force"):
        release_statistics.fn(tomorrow, plan_hash, released.config)
    assert len(ledger.read_entries(released.config)) == 1


@pytest.mark.parametrize("tighter", ["epsilon_total = 4.0", "epsilon_total = 5.00"])
def test_a_budget_that_is_no_looser_needs_no_amendment(released: Dataset, tighter: str) -> None:
    released.edit("epsilon_total = 9.0", tighter)
    released.run_day(later_day(released, 1))
    assert len(ledger.read_entries(released.config)) == 2
    with pytest.raises(HexveilError, match="A tighter one needs no amendment"):
        amend_budget("why not", released.config)


def test_going_back_from_a_tighter_budget_is_loosening(released: Dataset) -> None:
    released.set(epsilon_total=4.0)
    released.run_day(later_day(released, 1))
    released.set(epsilon_total=5.0)
    with pytest.raises(HexveilError, match=r"epsilon 4.0 .* before, epsilon 5.0"):
        released.run_day(later_day(released, 2))


@pytest.mark.slow
def test_a_plan_shows_what_a_looser_budget_would_give_and_that_a_run_would_be_refused(released: Dataset) -> None:
    tomorrow = later_day(released, 1)
    released.prepare(tomorrow)
    plan = preview_plan(tomorrow, released.config)
    assert plan["refused"] == refusal(ledger.read_entries(released.config), released.config)
    released.prepare()
    assert preview_plan(DATE, released.config)["refused"] is None, "it was released already"
    amend_budget("a decision", released.config)
    assert preview_plan(tomorrow, released.config)["refused"] is None


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("", "give a reason"),
        ("  \n", "give a reason"),
        ("a\x1b[2J", "printable"),
        ("a\nb", "printable"),
        ("x" * 501, "at most 500"),
    ],
)
def test_an_amendment_needs_a_reason_that_can_be_shown(released: Dataset, reason: str, said: str) -> None:
    for ask in (amend_budget, proposed_amendment):
        with pytest.raises(HexveilError, match=said):
            ask(reason, released.config)
    assert len(ledger.read_entries(released.config)) == 1


def test_an_empty_ledger_has_no_budget_to_amend(busy_dataset: Dataset) -> None:
    with pytest.raises(HexveilError, match="nothing was released yet"):
        amend_budget("a decision", busy_dataset.config)
    assert budget_in_force([]) is None


def test_another_datasets_budget_is_not_amended(released: Dataset) -> None:
    released.set(dataset={"name": "other"})
    with pytest.raises(HexveilError, match="account would begin anew"):
        amend_budget("a decision", released.config)


def test_an_amendment_says_what_was_in_force_what_is_and_why(amended: Dataset) -> None:
    first, amendment, second = ledger.read_entries(amended.config)
    assert isinstance(amendment, Amendment)
    assert amendment.budget_before == first.budget == {"epsilon_total": "5.0", "window_days": None}
    assert amendment.budget == second.budget == {"epsilon_total": "9.0", "window_days": None}
    assert (amendment.stated["kind"], amendment.reason, amendment.number) == ("budget", "the board *decided*", 2)
    assert [first.stated["format"], amendment.stated["format"], second.stated["format"]] == [4, 4, 4]
    assert amendment.stated["code"] == second.stated["code"]


@pytest.mark.slow
def test_all_that_reads_the_ledger_is_right_with_an_amendment_between_and_after_releases(amended: Dataset) -> None:
    tomorrow = DATE + dt.timedelta(days=1)
    amended.set(epsilon_total=50.0, window_days=90)
    amend_budget("another decision", amended.config)
    entries = ledger.read_entries(amended.config)
    assert verify.verify_ledger(amended.config).n_releases == 2
    assert report_budget(ledger.read_entries(amended.config), amended.config).n_users >= 10
    assert float(Account(entries, amended.config).total.most_common(1)[0][1]) / 2**50 == pytest.approx(4)
    assert burndown.burndown(entries, amended.config)
    assert {date: day is not None for date, day in report_range(DATE, tomorrow, amended.config).items()} == {
        DATE: True,
        tomorrow: True,
    }
    assert back_up(amended.folder / "copy", amended.config) == 2
    assert spread_budget.fn([DATE + dt.timedelta(days=9)], amended.config).privacy.epsilon_per_day == 2
    files = {path.name for path in private_files.releases(amended.config).iterdir()}
    totals = {path.name for path in private_files.totals(amended.config).iterdir()}
    forget_days([DATE], amended.config)
    assert {path.name for path in private_files.releases(amended.config).iterdir()} == files
    assert {path.name for path in private_files.totals(amended.config).iterdir()} == {
        chain.releases(entries)[-1].stated["totals"]
    }
    assert totals
    amended.run_day(later_day(amended, 2))
    assert verify.verify_ledger(amended.config).n_releases == 3
    assert "".join(ledger.export(amended.config)).encode() == ledger.ledger_path(amended.config).read_bytes()


def test_the_newest_release_may_wait_for_its_files_behind_an_amendment(released: Dataset) -> None:
    tomorrow = later_day(released, 1)
    amend_budget("a decision", released.config)
    released.prepare(tomorrow)
    identity = release_statistics.fn(tomorrow, plan_release.fn(tomorrow, released.config), released.config)
    released.set(epsilon_total=10.0)
    amend_budget("another", released.config)
    assert verify.verify_ledger(released.config) == (1, identity, ())


def test_an_amendment_that_was_cut_off_is_finished(released: Dataset) -> None:
    entries = ledger.read_entries(released.config)
    amend_budget("a decision", released.config)
    path = ledger.ledger_path(released.config)
    line = path.read_bytes().splitlines(keepends=True)[1]
    path.write_bytes(path.read_bytes()[: -len(line)] + line[:40])
    write_whole(pending_path(released.config), line)
    with ledger.locked(released.config):
        assert [one.stated for one in ledger.read_entries(released.config)[1:]] == [json.loads(line)]
    assert len(entries) == 1


def test_the_budget_page_tells_of_amendments_as_text_and_not_as_markup(amended: Dataset) -> None:
    entries = ledger.read_entries(amended.config)
    page = pages.budget_page(
        entries, report_budget(ledger.read_entries(amended.config), amended.config), "picture", amended.config
    )
    made_on = entries[1].committed_at.date()  # another day than today if it was copied, or made, before midnight
    assert f"- {made_on}: from 5.0 to 9.0. the board \\*decided\\*" in page
    assert "## Releases: 2" in page
    page = pages.budget_page(
        [*chain.releases(entries)],
        report_budget(ledger.read_entries(amended.config), amended.config),
        "picture",
        amended.config,
    )
    assert "loosened" not in page


def rewritten(dataset: Dataset, change: Callable[[list[Stated]], object]) -> None:
    """Change the ledger as somebody would who can chain it anew and owns all that is a witness."""
    entries = [json.loads(line) for line in ledger.ledger_path(dataset.config).read_bytes().splitlines()]
    change(entries)
    ledger.ledger_path(dataset.config).write_bytes(b"")
    (dataset.folder / "store" / "release.duckdb").unlink()
    written: list[Entry] = []
    for entry in entries:
        written.append(entry_of(chain.chained(entry, written[-1].stated if written else None)))
        commit(written[-1].stated, dataset.config)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda entries: entries.pop(1), r"entry 2 \(test-.*its budget is looser than the one in force, epsilon 5.0"),
        (lambda entries: entries[1].update(budget_before=entries[1]["budget"]), "entry 2 .*budget_before is not"),
        (lambda entries: entries[1].update(budget=entries[1]["budget_before"]), "entry 2 .*needs no amendment"),
        (lambda entries: entries[1].update(reason=" "), "entry 2 .*no reason"),
        (lambda entries: entries[1].update(dataset="other"), "entry 2 .*another dataset"),
        (lambda entries: entries[1].pop("budget"), "entry 2 .*cannot be checked"),
        (lambda entries: entries.insert(0, entries.pop(1)), "entry 1 .*nothing was released before"),
    ],
    ids=["removed", "before", "not looser", "reason", "dataset", "field", "first"],
)
def test_verify_names_a_budget_that_was_loosened_in_another_way(
    amended: Dataset, change: Callable[[list[Stated]], object], said: str
) -> None:
    rewritten(amended, change)
    with pytest.raises(LedgerBroken, match=re.compile(said, re.DOTALL)):
        verify.verify_ledger(amended.config)
