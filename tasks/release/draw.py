"""Release: has the noise drawn once and appends the ledger entry. With the entry, the day is released and charged.

The day's kind draws, with ``dpmath.noise.sampling``.
"""

import datetime as dt
import logging
from functools import partial
from typing import Any

import polars as pl

from dpmath.noise.sampling import RandomBytes
from tasks.account import ledger, mirror, private_files, witnesses
from tasks.account.amendments import check_budget
from tasks.account.budgets import Account, Losses
from tasks.account.chain import charges
from tasks.account.entry import Entry, Stated
from tasks.account.identity import find_entry
from tasks.account.screenings import find_stop, why_stopped
from tasks.account.user_keys import UserKeys, known_users
from tasks.account.witnesses import check_nothing_unpaid, check_same_users, published_folders
from tasks.base import frames, randomness, schemas, warehouse
from tasks.base.config import Config
from tasks.base.errors import BudgetExceeded, HexveilError, InUse
from tasks.base.logs import say, warn
from tasks.base.provenance import now
from tasks.base.steps import step
from tasks.kinds.kind import Drawing, Drawn
from tasks.kinds.payment import paid, unlike_account
from tasks.kinds.stored_plan import StoredPlan, plan_settings
from tasks.kinds.table import kind_of, load_plan
from tasks.occupancy.user_cells import prepared_by
from tasks.output_formats.columns import meaning
from tasks.release.files import write_files
from tasks.release.screening import describe_stop, says_stop, screen_day
from tasks.release.statement import describe_cost, describe_release
from tasks.release.zones import outlines_of, read_zones, zone_table

log = logging.getLogger("hexveil.release")

_OLDER = "the plan is older than the last release or the budget; run the day again to plan anew"


def check_not_stopped(date: dt.date, revision: str | None, entries: list[Entry], config: Config) -> None:
    """Check that the day was not stopped under these settings.

    Raises:
        DayStopped: It was. The count is not asked again: that would cost again.
    """
    stop = find_stop(date, revision, entries, config.public_settings())
    if stop is not None:
        raise why_stopped(stop)


@step("release {config.dataset.name} {date}", repeatable=False)
def release_statistics(date: dt.date, plan_hash: str, config: Config, revision: str | None = None) -> str:
    """Release a planned day and return the release's id; a release that exists already does not change.

    First the noisy table is written to files named by their hash, and flushed. Then the ledger entry that names and
    charges them is appended, and flushed. A crash before the append has spent nothing, and nobody has seen the noisy
    values. After the append, all else can be repeated from the files. So the scheduler never retries, caches or stores
    this step: running the day again finds the release.

    Args:
        date: The local day.
        plan_hash: The hash of the stored plan.
        config: The configuration that the plan was made with.
        revision: Name of a deliberate further release of the day, with its own charge; None for the first.

    Raises:
        DayStopped: The noisy count says that most users' values could not be read; only the count was spent.
        BudgetExceeded: Another release has since spent the budget that the plan needs.
        HexveilError: The day, the settings or the warehouse have changed since the plan was made.
    """
    return release_with(date, plan_hash, config, randomness.random_bytes, revision)


