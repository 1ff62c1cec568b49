"""Proposes who is a user where the names of columns do not tell, and cautions where users do not come back."""

import datetime as dt
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tasks.records.input_formats.file_users import user_of_path
from tasks.records.input_formats.input_format import Look
from tasks.records.input_formats.user_names import names_people

_FEWEST_TO_TELL = 20
_FEWEST_THAT_RETURN = 5
_NEARLY_ALL = 0.9


def counts_rows(looks: Sequence[Look], column: str) -> bool:
    """Return whether nearly every record has its own entry in a column: it numbers the records, and names no user."""
    written = [
        str(one) for look in looks if column in look.names for one in look.column(column) if one not in (None, "")
    ]
    return len(written) >= _FEWEST_TO_TELL and len(set(written)) > _NEARLY_ALL * len(written)


def name_users(files: Sequence[Path], which: str, folder: Path) -> bool:
    """Return whether paths of files can be the users of their records: several, and each of them names somebody.

    Args:
        files: The files.
        which: What of a path may name the user, as `columns.user` says it.
        folder: Paths are looked at from here on.
    """
    users = {user_of_path(path, which, folder) for path in files}
    return len(users) > 1 and None not in users


def people(look: Look, columns: Mapping[str, Any]) -> list[str]:
    """Return cautions if the users are people, who may want to hide where they were, or a column names people too."""
    user = columns["user"]
    if names_people(user):
        return [
            f"Caution: {user!r} names people or what they carry, and where each of them was is taken to be public. If "
            'it is a secret, take privacy.protects = "presence", as docs/how-to/presence.md says'
        ]
    others = [name for name in look.own_names if name not in columns.values() and names_people(name)]
    return [
        f"Caution: {name!r} names people, and each {user!r} is protected instead of them; see --user" for name in others
    ]


def strangers(looks: Sequence[Look], column: str, dates: Sequence[dt.date]) -> list[str]:
    """Return a caution if the first users of each day are on no other day, as far as files were looked at."""
    by_day = defaultdict[dt.date, set[str]](set)
    for look, date in zip(looks, dates, strict=False):
        by_day[date] |= {str(one) for one in (look.column(column) if look.names else []) if one not in (None, "")}
    numbers = [len(users) for users in by_day.values()]
    if len(numbers) < 2 or min(numbers) < _FEWEST_THAT_RETURN or len(set().union(*by_day.values())) < sum(numbers):
        return []
    return [f"Caution: no user of one day is on another, so {column!r} seems to change with the day; see --user"]
