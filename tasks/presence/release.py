"""Release: reads the day, asks its questions once with noise, and appends the entry. With it, the day is paid."""

import datetime as dt
import logging
from typing import Any

from dpmath.noise.sampling import RandomBytes
from dpmath.presence.chosen import chosen_of
from dpmath.presence.programme import Answered, asked_for_real, programme
from dpmath.presence.state import MODEL
from tasks.account import ledger, private_files, witnesses
from tasks.account.entry import FORMAT, Entry, Stated
from tasks.account.identity import check_revision
from tasks.account.presence_release import PRESENCE, PresenceRelease
from tasks.account.said_first import said_first
from tasks.base import durable, randomness
from tasks.base.errors import HexveilError
from tasks.base.frames import parquet_bytes
from tasks.base.logs import say
from tasks.base.provenance import code_hash, now, versions
from tasks.base.steps import step
from tasks.base.storage import MANIFEST, own
from tasks.presence.account import check_account, check_paid, described_cost, of_day
from tasks.presence.config import PresenceConfig
from tasks.presence.formats import FORMATS, PresenceDay, manifest
from tasks.presence.joint import described_day, described_error, joint_tables
from tasks.presence.reading import read_day
from tasks.presence.states import ANSWERS, AREA, answers_table, asked, known_before, packed, remove_unreleased
from tasks.presence.stored_questions import QUESTIONS, questions_bytes
from tasks.presence.table import check, table_of

log = logging.getLogger("hexveil.presence")

_OF_ACCOUNT = {"zcdp": "CKS-P12", "gaussian": "HV-L73"}
GUARANTEE = {
    "unit_of_privacy": "one user with all its records of the day: that it was there at all, where, when and how often, "
    "and all its values",
    "neighbours": "one user, with any number of records anywhere, is added or taken away",
    "not_protected": "what is declared in settings: the area, the bounds, the cap, about how many users there are; "
    "that a file for the day was there, its format and columns; when the release was made, and how long that took",
    "epsilon": "the least epsilon at delta that follows from rho, rounded up; rho is what is counted, and epsilons of "
    "several releases must not be added",
    "composition": "each day costs everybody its rho, there or not, for nobody may know who was there; rho of all days "
    "and revisions adds up, and so does that of several ids of one person",
}
"""What is promised, in words."""


def release_id(date: dt.date, config: PresenceConfig, revision: str | None = None) -> str:
    """Return the id of a release: dataset, day, grid, and the name of the revision if it is one."""
    grid = f"h3r{config.grid.h3_resolution}-{config.grid.slot_minutes}min"
    return f"{config.name}-{date}-{grid}-presence" + (f"-revision-{revision}" if revision else "")


def find_release(
    date: dt.date, revision: str | None, entries: list[Entry], config: PresenceConfig
) -> PresenceRelease | None:
    """Return the entry of a day's release or of one of its revisions; None if it does not exist.

    Raises:
        HexveilError: It was made with another grid, there is nothing to revise, or a revision's name is not allowed.
    """
    check_revision(revision)
    released, wanted = of_day(date, entries), release_id(date, config, revision)
    if revision is not None and not released:
        raise HexveilError(f"{date} has not been released, so there is nothing to revise; run it without --revision")
    found = next((one for one in released if one.revision == revision), None)
    settings = config.public_settings()
    if found is not None and (found.area, found.settings["dataset"]["timezone"]) != (
        settings["grid"]["area"],
        config.timezone,
    ):
        raise HexveilError(
            f"{date} was released with another grid.area or timezone; releasing it anew would cost everybody again. "
            "Restore them, or name a revision, which is paid for a second time: --revision NAME"
        )
    if found is not None and found.release_id != wanted:
        raise HexveilError(
            f"{date} was released as {found.release_id}; releasing it as {wanted} would cost everybody again. Restore "
            "[grid], or name a revision, which is paid for a second time: --revision NAME"
        )
    return found


@step("release {config.dataset.name} {date}", repeatable=False)
def release_day(date: dt.date, config: PresenceConfig, revision: str | None = None, began: str | None = None) -> str:
    """Release a local day and return the release's id; a release that exists already does not change.

    The noisy files are written and flushed first, named by their hash. Then the entry that names and charges them is
    appended. A crash before has spent nothing, and nobody has seen what was drawn.

    Args:
        date: The local day.
        config: The configuration.
        revision: Name of a deliberate further release of the day, with its own charge; None for the first.
        began: When the run of several days began that this one is of. The ledger says that of all of them: when a day
            begins says how long the day before took, and so how many records that had.

    Raises:
        BudgetExceeded: The budget does not pay the day.
        HexveilError: The ledger is of other users, another currency, grid or budget.
        BadInput: There is no file, or it lacks a column.
    """
    return release_with(date, config, randomness.random_bytes, revision, began)


