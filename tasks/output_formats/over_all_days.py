"""The files over all days: a page for people, and the catalogue for programs and portals. They say nothing new."""

from pathlib import Path

from tasks.base import durable
from tasks.base.storage import CATALOGUE, INDEX, PACKAGE, is_over_all_days
from tasks.output_formats.data_package import data_package
from tasks.output_formats.dcat import catalogue
from tasks.output_formats.index import index_page
from tasks.output_formats.publication import Publication


def files_over_all_days(publication: Publication) -> dict[str, bytes]:
    """Return the files over all days by name, of at least one release."""
    package, schemas = data_package(publication)
    contents = {name: durable.readable_json(schema) for name, schema in schemas.items()}
    contents[PACKAGE] = durable.readable_json(package)
    if publication.config.publisher.name is not None:
        contents[CATALOGUE] = durable.readable_json(catalogue(publication, INDEX, PACKAGE))
    contents[INDEX] = index_page(publication, [name for name in (PACKAGE, CATALOGUE) if name in contents])
    return contents


def write_over_all_days(contents: dict[str, bytes], folder: Path) -> None:
    """Write the files over all days, and remove those of earlier configurations and code.

    Files that would be the same stay untouched.

    Args:
        contents: The files by name.
        folder: The published folder.
    """
    for name, content in contents.items():
        for unfinished in folder.glob(f".{name}.*"):
            unfinished.unlink()
        if not (folder / name).exists() or (folder / name).read_bytes() != content:
            durable.write_whole(folder / name, content, mode=0o644)
    for path in folder.glob("*"):
        if path.is_file() and is_over_all_days(path.name) and path.name not in contents:
            path.unlink()
