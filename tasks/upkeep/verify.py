"""Verify: recomputes every loss from its stored plan, and compares files and sums with the ledger."""

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

import polars as pl

from tasks.account import ledger, mirror, private_files, user_keys, witnesses
from tasks.account.amendments import problem_with_budget
from tasks.account.budgets import Account
from tasks.account.chain import releases
from tasks.account.definitions import problem_with_definition
from tasks.account.entry import Charge, Entry, Release
from tasks.account.identity import path_in_table, published_folder, release_id
from tasks.account.in_words import PAID_IN_PART, so_far_in_words
from tasks.account.screenings import describe_screening, find_stop
from tasks.account.stopped import Stopped
from tasks.account.witnesses import check_nothing_unpaid, folders_in_table, other_files, published_folders
from tasks.base import durable
from tasks.base.config import Config
from tasks.base.config_types import shown
from tasks.base.errors import LedgerBroken, contained
from tasks.base.progress import progress
from tasks.base.provenance import code_hash
from tasks.base.storage import MANIFEST, TABLE, WHOLE_TABLE
from tasks.kinds.kind import Verifier
from tasks.kinds.payment import paid, unlike_account
from tasks.kinds.stored_plan import StoredPlan
from tasks.kinds.table import KINDS, kind_of, load_plan
from tasks.records.judge.count_outcomes import KEPT
from tasks.release.screening import describe_stop, says_stop
from tasks.release.statement import describe_cost, describe_release
from tasks.release.zones import unlike_zones
from tasks.upkeep.published import missing_file, unlike_its_files, unlike_the_days, unlike_the_periods
from tasks.upkeep.recompute import recomputed_charges, recomputed_losses
from tasks.upkeep.renderings import unlike

_MAY_WAIT = dt.timedelta(hours=1)
_SUBJECT_OF_ANY_CODE = ("kind", "dataset", "purpose", "period", "grid", "statistics", "value", "mechanism")
_SUBJECT = (*_SUBJECT_OF_ANY_CODE, "data_domain", "guarantee", "theorems", "noise")


Verifiers = dict[str, Verifier]


class Verified(NamedTuple):
    """The result of a check without problems.

    Attributes:
        n_releases: How many releases agree with the ledger.
        waiting: The newest release, if it is paid and waits for its files; not counted in ``n_releases``.
        others: What the published folder holds that belongs to no release.
    """

    n_releases: int
    waiting: str | None
    others: tuple[str, ...] = ()

    @property
    def in_words(self) -> str:
        """The result as text."""
        words = [f"{self.n_releases:,} releases: chain, losses, sums and published files agree with the ledger."]
        if self.waiting is not None:
            words += [f"{self.waiting} is paid and waits for its files: if no run is at work, run its day again."]
        if self.others:
            words += [f"The folder published also holds what is of no release: {', '.join(self.others)}."]
        return " ".join(words)


@contained
def verify_ledger(config: Config) -> Verified:
    """Check the whole ledger against all that is kept of its releases.

    For one hour, the newest release may have an entry but not yet its published files: a run is at work, or was killed
    there and is started again. That is reported, but is not a disagreement.

    Recomputed, or compared with what is stored:

    - each entry's hash and its place in the chain;
    - each user's loss, and the maximum, against the stored plan, and the plan's scales and biases;
    - the published table: all that noise does not change, and for the rest, that it follows from one integer noisy sum
      per cell and moment;
    - of an estimate: that each user's questions cost no more than was charged, and, within a small tolerance, the table
      from the questions, their noisy answers and the releases before;
    - the same table in every other format except the map, and the manifest;
    - of a noisy count that screened a day: its noise, what it cost each user, and its verdict; and that no release
      follows a stop with the same settings;
    - running totals, counts, settings, limits, amendments, and the fields on subject and guarantee;
    - the published files, those over all days too, and all that the mirror holds.

    Not checked: the draw itself; the entry's fields on input files, quarantined rows, times, attempts and versions,
    which the chain alone binds; and the wording of the guarantee if other code wrote it. Nothing is written.

    Raises:
        LedgerBroken: Names the first entry that disagrees, and with what.
    """
    folders, known = published_folders(config), mirror.known_releases(config)  # before the ledger, because it may grow
    marked, others, tabled = witnesses.marked_ids(config), other_files(config), folders_in_table(config)
    entries = ledger.read_entries(config)
    _check_fields(entries)
    witnesses.check_marks(marked, entries, config)
    check_nothing_unpaid(folders, entries, config)
    mirror.check(known, entries)
    mirror.check_rows(known, entries, config)
    account, verifiers = Account([], config), {name: kind.verifier() for name, kind in KINDS.items()}
    released, waiting = releases(entries), None
    for number, entry in enumerate(progress(entries, "verifying releases")):
        problem = _first_problem(entry, entries[:number], account, verifiers, config)
        if problem is None and isinstance(entry, Release):
            may_wait = entry is released[-1] and _may_wait(entry, known, config)  # first: its files may arrive now
            problem = missing_file(entry, config)
            if problem and may_wait:
                waiting = entry.release_id
                continue
        if problem:
            raise LedgerBroken(
                f"entry {entry.number} ({entry.release_id if isinstance(entry, Charge) else entry.kind}): {problem}"
            )
    for name in set(tabled) - {path_in_table(entry.date, config).parent.name for entry in released}:
        raise LedgerBroken(f"published/{WHOLE_TABLE}/{shown(name)} was never released; remove it")
    is_new = waiting is not None or (len(released) > 1 and _age(released[-1]) < _MAY_WAIT)
    possible = [released, released[:-1]] if is_new else [released]
    problem = unlike_the_days(possible, config) or unlike_the_periods(possible, config)
    if problem is not None:
        raise LedgerBroken(problem)
    return Verified(len(released) - (waiting is not None), waiting, others)


