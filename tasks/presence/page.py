"""The map of a day where presence is secret: one HTML page, made from the published table."""

from tasks.formats.map.day import map_day
from tasks.formats.map.figures import map_document
from tasks.formats.map.places import read_places
from tasks.formats.map.template import whole_page
from tasks.formats.map.words import head, rounded_outwards, with_look
from tasks.presence.formats import PresenceDay


def page(day: PresenceDay) -> bytes:
    """Return the page of a published day: HTML in UTF-8, which contains all scripts, styles and numbers."""
    config, table = day.config.as_shown, day.table
    withheld = table.clear().select("slot_start", "h3_cell", "n_records", "n_users")
    shown = map_day(with_look(rounded_outwards(table, config), config), withheld, day.date, config)
    words = head(table, withheld, config, day.date, day.revision, day.guarantee)
    document = map_document(shown, read_places(config), config)
    has_slots = len(shown.slots) > 1
    return whole_page(document, "map.html.jinja", {**words, "paid_in_part": "", "has_slots": has_slots})
