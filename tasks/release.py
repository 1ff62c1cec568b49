"""Release: draw the noise once, append the ledger entry, and with that the day is released and paid."""

import datetime as dt
import logging
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from prefect import task
from prefect.cache_policies import NO_CACHE

from dpmath.accounting import LOSS_UNITS, ExactIntArray
from dpmath.sampling import discrete_laplace
from tasks import durable, entropy, ledger, private_files, schemas, warehouse
from tasks.config import Config
from tasks.disclosure import COLUMNS, describe_cost, describe_release, now
from tasks.errors import BudgetExceeded, HexveilError, LedgerBroken, contained
from tasks.estimates import statistic_frame
from tasks.ingest import current_files
from tasks.occupancy import prepared_by
from tasks.plan_files import MOMENTS, load_plan, plan_file, plan_settings
from tasks.private_files import published_folder

Noise = Callable[[ExactIntArray], Any]

_INSTANT = "%Y-%m-%dT%H:%M:%SZ"

log = logging.getLogger("hexveil.release")


def draw_noise(inverse_scale: ExactIntArray) -> ExactIntArray:
    """Return exact discrete Laplace noise from the operating system's randomness, one draw per element."""
    return discrete_laplace(inverse_scale, entropy.random_bytes).astype(object)


def release_id(date: dt.date, config: Config) -> str:
    """Return what a release is known by: dataset, day, grid and statistics."""
    statistics = "mean-variance" if config.statistics.variance else "mean"
    grid = f"h3r{config.grid.h3_resolution}-{config.grid.slot_minutes}min"
    return f"{config.dataset.name}-{date}-{grid}-{statistics}"


@task
@contained
def find_release(date: dt.date, config: Config) -> str | None:
    """Return the id of the day's release, None where it has not been made.

    Raises:
        HexveilError: The day was released with another grid or other statistics.
    """
    with ledger.locked(config):
        return _find(date, config)


@task(retries=0, cache_policy=NO_CACHE, persist_result=False)
@contained
def release_statistics(date: dt.date, plan_hash: str, config: Config) -> str:
    """Release a planned day and return the release's id; a day that was released already is left as it is.

    In this order: the noisy table is written to files named by their hash and flushed; the ledger entry that
    names them and charges for them is appended and flushed. A crash before the append spent nothing and
    nobody saw anything; after it, all else can be redone from the files. So this step is never retried,
    cached or stored by the scheduler: running the day again finds the release.

    Raises:
        BudgetExceeded: Another release has meanwhile spent what the plan counted on.
        HexveilError: The warehouse is no longer what the plan was made from.
    """
    return release_with(date, plan_hash, config, draw_noise)


def release_with(date: dt.date, plan_hash: str, config: Config, noise: Noise) -> str:
    """Release a planned day with a given source of noise; only tests use another than ``draw_noise``."""
    with ledger.locked(config):
        found = _find(date, config)
        if found is not None:
            return found
        if published_folder(date.isoformat(), config).exists():
            raise LedgerBroken(
                f"{published_folder(date.isoformat(), config)} is there, but no entry of the ledger pays for it: a "
                "backup older than that release was restored. Restore the last one; releasing the day again would "
                "spend twice."
            )
        plan = load_plan(plan_hash, config)
        if plan["settings"] != plan_settings(date, config):
            raise HexveilError("the plan was made for another day or other settings; run the day again to plan anew")
        entries = ledger.read_entries(config)
        private_files.remove_unreleased(entries, config)
        identity = release_id(date, config)
        statistics = statistic_frame(_noisy_cells(date, plan, entries, config, noise), identity, config)
        schemas.check(statistics, schemas.statistic_schema(config), "statistics")
        entry = _entry(date, plan_hash, plan, statistics, entries, config)
        files = _write_files(statistics, entry, config)
        ledger.append({**entry, "files": files, "committed_at": now()}, config)
    log.info("%s released: %d cells", identity, statistics.height)
    return identity


def _find(date: dt.date, config: Config) -> str | None:
    wanted = release_id(date, config)
    for entry in ledger.read_entries(config):
        if entry["release_id"] == wanted:
            return wanted
        if entry["dataset"] == config.dataset.name and entry["date"] == date.isoformat():
            raise HexveilError(
                f"{date} was released as {entry['release_id']}; releasing it as {wanted} would cost its users "
                "again. Restore [grid] and [statistics] to publish the release that was made."
            )
    return None


