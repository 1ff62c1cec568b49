"""The deployment in the terms of NIST SP 800-226, which public registries use; all of it is public."""

from typing import Any

from tasks.account.amendments import amendments_in_words
from tasks.account.entry import Entry
from tasks.account.presence_release import presence_releases
from tasks.base import randomness
from tasks.base.errors import contained
from tasks.base.provenance import code_hash, versions
from tasks.presence.account import account_in_words
from tasks.presence.config import PresenceConfig
from tasks.presence.release import guarantee, theorems_of


@contained
def describe_presence(entries: list[Entry], config: PresenceConfig) -> dict[str, Any]:
    """Return the deployment by section."""
    released, privacy, value, words = presence_releases(entries), config.privacy, config.value, guarantee(config)
    dates = sorted(entry.date for entry in released)
    product = f"users, records and mean {value.name} ({value.unit})" if config.statistics.mean else "users"
    return {
        "form": "hexveil registry 1",
        "deployment": {
            "name": config.name,
            "intended_use": config.dataset.purpose,
            "contact": config.publish.contact,
            "data_product": f"noisy {product}, per H3 hexagon of resolution {config.grid.h3_resolution} and "
            f"{config.grid.slot_minutes} minutes, of {len(config.hexagons):,} public hexagons",
            "release_cadence": "one release a day; a further release of a day is named, and charged in addition",
            "releases": len(released),
            "first_day": str(dates[0]) if dates else None,
            "last_day": str(dates[-1]) if dates else None,
        },
        "privacy_guarantee": {
            "definition": words["definition"],
            "unit_of_privacy": words["unit_of_privacy"],
            "neighbouring_datasets": words["neighbours"],
            "kind_of_neighbours": "unbounded: a user with all records is added or taken away",
            "public_by_assumption": words["not_protected"],
            "epsilon_of_a_day": str(privacy.epsilon_per_day),
            "epsilon_limit": config.budget.in_words,
            "delta": format(privacy.delta, "f"),
            "spent_by_everybody": account_in_words(entries, config),
            "statement": released[-1].in_words if released else None,
            "composition": words["composition"],
            "changes": amendments_in_words(entries) or None,
        },
        "algorithms": {
            "mechanism": "one vector a user, scaled down to one l2 ball at each question",
            "noise": "gaussian on integers, drawn exactly",
            "randomness": randomness.SOURCE,
            "bounds": f"{value.lower} to {value.upper} {value.unit}, in ticks of {value.tick}; at most {privacy.cap} "
            "records of a user in a cell",
            "proofs": ", ".join(theorems_of(config)),
            "floating_point": "no floating-point number takes part in scaling down, noise or accounting",
            "libraries": versions(),
            "code_sha256": code_hash(),
        },
        "utility": {
            "cells_of_the_last_release": released[-1].stated["cells"] if released else None,
            "published_from": f"{config.publish.publish_from} users, with a probability of 90 %",
        },
        "data_handling": {
            "trust_model": "central: the operator holds the raw records",
            "deletion": "no copy of the records is kept; the operator deletes the files",
            "ledger_head": f"{entries[-1].number}:{entries[-1].hash}" if entries else None,
            "verification": "hexveil ledger verify makes every release again from its noisy answers",
        },
    }
