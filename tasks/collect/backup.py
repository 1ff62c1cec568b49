"""Back up: copies the ledger and the files of a collection, complete and consistent, while steps go on."""

from pathlib import Path

from tasks.base.copies import copy_all
from tasks.base.errors import contained
from tasks.base.storage import OWNER, ledger_path
from tasks.collect.config import CollectionConfig
from tasks.collect.ledger import locked, published_folder


@contained
def back_up_collection(target: Path, config: CollectionConfig) -> int:
    """Copy the ledger and the files of a collection to a folder, and return the number of periods.

    The reports are not copied: they are yours, and what was added up is in the files.

    Args:
        target: The folder to copy to, one for each collection. It may hold an earlier copy.
        config: Names the storage to copy.

    Raises:
        HexveilError: The target is inside the storage, or its ledger is not the beginning of this one.
        LedgerBroken: The ledger is damaged, so it must not replace a copy that may be good.
    """
    with locked(config) as entries:
        released = config.storage_path / "private" / "releases"
        wanted = [released / name for entry in entries for name in entry["files"].values()]
        wanted += [ledger_path(config), config.storage_path / "private" / OWNER]
        for entry in entries:
            folder = published_folder(entry["period"], config)
            wanted += [path for path in map(folder.joinpath, entry["files"]) if path.exists()]
        copy_all(target, wanted, config.storage_path)
    return len({one["period"] for one in entries})