def _noisy_cells(
    date: dt.date, plan: dict[str, Any], entries: list[ledger.Entry], config: Config, noise: Noise
) -> pl.DataFrame:
    """Return the published cells of the plan with their clipped sums and noise on them."""
    cells = private_files.read_frame(private_files.plans(config), plan["files"]["cells"]).filter(
        pl.col("mean_inverse_scale") > 0
    )
    private_sums = _private_sums(date, plan, entries, config)
    if not private_sums.select("slot_start", "h3_cell").equals(cells.select("slot_start", "h3_cell")):
        raise HexveilError("the cells of the warehouse are not those of the plan; run the day again")
    moments = MOMENTS if config.statistics.variance else MOMENTS[:1]
    noisy = {}
    for moment in moments:
        inverse_scale = np.array(cells[f"{moment}_inverse_scale"].to_list(), dtype=object)
        private_sum = np.array([int(one) for one in private_sums[f"private_{moment}_sum"]], dtype=object)
        noisy[f"noisy_{moment}_sum"] = private_files.exact_series(private_sum + noise(inverse_scale))
    return cells.with_columns(**noisy)


def _private_sums(date: dt.date, plan: dict[str, Any], entries: list[ledger.Entry], config: Config) -> pl.DataFrame:
    private_files.read(private_files.plans(config), plan["files"]["pairs"])
    parameters = {"date": date, "pairs": str(plan_file(plan, "pairs", config))}
    keys = entropy.known_users(config, entries)
    statement = "release/cell_sum_with_squares" if config.statistics.variance else "release/cell_sum"
    with warehouse.connect(config) as connection:
        users = warehouse.frame(connection, "warehouse/day_users", {"date": date})["user_id"]
        user_key = pl.DataFrame({"user_id": users, "user_hash": keys.users(users.to_list())})
        connection.register("user_key", user_key)
        if warehouse.rows(connection, "checks/prepared_otherwise", prepared_by(date, config)):
            raise HexveilError("the day was prepared with other settings since the plan was made; run the day again")
        if warehouse.rows(connection, "checks/occupancy_changed", parameters):
            raise HexveilError("the occupancy changed since the plan was made; run the day again to plan anew")
        return warehouse.frame(connection, statement, parameters)


def _entry(
    date: dt.date,
    plan_hash: str,
    plan: dict[str, Any],
    statistics: pl.DataFrame,
    entries: list[ledger.Entry],
    config: Config,
) -> ledger.Entry:
    """Return what the ledger says of the release, but for its files and when it was committed; checks the budget."""
    keys = entropy.known_users(config, entries)
    cost = describe_cost(*_worst_losses(plan, entries, config), config)
    cells = private_files.read_frame(private_files.plans(config), plan["files"]["cells"])
    return {
        **describe_release(release_id(date, config), date, config),
        **cost,
        "cells": {"total": cells.height, "published": statistics.height, "withheld": cells.height - statistics.height},
        "records_covered": int(statistics["n_records"].sum()),
        "plan": plan_hash,
        "losses": plan["files"]["losses"],
        "user_key_fingerprint": keys.fingerprint,
        **_inputs(date, keys, config),
    }


def _worst_losses(plan: dict[str, Any], entries: list[ledger.Entry], config: Config) -> tuple[int, int]:
    """Return the worst user's loss by this release and in all with it, in units of 2^-50, within the budget."""
    here = private_files.losses(plan["files"], config)
    totals = ledger.total_losses([private_files.spent(entries, config), here])
    worst, worst_total = max(here.values()), max(totals.values())
    worst_here = max(totals[user] for user in here)
    if (
        worst_here > Fraction(config.budget.epsilon_total) * LOSS_UNITS
        or worst > Fraction(config.privacy.epsilon_per_day) * LOSS_UNITS
    ):
        raise BudgetExceeded("the plan is older than the last release or the budget; run the day again to plan anew")
    return worst, worst_total


def _inputs(date: dt.date, keys: entropy.UserKeys, config: Config) -> dict[str, Any]:
    """Return the day's rows by what became of them, and its files with a keyed digest of each.

    A plain hash would confirm a guess at the values.
    """
    with warehouse.connect(config) as connection:
        day = {"date": date, "file_ids": current_files(connection, date, config)}
        files = warehouse.frame(connection, "warehouse/day_files", day)
        rows = dict(warehouse.rows(connection, "warehouse/day_counts", day))
    inputs = [
        {"name": file["name"], "rows": file["n_rows"], "digest": keys.digest("file", file["content_hash"].encode())}
        for file in files.iter_rows(named=True)
    ]
    return {"inputs": inputs, "rows": rows}


def _write_files(statistics: pl.DataFrame, entry: ledger.Entry, config: Config) -> dict[str, str]:
    """Write what will be published to private files named by their hash, and return the hashes by name."""
    folder = private_files.releases(config)
    hashes = {
        "statistics.parquet": private_files.write_frame(folder, statistics),
        "statistics.csv": durable.write_named_by_hash(folder, statistics.write_csv(datetime_format=_INSTANT).encode()),
    }
    manifest = {key: value for key, value in entry.items() if key not in ("inputs", "losses", "user_key_fingerprint")}
    manifest |= {"files": dict(hashes), "columns": COLUMNS}
    hashes["manifest.json"] = durable.write_named_by_hash(folder, durable.readable_json(manifest))
    return hashes
