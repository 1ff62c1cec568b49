import datetime as dt
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support import CLIP_USER, DATE, PUBLISHED, Dataset, all_files, later_day

from dpmath.core.currency import PURE
from tasks.account import ledger, private_files
from tasks.account.amendments import amend_budget
from tasks.account.chain import releases
from tasks.account.entry import Entry, Release, Stated
from tasks.account.releases import find_release
from tasks.base import durable
from tasks.base.errors import HexveilError, LedgerBroken
from tasks.planning.plan import plan_release
from tasks.proposals.mechanisms import propose
from tasks.release.draw import release_statistics
from tasks.release.publish import publish_files
from tasks.upkeep import verify


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", PUBLISHED)
def test_verify_names_a_published_file_that_was_changed_or_is_gone(busy_dataset: Dataset, name: str) -> None:
    busy_dataset.set(map=name == "map.html")
    busy_dataset.release()
    path = busy_dataset.published(name)
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(LedgerBroken, match=rf"entry 1 .*{name} is not the file"):
        verify.verify_ledger(busy_dataset.config)
    path.unlink()
    with pytest.raises(LedgerBroken, match=rf"entry 1 .*{name} is missing"):
        verify.verify_ledger(busy_dataset.config)
    busy_dataset.release()
    assert verify.verify_ledger(busy_dataset.config).n_releases == 1


PUBLISHER = """[publisher]
name = "City"
contact = "https://example.org/ask"
licence = "https://example.org/licence"
"""


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", ["index.html", "datapackage.json", "columns-*.json", "catalogue.jsonld"])
def test_verify_names_each_file_over_all_days_that_is_changed_or_missing(busy_dataset: Dataset, name: str) -> None:
    busy_dataset.edit("[storage]", f"{PUBLISHER}[storage]")
    for date in (DATE, later_day(busy_dataset, 1)):
        busy_dataset.run_day(date)
    (path,) = (busy_dataset.config.storage_path / "published").glob(name)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"a", b"e"))
    with pytest.raises(LedgerBroken, match=rf"{path.name} is not what the ledger and the configuration say"):
        verify.verify_ledger(busy_dataset.config)
    path.unlink()
    with pytest.raises(LedgerBroken, match=rf"{path.name} is missing"):
        verify.verify_ledger(busy_dataset.config)
    busy_dataset.run_day()
    assert path.read_bytes() == whole
    assert verify.verify_ledger(busy_dataset.config).n_releases == 2


def test_a_catalogue_that_nobody_wrote_is_named_and_one_of_an_earlier_configuration_goes(busy_dataset: Dataset) -> None:
    busy_dataset.run_day()
    path = busy_dataset.config.storage_path / "published" / "catalogue.jsonld"
    path.write_text('{"@graph": []}')
    with pytest.raises(LedgerBroken, match=r"catalogue.jsonld is not what the ledger and the configuration say"):
        verify.verify_ledger(busy_dataset.config)
    busy_dataset.run_day()
    assert not path.exists()


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_whatever_the_umask_nobody_else_can_write_the_storage(busy_dataset: Dataset, umask: int) -> None:
    before = os.umask(umask)
    try:
        busy_dataset.run_day()
    finally:
        os.umask(before)
    store = busy_dataset.config.storage_path
    public = [store, *(path for path in store.rglob("*") if not path.is_relative_to(store / "private"))]
    assert [str(path) for path in public if path.stat().st_mode & 0o022] == []
    assert (store / "private").stat().st_mode & 0o077 == 0


def test_a_folder_that_all_could_write_is_closed_by_the_next_run(busy_dataset: Dataset) -> None:
    busy_dataset.run_day()
    folders = [busy_dataset.published("."), busy_dataset.published(".").parent, busy_dataset.config.storage_path]
    for folder in folders:
        folder.chmod(0o777)
    busy_dataset.run_day()
    assert [oct(folder.stat().st_mode & 0o777) for folder in folders] == ["0o755"] * 3


def test_verify_names_what_was_never_released_among_what_was(busy_dataset: Dataset) -> None:
    busy_dataset.release()
    beside = busy_dataset.published("statistics.csv").parents[1] / "other.html"
    beside.write_text("The city's own page.")
    found = verify.verify_ledger(busy_dataset.config)
    assert found.others == ("other.html",)
    assert found.in_words.endswith("The folder published also holds what is of no release: other.html.")
    beside.with_name("evil\n\x1b[31mred").touch()
    assert "evil\\n\\x1b[31mred, other.html" in verify.verify_ledger(busy_dataset.config).in_words
    forged = busy_dataset.published("statistics-corrected.csv")
    forged.write_text("slot_start,h3_cell,mean\n")
    with pytest.raises(LedgerBroken, match=r"entry 1 .*statistics-corrected.csv was never released; remove it"):
        verify.verify_ledger(busy_dataset.config)
    forged.unlink()
    busy_dataset.set(epsilon_total=50.0)
    amend_budget("a revision", busy_dataset.config)
    busy_dataset.run_day(revision="again")
    assert verify.verify_ledger(busy_dataset.config).n_releases == 2
    within = forged.with_name("revision=again") / "revision=again"
    within.mkdir()
    with pytest.raises(LedgerBroken, match=r"entry 3 .*revision=again/revision=again was never released; remove it"):
        verify.verify_ledger(busy_dataset.config)


