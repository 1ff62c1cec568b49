"""The command `ask`: answers about areas and periods, from published files alone."""

import datetime as dt
import sys
from pathlib import Path
from typing import Annotated

import typer

from flows import show
from flows.options import DAY, JsonOption
from flows.show import out
from tasks.base.errors import HexveilError


def ask(
    published: Annotated[str, typer.Argument(help="The folder `published` of a storage, or its address.")],
    where: Annotated[
        Path | None, typer.Option("--where", help="GeoJSON or GeoParquet file of districts, or of lines (--width).")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="The property that names the areas of the file.")] = None,
    width: Annotated[
        float | None, typer.Option("--width", min=1, help="How wide a corridor along a line is, in metres.")
    ] = None,
    hexagons: Annotated[
        str | None, typer.Option("--hexagons", help="H3 cells, with commas between them, as one area.")
    ] = None,
    first: Annotated[dt.datetime | None, typer.Option("--from", formats=DAY, help="The first local day.")] = None,
    last: Annotated[dt.datetime | None, typer.Option("--to", formats=DAY, help="The last local day.")] = None,
    days: Annotated[str, typer.Option("--days", help="Weekdays, such as mon-fri or sat,sun.")] = "mon-sun",
    hours: Annotated[str, typer.Option("--hours", help="Local hours: 7-11 ends at 11:00.")] = "0-24",
    by: Annotated[
        str, typer.Option("--by", help="day, week or month, hour, area (every hexagon); several with commas.")
    ] = "",
    compare: Annotated[
        str | None, typer.Option("--compare", help="A period to compare with, such as 2026-02-02:2026-02-08.")
    ] = None,
    of: Annotated[
        str, typer.Option("--of", help="mean, or n_users where presence is secret; by itself means if there are any.")
    ] = "",
    above: Annotated[
        str | None, typer.Option("--above", help="The share of records above this limit, one of statistics.limits.")
    ] = None,
    percentile: Annotated[
        int | None, typer.Option("--percentile", help="Between which of these limits a percentile of records is.")
    ] = None,
    as_json: JsonOption = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    page: Annotated[
        Path | None, typer.Option("--map", help="Write a page here with the areas on a map, which needs no network.")
    ] = None,
) -> None:
    """Say how districts, weeks or the whole city were, how sure that is, and what changed; costs nothing.

    For example: hexveil ask published --where districts.geojson --days mon-fri --hours 7-11
    """
    from tasks.answers.ask import ask as answer_to
    from tasks.answers.words import in_words
    from tasks.output_formats.csv_text import csv_text

    if as_json and as_csv:
        raise HexveilError("give --json or --csv, not both")
    answer = answer_to(
        published,
        where=where,
        name=name,
        width=width,
        hexagons=hexagons,
        first=first and str(first.date()),
        last=last and str(last.date()),
        days=days,
        hours=hours,
        by=by,
        compare=compare,
        of=of,
        above=above,
        percentile=percentile,
    )
    if page is not None:
        from tasks.answers.page import answer_page

        write_page(page, answer_page(answer))
    if as_json:
        show.print_json({"rows": answer.table.to_dicts(), "notes": answer.notes})
    elif as_csv:
        sys.stdout.write(csv_text(answer.table))
        for note in answer.notes:
            show.say_beside(note)
    else:
        out.print(show.table_of([in_words(row) for row in answer.table.iter_rows(named=True)]))
        for note in answer.notes:
            out.print(note)


def write_page(path: Path, content: bytes) -> None:
    """Write a page.

    Raises:
        HexveilError: It cannot be written there.
    """
    try:
        path.write_bytes(content)
    except OSError as error:
        raise HexveilError(f"cannot write {path}: {error.strerror}") from None
