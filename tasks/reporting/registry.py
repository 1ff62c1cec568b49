"""Registry: the deployment in the terms that a privacy officer and public registries use; JSON and Markdown.

The terms are those of NIST SP 800-226, from the guarantee at the top to the handling of the data at the bottom.
"""

from itertools import pairwise
from pathlib import Path
from typing import Any

from tasks.account.amendments import amendments_in_words
from tasks.account.chain import releases
from tasks.account.entry import Entry
from tasks.account.screenings import changed_value
from tasks.base import durable, randomness
from tasks.base.config import Config
from tasks.base.errors import contained
from tasks.base.provenance import code_hash, versions
from tasks.kinds.table import kind_of
from tasks.release.statement import guarantee, theorems_of
from tasks.reporting.budget_report import report_budget

FORM = "hexveil registry 1"


@contained
def write_registry(folder: Path, entries: list[Entry], config: Config) -> list[Path]:
    """Write the deployment's description as ``registry.json`` and ``registry.md``, and return both paths."""
    return write_described(folder, describe_deployment(entries, config))


def write_described(folder: Path, described: dict[str, Any]) -> list[Path]:
    """Write a deployment's description, by section, in both forms, and return their paths."""
    contents = {"registry.json": durable.readable_json(described), "registry.md": _markdown(described).encode()}
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        durable.write_whole(folder / name, content, mode=0o644)
    return [folder / name for name in contents]


def describe_deployment(entries: list[Entry], config: Config) -> dict[str, Any]:
    """Return the deployment by section; everything in it is public."""
    released, privacy, value = releases(entries), config.privacy, config.value
    dates = sorted(entry.date for entry in released)
    words = guarantee(privacy, config.columns.user_is)
    spent = report_budget(entries, config)
    statistics = "mean and variance" if config.statistics.variance else "mean"
    last = released[-1].stated if released else {}
    made_with = [entry.stated for entry in released]
    return {
        "form": FORM,
        "deployment": {
            "name": config.dataset.name,
            "intended_use": config.dataset.purpose,
            "contact": config.publish.contact,
            "data_product": f"noisy {statistics} of {value.name} ({value.unit}), per H3 hexagon of resolution "
            f"{config.grid.h3_resolution} and {config.grid.slot_minutes} minutes",
            "release_cadence": "one release a day; a further release of a day is named, and charged in addition",
            "releases": len(released),
            "first_day": str(dates[0]) if dates else None,
            "last_day": str(dates[-1]) if dates else None,
        },
        "privacy_guarantee": {
            "definition": words["definition"],
            "unit_of_privacy": words["unit_of_privacy"],
            "neighbouring_datasets": words["neighbours"],
            "kind_of_neighbours": "bounded: no record is added or removed",
            "public_by_assumption": words["not_protected"],
            "epsilon_of_a_day": str(privacy.epsilon_per_day),
            "epsilon_limit": str(config.budget.epsilon_total),
            "limit_applies_to": f"any {config.budget.window_days} days in a row"
            if config.budget.window_days
            else "everything ever released",
            "delta": None if privacy.delta is None else format(privacy.delta, "f"),
            "spent_by_the_worst_user": spent.worst_total,
            "statement": spent.statement,
            "composition": words["composition"],
            "changes": _changes(entries) or None,
        },
        "algorithms": {
            "mechanism": _each({entry["mechanism"] for entry in made_with}) or privacy.mechanism,
            "mechanism_of_the_next_release": f"{privacy.mechanism}: {privacy.row.in_words}",
            "noise": _each({entry["noise"]["distribution"] for entry in made_with}),
            "noise_of_the_next_release": f"{privacy.sum_noise} on integers, drawn exactly",
            "randomness": randomness.SOURCE,
            "bounds": f"{value.lower} to {value.upper} {value.unit}, in ticks of {value.tick}",
            "sums_of_the_last_release": last.get("sums"),
            "proofs": _each(_theorems(entries, config)),
            "floating_point": "no floating-point number takes part in clipping, noise or accounting",
            "libraries": versions(),
            "code_sha256": code_hash(),
        },
        "utility": {
            "promised_error": None
            if privacy.target_error is None or kind_of(config).words.error != "promised"
            else f"{privacy.target_error} {value.unit}",
            "cells_of_the_last_release": last.get("cells"),
            "bias": "clipping moves values towards the middle of the bounds; each published row states its error",
        },
        "data_handling": {
            "trust_model": "central: the operator holds the raw records",
            "deletion": "hexveil forget deletes the raw records of a day; its release stays",
            "ledger_head": f"{entries[-1].number}:{entries[-1].hash}" if entries else None,
            "verification": "hexveil ledger verify recomputes every loss; anyone can check an export of the ledger",
        },
    }


def _theorems(entries: list[Entry], config: Config) -> set[str]:
    """Return the results that the releases and the account rely on, or the next release if there is none yet."""
    theorems = {name for entry in releases(entries) for name in entry.stated["theorems"]}
    return theorems or set(theorems_of(config))


def _changes(entries: list[Entry]) -> list[str]:
    """Return when the budget was loosened, how, and why, and when values began to mean another thing."""
    first_ones = [entry for entry in releases(entries) if entry.revision is None]
    values = [
        f"{entry.committed_at:%Y-%m-%d}: from the day {entry.date} on, {', and '.join(changed)} was changed"
        for before, entry in pairwise(first_ones)
        if (changed := changed_value(before.settings, entry.settings))
    ]
    return amendments_in_words(entries) + values


def _each(names: set[str]) -> str | None:
    return ", ".join(sorted(names)) or None


def _markdown(described: dict[str, Any]) -> str:
    """Return the description as Markdown: one table for each section."""
    parts = [f"# {_text(described['deployment']['name'])}: registry of a differentially private publication"]
    for section, fields in described.items():
        if isinstance(fields, dict):
            rows = [f"| {_words(name)} | {_text(value)} |" for name, value in fields.items()]
            parts.append("\n".join([f"## {_words(section)}", "", "| | |", "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def _words(name: str) -> str:
    text = name.replace("_", " ")
    return text[0].upper() + text[1:]


def _text(value: Any) -> str:
    """Return a value for a table's cell; names of a configuration may hold anything."""
    if value is None:
        return "none"
    if isinstance(value, list):
        return "; ".join(_text(one) for one in value)
    if isinstance(value, dict):
        return "; ".join(f"{name}: {_text(one)}" for name, one in value.items())
    escaped = str(value).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
    return " ".join(escaped.split())
