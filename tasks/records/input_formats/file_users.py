"""The user of a file whose path is its user: its name without the date in it, or the name of a folder.

A date would be a new user each day.
"""

import itertools
import os
import re
from pathlib import Path

from tasks.base.config import Config
from tasks.base.config_source import FOLDERS, OF_FILE
from tasks.base.errors import BadInput
from tasks.records.input_formats.user_names import COUNTED, words_of

_YEAR, _MONTH, _DAY = r"(?:19|20)\d\d", r"(?:0[1-9]|1[0-2])", r"(?:0[1-9]|[12]\d|3[01])"
_NAMED = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_HOUR, _SIXTY = r"(?:[01]\d|2[0-3])", r"[0-5]\d"
_TIME = (
    rf"(?:T?{_HOUR}{_SIXTY}(?:{_SIXTY})?|T{_HOUR}|[-_ T]{_HOUR}{_SIXTY}{_SIXTY}"
    rf"|[-_ T]{_HOUR}[-_:.h]{_SIXTY}[-_:.m]{_SIXTY}|T{_HOUR}[-_:.h]{_SIXTY}|[-_ ]{_HOUR}[:h]{_SIXTY})?Z?"
)
_DATES = (
    rf"{_YEAR}(?P<between>[-_. ]?){_MONTH}(?P=between){_DAY}{_TIME}",
    rf"(?:{_DAY}(?P<one>[-_. ]?){_MONTH}|{_MONTH}(?P<other>[-_. ]?){_DAY})(?:(?P=one)|(?P=other)){_YEAR}{_TIME}",
    rf"(?:\d\d?[-_. ]?{_NAMED}|{_NAMED}[-_. ]?\d\d?)[-_., ]*{_YEAR}|{_YEAR}[-_. ]?{_NAMED}[-_. ]?\d\d?",
    rf"{_YEAR}[-_.]?W[0-5]\d(?:[-_.]?[1-7])?",
    rf"{_YEAR}[-_.]{_MONTH}",
)
_DATED = [re.compile(rf"[-_. ]*(?<!\d)(?:{one})(?!\d)[-_ ]*", re.IGNORECASE) for one in _DATES]
_NUMBERED = re.compile(r"\n\d{1,6}(?!\d)")
"""A date and the number after it, which may be an hour, and as well the number of somebody."""
_CLOCK = re.compile(r"\d{1,6}|1\d{9}(\d{3})?")
"""What in the folder of a day may be an hour, a part, or a time since 1970, and is too short for a device's number."""
_PARTS_OF_DAY = {"am", "pm", "morning", "noon", "afternoon", "evening", "night"}
_HOUR_OF_DAY = re.compile(r"(?<![a-z\d])(\d\d?(h|hrs?|uhr|am|pm)|[th]?\d\d?h[0-5]\d)(?![a-z\d])", re.IGNORECASE)


def user_of_file(path: Path, folder: Path) -> str | None:
    """Return the user that a file is named after: its name up to its first dot, without a date and a time.

    Whoever has a file for each day has one user in all of them. None if what is left names nobody: nothing, the number
    of an hour, a part or a trip, or a short number after a date or in its folder, which may be either.

    Args:
        path: The file.
        folder: Dates are looked for in the folders from here on.
    """
    name = path.name
    for dated in _DATED:
        name = dated.sub("\n", name)
    is_dated = name != path.name
    if _NUMBERED.search(name):
        return None
    name = name.replace("\n", "-")
    left = name.strip("-_ ").partition(".")[0].strip("-_ ") if is_dated else name.partition(".")[0]
    folders = Path(os.path.relpath(path.resolve(), folder.resolve())).parent.parts
    is_number_of = _counts([*words_of(folders[-1] if folders else "")[-1:], *words_of(left)[:1]])
    is_of_time = is_dated or is_number_of or any(map(_is_time, folders))
    return left if _names_somebody(left, is_of_time) else None


def _is_time(folder: str) -> bool:
    """Return whether a folder is of a date, or of a year or an hour, as in `year=2026`."""
    kind, _, number = folder.rpartition("=")
    is_year = re.fullmatch(_YEAR, number) is not None
    return is_year or any(dated.search(folder) for dated in _DATED) or _counts(words_of(kind) + words_of(number))


def _names_somebody(left: str, is_of_time: bool) -> bool:
    words = words_of(left)
    rest = [one for one in words if one not in COUNTED]
    of_part = len(words) > 1 and words[-1] in _PARTS_OF_DAY
    if not rest or of_part or _counts(words) or _HOUR_OF_DAY.search(left):
        return False
    return not is_of_time or any(not _CLOCK.fullmatch(one) and one not in ("h", "t", "z") for one in rest)


def _counts(words: list[str]) -> bool:
    """Return whether some words hold the number of an hour, a part or a trip, as in `hour-07`."""
    return any(one in COUNTED and other.isdigit() for one, other in itertools.pairwise(words))


def user_of_path(path: Path, which: str, folder: Path) -> str | None:
    """Return the user that a file's path names; None if it names none.

    Args:
        path: The file.
        which: What of its path names the user, as `columns.user` says it.
        folder: Paths are looked at from here on.
    """
    if which == OF_FILE:
        return user_of_file(path, folder)
    folders = Path(os.path.relpath(path.resolve(), folder.resolve())).parent.parts[::-1]
    name = "".join(folders[FOLDERS.index(which) :][:1]).strip()
    is_part = name.lower() in _PARTS_OF_DAY
    return None if name in ("", os.pardir) or is_part or _is_time(name) else name


def needed_user(path: Path, config: Config) -> str:
    """Return the user that a file's path names, as `columns.user` says it.

    Raises:
        BadInput: It names none.
    """
    user = user_of_path(path, config.columns.user, config.folder)
    if not user and config.columns.user in FOLDERS:
        raise BadInput(
            f'{path}: columns.user = "{config.columns.user}" takes the user from the name of a folder of this path, '
            "from the configuration's folder on, and there is none, or it names a date or an hour. Name the column of "
            "the user, or put the files of each user into a folder with the user's name"
        )
    if not user:
        raise BadInput(
            f'{path}: columns.user = "{{file}}" takes the user from the name of a file, and this one names a date, an '
            "hour, a part or a trip: each would be another user, whose account begins anew. Name the column of the "
            "user, or put the user's name into the file's, as in bus-12.csv"
        )
    return user