def release_with(
    date: dt.date, plan_hash: str, config: Config, random_bytes: RandomBytes, revision: str | None = None
) -> str:
    """Release a planned day with the given source of randomness; only tests use one that is not the system's."""
    with ledger.locked(config):
        entries = ledger.read_entries(config)
        found = find_entry(date, revision, entries, config)
        if found is not None:
            return found.release_id
        check_same_users(entries, config)
        check_budget(entries, config)
        _check_witnesses(entries, config)
        private_files.remove_unreleased(entries, config)
        check_not_stopped(date, revision, entries, config)
        zones = read_zones(config)  # what is wrong with them is said before anything is drawn
        plan = load_plan(plan_hash, config)
        if plan.settings != plan_settings(date, config):
            raise HexveilError("the plan was made for another day or other settings; run the day again to plan anew")
        intent = describe_release(date, revision, config)
        _check_payment(date, plan, entries, config)
        costs = _checked_costs(date, plan.losses, entries, config)
        costs_of_stop = _checked_costs(date, plan.charges, entries, config) if plan.charges else {}
        attempt = witnesses.count_attempt(intent["release_id"], config)
        with warehouse.kept_open(config):
            drawn = _drawn(date, plan, entries, config, random_bytes, intent)
            execution = _execution(intent, plan, drawn.statistics, known_users(config, entries), config)
            screened = _screened(date, plan, entries, config, random_bytes)
        of_zones = None if zones is None else (zones, zone_table(outlines_of(zones), drawn.tables, config))
        made = {"plan": plan_hash, "attempt": attempt}
        entry = {**intent, **costs, **execution, **drawn.stated, **screened, **made}
        entry |= {"files": write_files(drawn.statistics, plan, entry, config, drawn.tables, of_zones)}
        if says_stop(screened):
            _stop({**intent, **screened, **made, **costs_of_stop}, date, plan, entries, config)
        ledger.append({**entry, "committed_at": now()}, entries, config)
    say(log, "released", release=intent["release_id"], cells=drawn.statistics.height, epsilon=entry["epsilon"])
    return str(intent["release_id"])


def _check_witnesses(entries: list[Entry], config: Config) -> None:
    """Check that the ledger holds every release found in published folders, the mirror and marked attempts."""
    marked = witnesses.marked_ids(config)
    witnesses.check_marks(marked, entries, config)
    check_nothing_unpaid(published_folders(config), entries, config)
    try:
        mirror.check(mirror.known_releases(config, make_anew=True), entries)
    except InUse as error:
        warn(log, "ledger is not compared with the mirror this time", reason=error)
    witnesses.mark_paid([entry for entry in charges(entries) if entry.release_id not in marked], config)


def _drawn(
    date: dt.date, plan: StoredPlan, entries: list[Entry], config: Config, random_bytes: RandomBytes, intent: Stated
) -> Drawn:
    private = partial(_private_totals, date, plan, entries, config)
    is_revision = intent["revision"] is not None
    drawing = Drawing(date, plan, entries, config, str(intent["release_id"]), is_revision, private, random_bytes)
    kind = kind_of(config)
    drawn = kind.release(drawing)
    schemas.check(drawn.statistics, kind.schema(config), "statistics")
    for column in drawn.statistics.columns:
        meaning(column)  # what readers cannot understand is not charged
    return drawn


def _private_totals(
    date: dt.date, plan: StoredPlan, entries: list[Entry], config: Config, statement: str
) -> pl.DataFrame:
    """Return the private totals of the plan's pairs; raises what ``_private`` does."""
    parameters: dict[str, Any] = {"date": date, "pairs": str(plan.pairs_path)}
    if "$with_squares" in warehouse.statement(statement):
        parameters["with_squares"] = config.statistics.variance
    return _private(date, plan, statement, parameters, entries, config)


def _private(
    date: dt.date, plan: StoredPlan, statement: str, parameters: dict[str, Any], entries: list[Entry], config: Config
) -> pl.DataFrame:
    """Return the private rows that a statement reads; refuse if the warehouse changed since the plan was made."""
    planned, keys = {"date": date, "pairs": str(plan.pairs_path)}, known_users(config, entries)
    with warehouse.connect(config) as connection:
        users = warehouse.frame(connection, "read/day_users", {"date": date})["user_id"]
        user_key = pl.DataFrame({"user_id": users, "user_hash": keys.users(users.to_list())})
        connection.register("user_key", user_key)
        if warehouse.rows(connection, "checks/prepared_otherwise", prepared_by(date, config)):
            raise HexveilError("the day was prepared with other settings since the plan was made; run the day again")
        if warehouse.rows(connection, "checks/occupancy_changed", planned):
            raise HexveilError("the occupancy changed since the plan was made; run the day again to plan anew")
        return warehouse.frame(connection, statement, parameters)


