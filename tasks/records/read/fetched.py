"""Fetched: an input file as a path; one in an object store is copied first, because it is read more than once."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import fsspec

from tasks.base.config_types import is_remote
from tasks.base.errors import BadInput
from tasks.records.read.inputs import Input


@contextmanager
def at_hand(one: Input, folder: Path) -> Iterator[Path]:
    """Yield the path of a file, or of a copy in folders of the same names that is removed afterwards.

    Args:
        one: The file.
        folder: Where to copy it to. It must be private: the copy holds what the file holds.

    Raises:
        BadInput: The block refuses the file. The message names its address, because nobody can see the copy.
    """
    if not is_remote(one.address):
        yield Path(one.address)
        return
    shutil.rmtree(folder, ignore_errors=True)  # what a killed run left
    folder.mkdir(mode=0o700)
    copy = folder.joinpath(*(part for part in one.address.partition("://")[2].split("/") if part not in ("", "..")))
    system, place = fsspec.url_to_fs(one.address)
    try:
        copy.parent.mkdir(parents=True, exist_ok=True)
        system.get_file(place, str(copy))
        yield copy
    except BadInput as error:
        problem = str(error).replace(str(copy), one.address)
    else:
        return
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    raise BadInput(problem)
