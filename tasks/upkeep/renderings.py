"""Renderings: checks that the other files of a release agree with its table and its ledger entry."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import polars as pl

from tasks.account import private_files
from tasks.account.entry import Release
from tasks.base.config import Config
from tasks.base.provenance import code_hash
from tasks.base.storage import MANIFEST
from tasks.output_formats.read_back import each_once
from tasks.release.files import manifest
from tasks.release.formats import FORMATS


def unlike(table: pl.DataFrame, entry: Release, config: Config) -> Iterator[str]:
    """Yield the names of a release's files that do not agree with its table and its entry.

    Contents are compared, not bytes, because another version of a library may write other bytes.

    Args:
        table: The released table.
        entry: Its entry in the ledger.
        config: Gives the place of the released files.
    """
    folder = private_files.releases(config)
    for one in FORMATS:
        if one.says_the_same is not None and one.name in entry.files:
            content = private_files.read(folder, entry.files[one.name])
            if not _holds(one.says_the_same, content, table):
                yield one.name
    if not _holds(_same_manifest, private_files.read(folder, entry.files[MANIFEST]), entry):
        yield MANIFEST


def _holds(says_the_same: Callable[[bytes, Any], bool], content: bytes, expected: Any) -> bool:
    try:
        return says_the_same(content, expected)
    except Exception:  # a library may raise anything for a wrong file
        return False


def _same_manifest(content: bytes, entry: Release) -> bool:
    """Return whether a manifest agrees with its entry; other code may have left out fields or described columns."""
    found = json.loads(content, object_pairs_hook=each_once)
    hashes = {name: file_hash for name, file_hash in entry.files.items() if name != MANIFEST}
    if entry.code == code_hash():
        return found == manifest(entry.stated, hashes)
    del found["columns"]
    return all(found[name] == entry.stated[name] for name in found.keys() - {"files"}) and found["files"] == hashes