def _screened(
    date: dt.date, plan: StoredPlan, entries: list[Entry], config: Config, random_bytes: RandomBytes
) -> Stated:
    """Return what the entry states of the count that screens the day; empty if the plan asks nobody.

    It is drawn with the release, and decides only which of two entries is appended. So whatever fails before the append
    fails in the same way whatever the count says, and a verdict is known to nobody who has not paid for it.
    """
    if not plan.charges:
        return {}
    private = _private(date, plan, "read/user_missing", {"date": date}, entries, config)
    return screen_day(plan, private, config, random_bytes)


def _stop(stated: Stated, date: dt.date, plan: StoredPlan, entries: list[Entry], config: Config) -> None:
    """Append the entry of a stopped day, which charges the count alone, and raise the error that says so."""
    paid = {"losses": plan.files["charges"], "user_key_fingerprint": known_users(config, entries).fingerprint}
    entry = {**describe_stop(stated, entries, config), **paid, "committed_at": now()}
    stopped = ledger.append(entry, entries, config)
    private_files.remove_unreleased([*entries, stopped], config)
    say(log, "stopped", release=entry["release_id"], epsilon=entry["epsilon"])
    check_not_stopped(date, stated["revision"], [*entries, stopped], config)


def _check_payment(date: dt.date, plan: StoredPlan, entries: list[Entry], config: Config) -> None:
    """Check that users have as much left as the plan says: its release says so too."""
    account = Account(entries, config)
    used = account.used(date)
    if unlike_account(plan, lambda user: account.limit - used[user], config) is not None:
        raise BudgetExceeded(_OLDER)


def _checked_costs(date: dt.date, here: Losses, entries: list[Entry], config: Config) -> dict[str, str | None]:
    """Write each user's new total, and return the cost of some losses; refuse if any user would pass the limit."""
    account = Account(entries, config)
    account.add(date, here)
    used = account.used(date)
    worst, worst_used = max(here.values()), max(used.values())
    most = config.privacy.loss_per_day
    if not account.may_pay(here, used, most):
        raise BudgetExceeded(_OLDER)
    total_hash = frames.write_json(private_files.totals(config), dict(account.total))
    return {
        **describe_cost(worst, max(account.of_day(date).values()), max(account.total.values()), worst_used, config),
        "totals": total_hash,
    }


def _execution(
    intent: Stated,
    plan: StoredPlan,
    statistics: pl.DataFrame,
    keys: UserKeys,
    config: Config,
) -> Stated:
    """Return the fields of the entry about the plan, the inputs and the published records."""
    return {
        "losses": plan.files["losses"],
        "user_key_fingerprint": keys.fingerprint,
        **kind_of(config).described(plan, config),
        **paid(plan, config),
        "records_covered": int(statistics["n_records"].sum()),
        **_note_inputs(intent["release_id"], dt.date.fromisoformat(intent["date"]), keys, config),
    }


def _note_inputs(release_id: str, date: dt.date, keys: UserKeys, config: Config) -> dict[str, Any]:
    """Store which files the release is made from, and return these files and the day's rows by outcome.

    Each file gets a keyed digest, a different one in each release. A plain hash would confirm a guess of the values. An
    equal digest in two releases would reveal that no value changed between them.
    """
    day = {"date": date}
    with warehouse.connect(config) as connection:
        files = warehouse.frame(connection, "read/prepared_files", day)
        rows = dict(warehouse.rows(connection, "read/prepared_outcomes", day))
        with warehouse.transaction(connection):
            warehouse.run_on(connection, "write/delete_release", "released_file", {"release_id": release_id})
            warehouse.run(connection, "write/released_file", {"release_id": release_id, **day})
    digests = [keys.digest("file", f"{release_id} {content_hash}".encode()) for content_hash in files["content_hash"]]
    files = files.select("name", rows="n_rows").with_columns(digest=pl.Series(digests, dtype=pl.String))
    return {"inputs": files.to_dicts(), "rows": rows}
