"""What each part of a storage takes on the disk, whether it may be deleted, and what a year of it will take."""

from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from typing import Any, NamedTuple

from tasks.account.chain import spendings
from tasks.account.ledger import read_entries
from tasks.base.errors import contained
from tasks.base.owner import Spender

_DAYS_OF_A_YEAR = 365
_BLOCK = 4096
"""Disks give files whole blocks. Where presence is secret, the exact length of a report would tell of its counts."""
_NO, _YES = "no", "yes"
_AGAIN = "yes: made again"
_IF_RAW_FILES = "if input is kept"


class Part(NamedTuple):
    """Some files of a storage.

    Attributes:
        paths: The beginnings of their paths.
        holds: What they hold.
        may_delete: Whether they may be deleted.
        grows: Whether each day adds to them.
    """

    paths: tuple[str, ...]
    holds: str
    may_delete: str
    grows: bool = False


PARTS = (
    Part(("published/",), "what anyone may have", _NO, grows=True),
    Part(("ledger.jsonl",), "the account", _NO, grows=True),
    Part(("private/plans/",), "plans, and what each user lost", _NO, grows=True),
    Part(("private/releases/",), "released files, to publish them again", _NO, grows=True),
    Part(
        ("private/attempts/", "private/ledger-head", "private/pending-entry", "private/user-key", "private/forgotten"),
        "keys and witnesses of the account",
        _NO,
        grows=True,
    ),
    Part(("private/warehouse.",), "raw records, and the way to a plan", _IF_RAW_FILES, grows=True),
    Part(("private/shards/",), "raw records on a cluster", _IF_RAW_FILES, grows=True),
    Part(("private/states/",), "what an estimate knows of the days before", _AGAIN),
    Part(("private/totals/",), "sums of what users lost", _AGAIN),
    Part(("private/values/",), "how many values could be read", _YES, grows=True),
    Part(("private/reports/",), "what was read where presence is secret", _YES, grows=True),
    Part(("private/evaluations/",), "comparisons with the true values", _YES),
    Part(("private/errors.log",), "texts of unexpected errors", _YES),
    Part(("private/scratch/", "private/fetched/", "private/spill/"), "temporary files", "while nothing runs"),
    Part(("release.duckdb",), "published rows, for queries", _AGAIN, grows=True),
    Part(("explored/",), "pictures of `hexveil explore`", _YES),
    Part(("",), "locks, markers, and what others put here", _NO),
)
"""Each file is of the first part that has its path."""


@contained
def storage_parts(config: Spender) -> list[dict[str, Any]]:
    """Return the parts that take anything, in bytes: now, and what a year of days like those released until now adds.

    Raises:
        LedgerBroken: The ledger was changed.
    """
    root, sizes = config.storage_path, dict.fromkeys(PARTS, 0)
    for path in root.rglob("*"):
        with suppress(FileNotFoundError):  # a run may rename or remove it
            status = path.lstat()
            if S_ISREG(status.st_mode):
                sizes[_part_of(path.relative_to(root))] += -(-status.st_size // _BLOCK) * _BLOCK
    n_days = len({entry.date for entry in spendings(read_entries(config))})
    return [
        {
            "part": _name(part),
            "holds": part.holds,
            "bytes": size,
            "bytes_a_year": size * _DAYS_OF_A_YEAR // n_days if part.grows and n_days else None,
            "may_be_deleted": part.may_delete,
        }
        for part, size in sizes.items()
        if size
    ]


def _name(part: Part) -> str:
    first, *others = part.paths
    return f"{first}, ..." if others else first or "others"


def _part_of(path: Path) -> Part:
    return next(part for part in PARTS if path.as_posix().startswith(part.paths))
