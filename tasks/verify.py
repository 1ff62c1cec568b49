"""Verify: recompute every loss from its stored plan, and hold files and sums against what the ledger says."""

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

from tasks import durable, ledger, private_files
from tasks.config import Config
from tasks.errors import LedgerBroken, contained
from tasks.plan_files import MOMENTS, load_plan
from tasks.private_files import published_folder
from tasks.progress import progress


@contained
def verify_ledger(config: Config) -> int:
    """Check the whole ledger and return how many releases it holds.

    Each entry's hash and place in the chain, each user's loss and their maximum against the stored plan, the
    running totals, counts, settings and limits, and the published files are recomputed or compared with what is
    stored. Taken as it is: what the entry says of the input files and rows, times and versions.

    Raises:
        LedgerBroken: Names the first entry that disagrees, and with what.
    """
    entries = ledger.read_entries(config)
    totals: Counter[str] = Counter()
    for entry in progress(entries, "verifying releases"):
        for problem in _problems(entry, totals, config):
            raise LedgerBroken(f"entry {entry['number']} ({entry['release_id']}): {problem}")
    released = {entry["date"] for entry in entries}
    for folder in sorted(published_folder("*", config).parent.glob("date=*")):
        if folder.name.removeprefix("date=") not in released:
            raise LedgerBroken(f"{folder} was published, but no entry pays for it; restore the ledger from backup")
    return len(entries)


def recomputed_losses(plan_hash: str, config: Config) -> dict[str, int]:
    """Return each user's loss, by keyed hash in units of 2^-50, from a stored plan's intervals and scales alone."""
    plan = load_plan(plan_hash, config)
    folder = private_files.plans(config)
    cells = private_files.read_frame(folder, plan["files"]["cells"])
    pairs = private_files.read_frame(folder, plan["files"]["pairs"]).join(cells, on=["slot_start", "h3_cell"])
    losses: Counter[str] = Counter()
    for moment in [moment for moment in MOMENTS if f"{moment}_width" in pairs.columns]:
        for user, width, inverse_scale in pairs.select(
            "user_hash", f"{moment}_width", f"{moment}_inverse_scale"
        ).iter_rows():
            losses[user] += width * inverse_scale
    return {user: loss for user, loss in losses.items() if loss}


def _problems(entry: ledger.Entry, totals: Counter[str], config: Config) -> Iterator[str]:
    plan = load_plan(entry["plan"], config)
    losses = recomputed_losses(entry["plan"], config)
    totals.update(losses)
    cells = private_files.read_frame(private_files.plans(config), plan["files"]["cells"])
    table = private_files.read_frame(private_files.releases(config), entry["files"]["statistics.parquet"])
    counts = {"total": cells.height, "published": table.height, "withheld": cells.height - table.height}
    agreed = {
        "the stored losses are not those of the plan": losses == private_files.losses(entry, config),
        "epsilon is not the worst loss of the plan": ledger.exact_decimal(max(losses.values())) == entry["epsilon"],
        "epsilon_total_after is not the sum of the losses so far": ledger.exact_decimal(max(totals.values()))
        == entry["epsilon_total_after"],
        "cells are not those of the plan and the released table": counts == entry["cells"],
        "records_covered is not that of the released table": table["n_records"].sum() == entry["records_covered"],
        "settings are not those of the plan": plan["settings"] == {"date": entry["date"], **entry["settings"]},
        "epsilon passes privacy.epsilon_per_day": Decimal(entry["epsilon"])
        <= Decimal(entry["settings"]["privacy"]["epsilon_per_day"]),
        "the limit is not budget.epsilon_total": entry["epsilon_total_limit"]
        == entry["settings"]["budget"]["epsilon_total"],
    }
    yield from (problem for problem, agrees in agreed.items() if not agrees)
    for name, file_hash in entry["files"].items():
        path = published_folder(entry["date"], config) / name
        if not path.exists():
            yield f"{path} is missing; run the day again to publish it"
        elif durable.sha256(path.read_bytes()) != file_hash:
            yield f"{path} is not the file that was released; run the day again to publish it"
