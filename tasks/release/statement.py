"""Describes a release: makes the fields of its ledger entry and of the manifest beside the published files."""

import datetime as dt
from typing import Any

from dpmath.core.currency import GAUSSIAN, LAPLACE
from tasks.account.entry import FORMAT
from tasks.account.identity import release_id
from tasks.account.in_words import describe_account, guarantee_in_words, in_digits
from tasks.base import randomness
from tasks.base.config import Config
from tasks.base.config_privacy import Privacy
from tasks.base.config_source import UserIs
from tasks.base.provenance import code_hash, now, versions
from tasks.kinds.table import kind_named, kind_of
from tasks.records.input_formats.all_formats import INPUT_FORMATS

_PROTECTED = {
    None: {
        "unit_of_privacy": "one user: all of the user's values, in every cell of the day",
        "neighbours": "the values of one user's records change, any number of them, to anything; who was in which "
        "cell how often does not change",
    },
    "spelling": {
        "unit_of_privacy": "one user, as its id is written: all of the values with that id, in every cell of the day; "
        "those with another spelling of it count as another user's",
        "neighbours": "the values of the records with one id change, any number of them, to anything; who was in which "
        "cell how often does not change",
    },
    "day": {
        "unit_of_privacy": "one user of one day: all of the user's values of that day, in every cell; what the same "
        "person or thing gives on other days counts as another user's",
        "neighbours": "the values of one user's records of one day change, any number of them, to anything; who was in "
        "which cell how often does not change",
    },
    "record": {
        "unit_of_privacy": "one record: its value; who gives several records is not protected as a whole",
        "neighbours": "the value of one record changes, to anything; which records are in which cell does not change",
    },
}
_GUARANTEE = {
    "not_protected": "which users were in which cell how often, and with it n_records and n_users, which cells "
    "are published, and every number in this file",
}
_OF_GAUSSIAN = {"CKS-A2": "CKS-A3", "HV-L1": "HV-L49", "HV-L3": "HV-L51"}
"""What takes the place of a result about Laplace noise."""
_OF_ACCOUNT = {"pure": [], "zcdp": ["CKS-P12"], "gaussian": ["HV-L73"]}
_OF_SCREENING = "a user who is asked for the noisy count in screening loses in addition what that states"
_STRUCTURE = "that there is such a field, member or column, and its type, is structure"


def guarantee(privacy: Privacy, user_is: UserIs | None) -> dict[str, str]:
    """Return what is promised, in words, to whom ``columns.user_is`` says."""
    words = kind_named(privacy.mechanism).words
    in_currency = words.in_pure if privacy.currency.name == "pure" else words.in_zcdp
    return {"definition": privacy.currency.definition, **_PROTECTED[user_is], **_GUARANTEE, **in_currency}


def describe_release(date: dt.date, revision: str | None, config: Config) -> dict[str, Any]:
    """Return the fields that describe a release's subject, its guarantee, and the code that made it."""
    start, end = config.day_bounds(date)
    settings, words, interval = config.public_settings(), kind_of(config).words, config.privacy.row.interval
    promised = guarantee(config.privacy, config.columns.user_is)
    in_files = ", ".join(one.domain for one in INPUT_FORMATS)
    if config.value.screen:
        promised |= {"composition": f"{promised['composition']}; {_OF_SCREENING}"}
    return {
        "kind": "release",
        "format": FORMAT,
        "release_id": release_id(date, config, revision),
        "revision": revision,
        "dataset": config.dataset.name,
        "purpose": config.dataset.purpose,
        "date": date.isoformat(),
        "period": {"start": start.isoformat(), "end": end.isoformat(), "timezone": config.dataset.timezone},
        "grid": settings["grid"],
        "statistics": [name for name, wanted in settings["statistics"].items() if wanted],
        "value": settings["value"],
        "data_domain": "a record is (user, time, place, value); a value outside [lower, upper] counts as the nearer "
        f"{words.instead}; in a file it is, in UTF-8, {in_files}; {_STRUCTURE}",
        "guarantee": promised,
        "mechanism": config.privacy.mechanism,
        "theorems": theorems_of(config),
        "noise": {
            "distribution": f"{config.privacy.sum_noise} on integers, drawn exactly",
            "source": randomness.SOURCE,
            "draws": f"once, independent for each {words.each_draw}",
            **({} if interval is None else {"interval": interval}),
        },
        "settings": settings,
        "code": code_hash(),
        "versions": versions(),
        "intended_at": now(),
    }


def theorems_of(config: Config) -> list[str]:
    """Return the results that a release relies on: the mechanism's, those of its noise, and those of its account."""
    privacy = config.privacy
    theorems = list(privacy.row.theorems)
    if privacy.sum_noise == GAUSSIAN:
        theorems = [_OF_GAUSSIAN.get(name, name) for name in theorems]
    theorems += _OF_ACCOUNT[privacy.definition]
    if privacy.definition == "zcdp":
        theorems += ["HV-L48"] if privacy.sum_noise == LAPLACE else []
        theorems += ["HV-L50"] if privacy.row.n_interval_draws else []
    theorems += ["HV-L54"] if config.value.screen else []
    theorems += ["HV-L55"] if config.statistics.of_laws else []
    return theorems


def describe_cost(
    worst: int, worst_of_day: int, worst_total: int, worst_used: int, config: Config
) -> dict[str, str | None]:
    """Return the worst user's cost, of this release, of its day and in total, and what is left of the limit.

    The losses are whole numbers in the unit of the account. The epsilons beside them are exact in pure epsilon, and
    rounded up in zCDP; what is left is rounded down.

    Args:
        worst: What the release cost the user with the largest loss.
        worst_of_day: What all that was released of its day cost the user with the largest such loss: an earlier
            stop or release of the day counts too.
        worst_total: What all releases cost the user with the largest total.
        worst_used: The most that counts against the limit.
        config: Says definition and limit.
    """
    currency = config.privacy.currency
    return {
        **describe_account(worst_total, worst_used, config),
        "loss": str(worst),
        "epsilon": in_digits(currency.epsilon(worst)),
        "in_words": guarantee_in_words(currency, config, worst_of_day, worst_total, worst_used),
    }
