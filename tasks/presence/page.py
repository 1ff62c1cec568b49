"""The map of a day where presence is secret: one HTML page, made from the published table."""

from decimal import Decimal

import polars as pl

from tasks.base.config import Config
from tasks.base.config_sections import Value
from tasks.map.data import map_day
from tasks.map.figures import map_document
from tasks.map.parts import tiles_words
from tasks.map.places import read_places
from tasks.map.template import whole_page
from tasks.map.words import head, rounded_outwards, with_look
from tasks.presence.formats import PresenceDay

_PARTS = ("", "_sd", "_ci95_low", "_ci95_high")


def page(day: PresenceDay) -> bytes:
    """Return the page of a published day: HTML in UTF-8, which contains all scripts, styles and numbers."""
    config, table = day.config.as_shown, day.table
    if not day.config.statistics.mean:
        config, table = _of_users(config, table)
    withheld = table.clear().select("slot_start", "h3_cell", "n_records", "n_users")
    shown = map_day(with_look(rounded_outwards(table, config), config), withheld, day.date, config)
    words = head(table, withheld, config, day.date, day.revision, day.guarantee)
    document = map_document(shown, read_places(config), config)
    more = {"said_first": day.said_first or "", "has_slots": len(shown.slots) > 1, "zones": [], **tiles_words(config)}
    return whole_page(document, "map.html.jinja", {**words, **more})


def _of_users(config: Config, table: pl.DataFrame) -> tuple[Config, pl.DataFrame]:
    """Return what a page shows where numbers of users alone are published: they take the place of means."""
    shown = {f"mean{part}": pl.col(f"n_users{part}").cast(pl.Float64) for part in _PARTS}
    most = max(int(table["n_users_ci95_high"].to_numpy().max(initial=1)), 1000)  # so that no decimals are shown
    value = Value(name="users", unit="", lower=Decimal(0), upper=Decimal(most), tick=Decimal(1))
    return config.model_copy(update={"value": value}), table.with_columns(**shown, n_records=pl.col("n_users"))
