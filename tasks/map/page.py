"""The map of a published day: one HTML page that needs no network, for a first look at the data."""

import datetime as dt

import polars as pl

from tasks.base.config import Config
from tasks.map.data import map_day
from tasks.map.figures import map_document
from tasks.map.parts import tiles_words
from tasks.map.places import Places, outlines_of, read_places
from tasks.map.template import whole_page
from tasks.map.words import head, rounded_outwards, with_look, zone_words


def map_page(
    statistics: pl.DataFrame,
    withheld: pl.DataFrame,
    config: Config,
    date: dt.date,
    revision: str | None,
    guarantee: str,
    said_first: str | None = None,
    zones: tuple[bytes, pl.DataFrame] | None = None,
) -> bytes:
    """Return the page of a published day.

    It is computed only from the noisy table, from what is public about the withheld cells, and from the owner's places.

    Args:
        statistics: The published table of the release.
        withheld: The day's other cells: slot_start, h3_cell as in the table, n_records, n_users.
        config: The configuration that the release was made with.
        date: The local day.
        revision: Name of a further release of the day, None for the first.
        guarantee: What each user is promised, of the day and of everything so far, in a sentence.
        said_first: What a reader must know before the numbers, in sentences; None if nothing.
        zones: The owner's zones: their outlines as GeoJSON, and the table of their numbers; None if there are none.

    Returns:
        HTML in UTF-8, which contains all scripts, styles and numbers.
    """
    day = map_day(with_look(rounded_outwards(statistics, config), config), withheld, date, config)
    words = head(statistics, withheld, config, date, revision, guarantee) | {"said_first": said_first or ""}
    document = map_document(day, read_places(config), config, outlines_of(zones[0]) if zones else Places())
    shown = zone_words(zones[1], config) if zones else []
    more = {"has_slots": len(day.slots) > 1, **tiles_words(config)}
    return whole_page(document, "map.html.jinja", {**words, **more, "zones": shown})
