"""Hints: what to do about the reason for which most of a day's unusable rows are unusable."""

from pathlib import Path

from tasks.base.config import Config
from tasks.records.input_formats.all_formats import format_by_name, format_called
from tasks.records.input_formats.columns import DEGREES, GEOMETRY
from tasks.records.input_formats.csv_rows import DECIMAL_COMMAS
from tasks.records.input_formats.times import zone_names_read
from tasks.records.judge.count_outcomes import DUPLICATE, KEPT, LEFT_OUT, NEVER, OUTSIDE_DAY, TWICE

OF_DAY = "Check the date, dataset.timezone and columns.time."
"""What to do if the times are of other days."""
OF_SOURCE = "If the source has so many, raise that share (for init: --max-quarantined-share)."
"""What to do if rows are unusable and it cannot be helped, as those of vehicles that have no place yet."""
_IDS = (
    "An id is a text or a whole number: 12.0 or 3.5E+14 went through a floating-point number, so 12 and 12.0 would be "
    "two users, and large ids lose digits. Write ids as whole numbers or text, or name a column that every record has."
)

_ONE_COLUMN = {
    "h3": "An H3 cell is a text such as 87489e346ffffff, or the whole number that it is.",
    "geometry": "A point is WKB, WKT or GeoJSON, in longitude and latitude.",
}


def hint(counts: dict[str, int], config: Config) -> str:
    """Return what to do about unusable rows, by their commonest reason; "" if there are none.

    Times that were never tell of a wrong zone however few they are.

    Args:
        counts: Number of rows by reason.
        config: Says where the source has what.
    """
    by_choice = (KEPT, DUPLICATE, TWICE, *([LEFT_OUT] if counts.get(KEPT) else []))
    lost = {reason: n for reason, n in counts.items() if reason not in by_choice and n}
    commonest = max(lost, key=lambda reason: lost[reason], default=None)
    columns = config.columns
    place = " and ".join(f'columns.{role} = "{name}"' for role, name in columns.of_place.items())
    mark = "." if config.dataset.decimal == "," else ","
    decimal = f'If places are written like 47{mark}05, set dataset.decimal = "{mark}".'
    unread = _ONE_COLUMN.get(next(iter(columns.of_place)), f"{decimal} {GEOMETRY}")
    wanted = " and ".join(f'{", ".join(texts)} in "{name}"' for name, texts in columns.only.items())
    of_reason = {
        LEFT_OUT: f"The rows have none of {wanted} (columns.only): write the texts as files have them.",
        "malformed_row": f"Check dataset.format and dataset.delimiter. {DECIMAL_COMMAS}",
        "time_unreadable": of_times(config),
        OUTSIDE_DAY: OF_DAY,
        "no_user": f'They have nothing in columns.user = "{columns.user}", or no id there. {_IDS}',
        "place_unreadable": f"Check {place}. {unread}",
        "place_outside_world": f"Check {place}. {DEGREES}",
        "place_zero": f"They have 0 in {place}, which counts as no place: name columns that have one.",
        "place_outside_area": f"Check {place}, and the area in [validation].",
        "cell_too_large": f"They have cells in {place} that are larger than hexagons of grid.h3_resolution = "
        f"{config.grid.h3_resolution}: lower it to the resolution of the cells.",
        NEVER: f"Times that were never show that they are not of {config.time_zone}: set columns.time_zone.",
    }
    said = [of_reason[one] for one in (commonest, NEVER) if one in of_reason and one in lost]
    return " ".join(dict.fromkeys(said))


def of_times(config: Config) -> str:
    """Return what to do about times that cannot be read."""
    declared = config.dataset.format
    kinds = [format_called(declared)] if declared else [format_by_name(Path(one)) for one in config.dataset.files]
    other = next((kind.time_else for kind in kinds if kind and kind.time_else), None)
    if other and config.columns.time_else is None and config.columns.time != other:
        return f'If vehicles have no "{config.columns.time}", set columns.time_else = "{other}": the time of the feed.'
    if config.columns.time_unit is not None:
        return (
            f'Times must be numbers of 1990 to 2100 in columns.time_unit = "{config.columns.time_unit}". If files '
            "count differently, remove it: then the unit of each is recognised."
        )
    can_join = len(config.columns.of_time) == 1 and any(kind and kind.has_columns for kind in kinds)
    joined = ' Where the date has a column of its own, columns.time names both, as in ["date", "time"].'
    return (
        "Times must be ISO 8601 or numbers since 1970, or have the form in columns.time_format. Of zones in them are "
        f"read {zone_names_read(config.time_zone)}.{joined if can_join else ''}"
    )