def test_verify_beside_a_run_lets_the_newest_release_wait_for_its_files(
    busy_dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it does where the run was killed there and will be started again; the newest alone may, once, for an hour."""
    busy_dataset.set(epsilon_total=9.0)

    def release_only(date: dt.date) -> str:
        busy_dataset.prepare(date)
        return release_statistics.fn(date, plan_release.fn(date, busy_dataset.config), busy_dataset.config)

    first = release_only(DATE)
    assert verify.verify_ledger(busy_dataset.config) == (0, first, ())
    publish_files.fn(first, busy_dataset.config)
    second, third = (later_day(busy_dataset, number) for number in (1, 2))
    unpublished = [release_only(second)]
    found = verify.verify_ledger(busy_dataset.config)
    assert found == (1, unpublished[0], ())
    assert found.in_words.startswith("1 releases: ")
    assert f"{unpublished[0]} is paid and waits for its files" in found.in_words
    with monkeypatch.context() as patch:
        patch.setattr(verify, "_MAY_WAIT", dt.timedelta(0))
        with pytest.raises(LedgerBroken, match=r"entry 2 .* is missing; run the day again"):
            verify.verify_ledger(busy_dataset.config)
    unpublished.append(release_only(third))
    with pytest.raises(LedgerBroken, match=r"entry 2 .* is missing; run the day again"):
        verify.verify_ledger(busy_dataset.config)
    for release_id in unpublished:
        publish_files.fn(release_id, busy_dataset.config)
    assert verify.verify_ledger(busy_dataset.config) == (3, None, ())
    busy_dataset.published("statistics.csv", third).unlink()
    with pytest.raises(LedgerBroken, match=r"entry 3 .*statistics\.csv is missing"):
        verify.verify_ledger(busy_dataset.config)


@pytest.mark.slow
@pytest.mark.parametrize("lost", [["statistics.csv"], [name for name in PUBLISHED if name != "map.html"]])
def test_files_that_are_lost_with_the_mirror_are_missing_and_not_waited_for(
    busy_dataset: Dataset, lost: list[str]
) -> None:
    for date in (DATE, later_day(busy_dataset, 1)):
        busy_dataset.release(date)
    (busy_dataset.folder / "store" / "release.duckdb").unlink()
    for name in lost:
        busy_dataset.published(name, date).unlink()
    with pytest.raises(LedgerBroken, match=r"entry 2 .* is missing"):
        verify.verify_ledger(busy_dataset.config)


def test_verify_recomputes_losses_and_sums_and_trusts_no_entry(
    busy_dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entries that lie from the start, with a chain in order, are found out."""
    busy_dataset.set(**CLIP_USER)
    honest = ledger.append
    lies = {
        "epsilon is not what the plans give": lambda entry: entry.update(epsilon="1"),
        "epsilon_total_after is not what": lambda entry: entry.update(epsilon_total_after="9"),
        "epsilon_left is not what": lambda entry: entry.update(epsilon_left="4"),
        "records_covered is not": lambda entry: entry.update(records_covered=1),
        "epsilon_total_limit is not": lambda entry: entry.update(epsilon_total_limit="1"),
        "settings are not": lambda entry: entry["settings"]["privacy"].update(epsilon_per_day="9"),
        "release_id is not": lambda entry: entry.update(release_id="test-2026-01-15-h3r7-60min-variance"),
        "cells is not what": lambda entry: entry["cells"].update(total=3),
        "pairs is not what": lambda entry: entry["pairs"].update(clipped=99),
        "guarantee is not what": lambda entry: entry.update(guarantee={"definition": "trust us"}),
        "period is not what": lambda entry: entry["period"].update(timezone="Europe/Zurich"),
        "mechanism is not what": lambda entry: entry.update(mechanism="planned"),
        "purpose is not what": lambda entry: entry.update(purpose="another"),
        "not the key": lambda entry: entry.update(user_key_fingerprint="0" * 64),
        "sums is not what": lambda entry: entry["sums"]["mean"].update(scale_least="1/2"),
        "the totals are not": lambda entry: entry.update(totals=entry["losses"]),
        "settings is missing": lambda entry: entry.pop("settings"),
        "records_covered is missing": lambda entry: entry.update(records_covered=str(entry["records_covered"])),
        "is missing or was changed": lambda entry: entry.update(plan=entry["losses"][::-1]),
    }

    def lying(lie: Callable[[Stated], None], entry: Stated, *args: Any) -> Entry:
        lie(entry)
        return honest(entry, *args)

    busy_dataset.prepare()
    plan = plan_release.fn(DATE, busy_dataset.config)
    store = busy_dataset.folder / "store"
    planned = Path(shutil.copytree(store, busy_dataset.folder / "planned"))
    for said, lie in lies.items():
        shutil.rmtree(store)
        shutil.copytree(planned, store)
        with monkeypatch.context() as patch:
            patch.setattr(ledger, "append", partial(lying, lie))
            with suppress(LedgerBroken):
                publish_files.fn(release_statistics.fn(DATE, plan, busy_dataset.config), busy_dataset.config)
        with pytest.raises(LedgerBroken, match=f"entry 1 .*{said}"):
            verify.verify_ledger(busy_dataset.config)


def test_a_changed_or_missing_plan_is_noticed(busy_dataset: Dataset) -> None:
    busy_dataset.release()
    plan = private_files.plans(busy_dataset.config) / ledger.read_entries(busy_dataset.config)[0].stated["plan"]
    plan.write_bytes(plan.read_bytes() + b" ")
    with pytest.raises(LedgerBroken, match="missing or was changed"):
        verify.verify_ledger(busy_dataset.config)


def test_a_ledger_that_lost_its_last_lines_is_refused_and_nothing_is_destroyed(busy_dataset: Dataset) -> None:
    busy_dataset.release()
    busy_dataset.release(later_day(busy_dataset, 1))
    path = ledger.ledger_path(busy_dataset.config)
    whole = path.read_bytes()
    kept = {one.name for one in private_files.releases(busy_dataset.config).iterdir()}
    for rest in (whole.splitlines(keepends=True)[0], b"", None, whole[:-30]):
        path.unlink() if rest is None else path.write_bytes(rest)
        with pytest.raises(LedgerBroken):
            busy_dataset.release(later_day(busy_dataset, 2))
        with pytest.raises(LedgerBroken):
            verify.verify_ledger(busy_dataset.config)
    assert {one.name for one in private_files.releases(busy_dataset.config).iterdir()} == kept
    path.write_bytes(whole)
    assert verify.verify_ledger(busy_dataset.config).n_releases == 2


def test_an_append_that_a_crash_cut_short_is_taken_away_by_the_next_run(busy_dataset: Dataset) -> None:
    busy_dataset.release()
    path = ledger.ledger_path(busy_dataset.config)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[: len(whole) // 2])
    with pytest.raises(LedgerBroken, match="Run a day again"):
        verify.verify_ledger(busy_dataset.config)
    plan_hash = durable.sha256(b"no such plan")
    with pytest.raises(LedgerBroken):
        release_statistics.fn(DATE + dt.timedelta(days=9), plan_hash, busy_dataset.config)
    assert path.read_bytes() == whole


def test_a_published_day_that_no_entry_pays_for_is_noticed(busy_dataset: Dataset) -> None:
    busy_dataset.release()
    shutil.copytree(busy_dataset.published("."), busy_dataset.published(".", DATE + dt.timedelta(days=1)))
    with pytest.raises(LedgerBroken, match="no entry of the ledger pays for it"):
        verify.verify_ledger(busy_dataset.config)


def test_an_unfinished_line_does_not_keep_the_next_run_from_its_day(busy_dataset: Dataset) -> None:
    identity = busy_dataset.release()
    path = ledger.ledger_path(busy_dataset.config)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"release_id":"x')
    assert find_release.fn(DATE, busy_dataset.config) == identity
    assert path.read_bytes() == whole


def test_a_day_that_is_published_but_not_in_a_restored_ledger_is_not_drawn_again(busy_dataset: Dataset) -> None:
    busy_dataset.prepare()
    store = busy_dataset.folder / "store"
    shutil.copytree(store / "private", busy_dataset.folder / "backup")
    busy_dataset.release()
    before = all_files(busy_dataset)
    shutil.rmtree(store / "private")
    shutil.copytree(busy_dataset.folder / "backup", store / "private")
    ledger.ledger_path(busy_dataset.config).write_bytes(b"")
    with pytest.raises(LedgerBroken, match="no entry of the ledger pays for it"):
        busy_dataset.release()
    assert all_files(busy_dataset) == before


def test_a_damaged_note_of_the_ledgers_end_is_named(busy_dataset: Dataset) -> None:
    busy_dataset.release()
    (busy_dataset.folder / "store" / "private" / "ledger-head").write_bytes(b"")
    with pytest.raises(LedgerBroken, match="ledger-head is damaged"):
        find_release.fn(DATE, busy_dataset.config)


def test_without_the_machines_secret_nothing_more_is_released(busy_dataset: Dataset) -> None:
    busy_dataset.release()
    key = busy_dataset.folder / "store" / "private" / "user-key"
    secret = key.read_bytes()
    assert key.stat().st_mode & 0o077 == 0
    key.unlink()
    with pytest.raises(LedgerBroken, match="user-key is missing"):
        busy_dataset.release(later_day(busy_dataset, 1))
    key.write_bytes(secret[::-1])
    with pytest.raises(LedgerBroken, match="not the key"):
        busy_dataset.release(later_day(busy_dataset, 1))


def test_verify_finds_a_user_over_the_limit_whatever_let_it_happen(
    busy_dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is out of order while three days are released; the entries are written as if all were well."""
    busy_dataset.set(definition="pure")
    with monkeypatch.context() as patch:
        patch.setattr("tasks.account.budgets.Account.limit", 1 << 80)
        for number in range(3):
            busy_dataset.run_day(later_day(busy_dataset, number) if number else DATE)
    with pytest.raises(LedgerBroken, match=r"entry 3 .*a user's losses pass budget.epsilon_total"):
        verify.verify_ledger(busy_dataset.config)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("release_id", None),
        ("date", "20260115"),
        ("date", "2026-W03-4"),
        ("date", "no day"),
        ("records_covered", " 288 "),
        ("user_key_fingerprint", None),
        ("plan", 7),
        ("epsilon", 2),
        ("revision", 1),
        ("files", []),
        ("cells", {"total": "2", "published": 2, "withheld": 0}),
    ],
)
def test_a_field_that_is_spelled_otherwise_is_named(busy_dataset: Dataset, field: str, value: object) -> None:
    busy_dataset.run_day()
    (release,) = releases(ledger.read_entries(busy_dataset.config))
    assert release.misstated() is None
    found = Release({**release.stated, field: value}).misstated()
    assert found is not None
    assert field in found


def test_verify_does_not_rely_on_the_formula_that_charged(
    busy_dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy_dataset.set(**CLIP_USER)
    with monkeypatch.context() as patch:
        patch.setattr(type(PURE), "of_noise", lambda _self, _noise, sensitivity, scale: sensitivity * scale // 2)
        busy_dataset.run_day()
        with pytest.raises(LedgerBroken, match="stored losses are not those of the plan"):
            verify.verify_ledger(busy_dataset.config)


def test_verify_finds_a_release_over_the_days_epsilon(busy_dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        dearer = {"epsilon": Fraction(3), "budgets": None}  # a budget is asked for up to what a day may cost
        patch.setattr("tasks.planning.plan.propose", lambda name, request: propose(name, replace(request, **dearer)))
        patch.setattr("tasks.account.budgets.Account.may_pay", lambda *_: True)
        patch.setattr("tasks.release.draw.schemas.check", lambda *_: None)
        busy_dataset.run_day()
    with pytest.raises(LedgerBroken, match=r"entry 1 .*epsilon passes privacy.epsilon_per_day"):
        verify.verify_ledger(busy_dataset.config)


@pytest.mark.slow
def test_each_entry_is_judged_by_the_budget_it_was_released_under(busy_dataset: Dataset) -> None:
    busy_dataset.set(target_error=49.0)
    busy_dataset.set(window_days=2)
    for number in range(4):
        busy_dataset.run_day(later_day(busy_dataset, number) if number else DATE)
    busy_dataset.set(window_days=None)
    assert verify.verify_ledger(busy_dataset.config).n_releases == 4


def test_verify_of_a_storage_where_nothing_was_run_finds_nothing_and_makes_nothing(dataset: Dataset) -> None:
    assert verify.verify_ledger(dataset.config).n_releases == 0
    assert not (dataset.folder / "store" / "release.duckdb").exists()


def test_users_told_by_another_column_do_not_begin_anew(busy_dataset: Dataset) -> None:
    busy_dataset.run_day()
    tomorrow = later_day(busy_dataset, 1)
    text = (busy_dataset.folder / "raw" / "day1.csv").read_text()
    busy_dataset.write("day1.csv", text.replace("bus,", "badge,", 1))
    busy_dataset.set(user="badge")
    (busy_dataset.folder / "raw" / "day.csv").unlink()
    with pytest.raises(HexveilError, match="everybody's account would begin anew"):
        busy_dataset.run_day(tomorrow)
    assert len(ledger.read_entries(busy_dataset.config)) == 1