def _check_fields(entries: list[Entry]) -> None:
    """Check that each entry states what such an entry states, so that all that follows can read it."""
    for entry in entries:
        name = entry.misstated() if isinstance(entry, Charge) else None
        if name is not None:
            raise LedgerBroken(
                f"entry {entry.number} ({entry.kind}): {name} is missing, or is not what a {entry.kind} states"
            )


def _first_problem(
    entry: Entry, before: list[Entry], account: Account, verifiers: Verifiers, config: Config
) -> str | None:
    try:
        problem = (
            problem_with_definition(entry, before)
            or problem_with_budget(entry, before)
            or witnesses.problem_with_users(entry, before)
        )
        if problem is None and isinstance(entry, Stopped):
            return next(_problems_of_stop(entry, before, account, config), None)
        if problem is not None or not isinstance(entry, Release):
            return problem
        return next(_problems(entry, before, account, verifiers, config), None)
    except LedgerBroken as error:
        return str(error)
    except Exception as error:  # the chain is correct, but the entry lacks a field that it must have
        return f"it cannot be checked: {type(error).__name__}"


def _may_wait(newest: Release, known: dict[str, str | None], config: Config) -> bool:
    """Return whether a release may be unpublished yet. Its manifest is published last; after that comes the mirror."""
    manifest = published_folder(newest.date, newest.revision, config) / MANIFEST
    was_published = newest.release_id in known or manifest.exists()
    mirror_was_lost = not known and newest.number > 1
    return not was_published and not mirror_was_lost and _age(newest) < _MAY_WAIT


def _age(entry: Release) -> dt.timedelta:
    """Return how long ago an entry was appended; very long if it does not say when."""
    try:
        return dt.datetime.now(dt.UTC) - entry.committed_at
    except (KeyError, TypeError, ValueError):
        return dt.timedelta.max


def _problems(
    entry: Release, before: list[Entry], account: Account, verifiers: Verifiers, config: Config
) -> Iterator[str]:
    """Yield what in an entry disagrees with the files; adds this entry to ``account``, which has those before it."""
    plan = load_plan(entry.plan, config)
    settings = config.with_settings(entry.settings)
    losses = recomputed_losses(plan, settings, entry.currency)
    account.currency, account.budget = entry.currency, settings.budget
    account.add(entry.date, losses)
    table = private_files.read_frame(private_files.releases(config), entry.files[TABLE])
    yield from _unlike_its_plan(entry, plan, losses, settings, config)
    yield from _beyond_its_account(entry, losses, account, settings)
    yield from _unlike_its_payment(entry, plan, losses, account, settings)
    yield from _unlike_its_count(entry, plan, before, settings)
    yield from _unlike_its_table(entry, plan, table)
    yield from verifiers[settings.privacy.row.kind].problems(entry, plan, table, before, config)
    yield from (f"{name} does not say what the ledger and its table say" for name in unlike(table, entry, config))
    yield from unlike_zones(entry, settings, config)
    yield from unlike_its_files(entry, config)


def _problems_of_stop(entry: Stopped, before: list[Entry], account: Account, config: Config) -> Iterator[str]:
    """Yield what in the entry of a stopped day disagrees with its plan and its count; adds it to ``account``."""
    plan, settings = load_plan(entry.plan, config), config.with_settings(entry.settings)
    losses = recomputed_charges(plan, settings, entry.currency)
    account.currency, account.budget = entry.currency, settings.budget
    account.add(entry.date, losses)
    described = describe_stop(describe_release(entry.date, entry.revision, settings), before, settings)
    unchanged = ("kind", "release_id", "dataset", "purpose", "period")
    yield from _unlike(entry, {key: described[key] for key in unchanged})
    yield from _unlike_its_settings(entry, plan, losses, config)
    yield from _beyond_its_account(entry, losses, account, settings)
    yield from _unlike_its_count(entry, plan, before, settings)


