"""The command about the disk: what each part of a storage takes."""

from typing import Any

from flows import show
from flows.options import ConfigOption, JsonOption
from flows.owners import load_spender
from flows.show import out
from tasks.upkeep.storage_parts import storage_parts

_MEGABYTE = 1_000_000


def storage(config: ConfigOption, as_json: JsonOption = False) -> None:
    """Show what each part of the storage takes on the disk, what may be deleted, and what a year will add."""
    parts = storage_parts(load_spender(config))
    if as_json:
        show.print_json(parts)
    elif not parts:
        out.print("The storage is empty.")
    else:
        out.print(show.table_of([_in_megabytes(part) for part in parts]))
        for name, words in (("bytes", "now"), ("bytes_a_year", "a year of days like those until now adds")):
            out.print(f"{_megabytes(sum(part[name] or 0 for part in parts))} MB: {words}")


def _in_megabytes(part: dict[str, Any]) -> dict[str, Any]:
    sizes = {"MB": _megabytes(part["bytes"]), "MB_a_year": part["bytes_a_year"] and _megabytes(part["bytes_a_year"])}
    return {"part": part["part"], **sizes, "may_be_deleted": part["may_be_deleted"], "holds": part["holds"]}


def _megabytes(n_bytes: int) -> str:
    return f"{n_bytes / _MEGABYTE:,.1f}"