def release_with(
    date: dt.date,
    config: PresenceConfig,
    random_bytes: RandomBytes,
    revision: str | None = None,
    began: str | None = None,
) -> str:
    """Release a day with the given source of randomness; only tests use one that is not the system's."""
    with ledger.locked(config):
        own(config)
        entries = ledger.read_entries(config)
        found = find_release(date, revision, entries, config)
        if found is not None:
            return found.release_id
        check_account(entries, config)
        check_paid(date, entries, config)
        remove_unreleased(entries, config)
        # before records are read, so it does not say how long that took
        described = _described(date, revision, config) | {"committed_at": began or now()}
        private_day = read_day(date, config, f"revision-{revision}" if revision else "")
        attempt = witnesses.count_attempt(described["release_id"], config)
        answered = asked_for_real(
            programme(known_before(date, entries, config), asked(config, config.calendar.kind_of_day(date))),
            private_day,
            random_bytes,
        )
        loss = answered.loss(config.privacy.currency)
        if loss > config.privacy.loss_per_day:
            raise HexveilError("the questions cost more than the day may; this is a defect, report it")
        costs = {**described_cost(date, loss, entries, config), "attempt": attempt}
        entry = _with_files({**described, **costs}, answered, date, config)
        ledger.append(entry, entries, config)
    say(log, "released", release=entry["release_id"], cells=entry["cells"]["published"], epsilon=entry["epsilon"])
    return str(entry["release_id"])


def _with_files(entry: Stated, answered: Answered, date: dt.date, config: PresenceConfig) -> Stated:
    """Write the files of a release as private files named by their hash, and return the entry that names them."""
    folder = private_files.releases(config)
    table = table_of(answered.estimate, date, entry["release_id"], float(entry["epsilon"]), config)
    check(table, config)
    n_cells = len(config.hexagons) * config.n_slots
    entry = entry | {"cells": {"total": n_cells, "published": table.height}}
    state = durable.write_named_by_hash(private_files.states(config), packed(answered.estimate.state))
    entry |= {"states": {"after": state}}
    joint = joint_tables(answered.estimate, date, config)
    entry |= described_error(joint) | described_day(joint.tables)
    day = PresenceDay(table, config, date, entry["revision"], entry["in_words"], said_first(entry))
    contents = {one.name: one.writes(day) for one in FORMATS if one.is_wanted(day)}
    contents |= {name: parquet_bytes(one) for name, one in joint.tables.items()}
    contents[AREA] = durable.readable_json(config.hexagons)
    contents[QUESTIONS] = questions_bytes(chosen_of(answered.questions))
    contents[ANSWERS] = parquet_bytes(answers_table(answered.answers))
    hashes = {name: durable.write_named_by_hash(folder, content) for name, content in contents.items()}
    hashes[MANIFEST] = durable.write_named_by_hash(folder, manifest(entry, hashes))
    return entry | {"files": hashes}


def _described(date: dt.date, revision: str | None, config: PresenceConfig) -> dict[str, Any]:
    """Return the fields that describe a release's subject, its guarantee, and the code that made it."""
    start, end = config.day_bounds(date)
    settings = config.public_settings()
    return {
        "kind": PRESENCE,
        "format": FORMAT,
        "release_id": release_id(date, config, revision),
        "revision": revision,
        "dataset": config.name,
        "purpose": config.dataset.purpose,
        "date": date.isoformat(),
        "period": {"start": start.isoformat(), "end": end.isoformat(), "timezone": config.timezone},
        "guarantee": guarantee(config),
        "mechanism": "presence",
        "model": MODEL,
        "theorems": theorems_of(config),
        "noise": {
            "distribution": "gaussian on integers, drawn exactly",
            "source": randomness.SOURCE,
            "draws": "once, independent for each noisy sum",
        },
        "settings": settings,
        "code": code_hash(),
        "versions": versions(),
    }


def theorems_of(config: PresenceConfig) -> list[str]:
    """Return the results that a release relies on."""
    return ["CKS-A3", "HV-L70", "HV-L71", "HV-L72", _OF_ACCOUNT[config.privacy.definition]]


def guarantee(config: PresenceConfig) -> dict[str, str]:
    """Return what is promised, in words."""
    return {"definition": config.privacy.currency.definition, **GUARANTEE}
