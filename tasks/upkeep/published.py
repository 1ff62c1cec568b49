"""Checks that the published folder holds what was released, and over all days what the ledger says."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from tasks.account.entry import Release
from tasks.account.identity import path_in_table, published_folder
from tasks.base import durable
from tasks.base.config import Config
from tasks.base.config_types import shown
from tasks.base.provenance import code_hash
from tasks.base.storage import TABLE, is_of_columns, is_over_all_days
from tasks.release.formats import KEPT_ONCE
from tasks.release.overview import overview
from tasks.release.periods import problem_with_periods


def missing_file(entry: Release, config: Config) -> str | None:
    """Return which file of a release is not in its published folder, and what to do; None if all are."""
    folder = published_folder(entry.date, entry.revision, config)
    missing = next((folder / name for name in entry.files if not (folder / name).exists()), None)
    return f"{missing} is missing; {_how_to_mend(missing)}" if missing else None


def unlike_its_files(entry: Release, config: Config) -> Iterator[str]:
    """Yield the files of a release's published folder that are not those of the entry."""
    folder = published_folder(entry.date, entry.revision, config)
    for name, file_hash in entry.files.items():
        path = folder / name
        if path.exists() and durable.sha256(path.read_bytes()) != file_hash:
            yield f"{path} is not the file that was released; {_how_to_mend(path)}"
    for path in sorted(folder.glob("[!.]*")):
        is_revision = entry.revision is None and path.name.startswith("revision=")
        if path.name not in entry.files and not is_revision:
            yield f"{folder / shown(path.name)} was never released; remove it"
    in_table = path_in_table(entry.date, config)
    if entry.revision is None and in_table.exists() and durable.sha256(in_table.read_bytes()) != entry.files[TABLE]:
        yield f"{in_table} is not the file that was released; run the day again to publish it"
    for path in sorted(in_table.parent.glob("[!.]*")):
        if path != in_table:
            yield f"{in_table.parent / shown(path.name)} was never released; remove it"


def unlike_the_days(possible: Sequence[list[Release]], config: Config) -> str | None:
    """Return what is wrong with the files over all days; None if nothing.

    Args:
        possible: The releases that the files may be of: all, or all but one that is being published.
        config: Says where they are, and who publishes.
    """
    wanted = [(overview(released, config) if released else {}, released[-1:]) for released in possible]
    folder = config.storage_path / "published"
    found = {path.name for path in folder.glob("*") if path.is_file() and is_over_all_days(path.name)}
    for name in sorted(found.union(*(contents for contents, _ in wanted))):
        path = folder / name
        content = path.read_bytes() if name in found else None
        if not any(_says_the_same(name, content, contents.get(name), last) for contents, last in wanted):
            return (
                f"{path} is {'missing' if content is None else 'not what the ledger and the configuration say'}: it "
                "was changed, or the configuration or hexveil was. Run a released day again, which costs nothing and "
                "writes it"
            )
    return None


def unlike_the_periods(possible: Sequence[list[Release]], config: Config) -> str | None:
    """Return what is wrong with the tables of weeks and months; None if nothing. See ``unlike_the_days``."""
    problems = [problem_with_periods(released, config) for released in possible]
    return problems[0] if all(problems) else None


def _says_the_same(name: str, found: bytes | None, wanted: bytes | None, last: list[Release]) -> bool:
    """Return whether a file is the one that is wanted, or has the guarantee if other code made the last release."""
    if found == wanted or not last or last[0].code == code_hash():
        return found == wanted
    if is_of_columns(name):
        return True
    return found is not None and last[0].in_words.encode() in found


def _how_to_mend(path: Path) -> str:
    return f"run the day again to publish it{', or restore it from backup' if path.name in KEPT_ONCE else ''}"