def _unlike_its_settings(entry: Charge, plan: StoredPlan, losses: dict[str, int], config: Config) -> Iterator[str]:
    if entry.stated["user_key_fingerprint"] != user_keys.known_users(config, [entry]).fingerprint:
        yield "user_key_fingerprint is not that of the plans"
    if losses != private_files.losses(entry, config):
        yield "the stored losses are not those of the plan"
    if plan.settings != {"date": entry.date.isoformat(), **entry.settings}:
        yield "settings are not those of the plan"


def _unlike_its_count(entry: Charge, plan: StoredPlan, before: list[Entry], settings: Config) -> Iterator[str]:
    """Yield what does not follow from the noisy count that screened a day, or should not be after a stop."""
    stated = entry.stated.get("screening")
    if stated is None:
        yield from ["screening is missing, and the plan pays for it"] if plan.charges else []
    elif plan.charges != recomputed_charges(plan, settings, entry.currency):
        yield "the charges of the screening are not those of its settings"
    elif type(stated.get("noisy_count")) is not int or stated != describe_screening(
        stated["noisy_count"], len(plan.charges), settings
    ):
        yield "screening does not follow from its noisy count, its settings and the users of the plan"
    elif says_stop(entry.stated) != isinstance(entry, Stopped):
        yield "it does not do what the verdict of its screening says"
    if find_stop(entry.date, entry.revision, before, entry.settings) is not None:
        yield "its day was stopped before with the same settings"


def _unlike_its_plan(
    entry: Release, plan: StoredPlan, losses: dict[str, int], settings: Config, config: Config
) -> Iterator[str]:
    """Yield where an entry disagrees with its plan, or with what this code says about such a release."""
    date, revision = entry.date, entry.revision
    subject = describe_release(date, revision, settings)
    unchanged = _SUBJECT if entry.code == subject["code"] else _SUBJECT_OF_ANY_CODE
    stated = {key: subject[key] for key in unchanged} | kind_of(settings).described(plan, settings)
    yield from _unlike(entry, stated)
    yield from _unlike_its_settings(entry, plan, losses, config)
    if release_id(date, settings, revision) != entry.release_id:
        yield "release_id is not that of its settings"


def _beyond_its_account(entry: Charge, losses: dict[str, int], account: Account, settings: Config) -> Iterator[str]:
    """Yield where an entry disagrees with the recomputed losses, and the limits that they pass."""
    used = account.used(entry.date)
    total = durable.sha256(durable.canonical_json(account.total))
    of_day = account.of_day(entry.date)
    worst, worst_of_day, *others = (max(lost.values()) for lost in (losses, of_day, account.total, used))
    cost = describe_cost(worst, worst_of_day, *others, config=settings)
    begins = so_far_in_words(entry.currency, worst_of_day, others[0], settings.columns.user_is)
    if entry.code != code_hash() and entry.in_words.startswith(begins):
        del cost["in_words"]  # the rest of the wording is that of other code
    yield from _unlike(entry, cost)
    if entry.totals != total:
        yield "the totals are not the sums of the losses so far"
    if max(losses.values()) > settings.privacy.loss_per_day:
        yield "epsilon passes privacy.epsilon_per_day"
    if any(used[user] > account.limit for user in losses):
        yield "a user's losses pass budget.epsilon_total"


def _unlike_its_payment(
    entry: Release, plan: StoredPlan, losses: dict[str, int], account: Account, settings: Config
) -> Iterator[str]:
    """Yield where an entry disagrees with what users had left before it."""
    used, stated = account.used(entry.date), entry.stated.get(PAID_IN_PART)
    # each window that counts holds the day, so what counted before is less by the day's own loss
    problem = unlike_account(plan, lambda user: account.limit - used[user] + losses.get(user, 0), settings)
    yield from [problem] if problem else []
    if stated != paid(plan, settings).get(PAID_IN_PART):
        yield f"{PAID_IN_PART} is not what users had left"
    elif stated is not None and Decimal(stated["share"]) < settings.budget.least_share:
        yield "the budget paid less of the day than budget.least_share asks for"


def _unlike(entry: Charge, expected: dict[str, Any]) -> Iterator[str]:
    return (f"{key} is not what the plans give" for key, value in expected.items() if entry.stated[key] != value)


def _unlike_its_table(entry: Release, plan: StoredPlan, table: pl.DataFrame) -> Iterator[str]:
    """Yield where an entry disagrees with the size of its table."""
    if table.height != entry.n_published:
        yield "cells published are not those of the released table"
    if plan.cells["n_records"].sum() != entry.rows.get(KEPT):
        yield "rows kept are not the records of the plan"
    if table["n_records"].sum() != entry.n_records_covered:
        yield "records_covered is not that of the released table"
