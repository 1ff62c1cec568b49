"""The texts of the map page: numbers with their unit, tips for hexagons, and the sentences at the top."""

import datetime as dt
import math
from dataclasses import dataclass
from fractions import Fraction
from html import escape

import polars as pl

from tasks.base.config import Config
from tasks.base.config_source import WHO
from tasks.output_formats.columns import expected_errors

FORMATTED = ("mean", "typical", "error", "low", "high", "variance", "variance_error", "epsilon")
"""The columns that tips format with printf."""

OVER_TILES = 0.7
"""How opaque hexagons are over a base map, at most."""
_FULL, _FADE, _LEAST_CERTAINTY = 1.15, 0.5, 0.25
"""An interval as wide as a third of the map's range is still shown in full; the widest ones at a quarter."""
_SIZE = "users: @n_users, records: @n_records"

_TOLD = 0.1
"""The share of a cell's uncertainty that a day's own data must remove for the page to say that they told of it."""
AREA_WORDS = {
    "cell": "this hexagon and time alone",
    "hexagon_4h": "this hexagon over 4 hours",
    "parent": "the larger hexagon around it, at this time",
    "parent_4h": "the larger hexagon around it, over 4 hours",
}
"""What a mean is of, by ``mean_area``."""

Words = dict[str, str | bool]


@dataclass(frozen=True)
class Look:
    """What a published table says, whichever kind of release made it: its columns tell.

    Attributes:
        promises: Whether errors are promised; else they are expected.
        has_typical: Whether it says what is usual.
        may_be_coarse: Whether a cell may have the value of a larger area.
        has_noisy_counts: Whether numbers of users and records have noise too, because who was there is secret.
        are_counts: Whether the numbers shown are of users, and no means.
    """

    promises: bool
    has_typical: bool
    may_be_coarse: bool
    has_noisy_counts: bool
    are_counts: bool

    @classmethod
    def of(cls, statistics: pl.DataFrame, config: Config) -> "Look":
        """Return the look of a published table."""
        columns, has_target = statistics.columns, config.privacy.target_error is not None
        may_be_coarse, are_noisy = "mean_area" in columns and has_target, "n_users_sd" in columns
        are_counts = are_noisy and "n_records_sd" not in columns
        return cls("mean_error_bound" in columns, "typical_mean" in columns, may_be_coarse, are_noisy, are_counts)

    @property
    def about(self) -> str:
        """What comes before a number."""
        return "users" if self.are_counts else "mean"

    def named(self, config: Config) -> str:
        """Return what the numbers are."""
        return config.value.name if self.are_counts else f"mean {config.value.name}"

    @property
    def expected_error(self) -> str:
        """What comes before the expected error of a mean: a promise is an upper bound, an estimate's is not."""
        return "expected error at most" if self.promises else "expected error"


def decimals(span: Fraction) -> int:
    """Return how many decimals show a thousandth of a range."""
    return max(0, 3 - math.ceil(math.log10(span)))


def measured(quantity: str, unit: str) -> str:
    """Return a quantity's name with its unit in brackets."""
    return f"{quantity} ({unit})" if unit else quantity


def rounded_outwards(statistics: pl.DataFrame, config: Config) -> pl.DataFrame:
    """Return the table rounded as it is shown: promises up, intervals outwards. So no promise looks too good."""
    statistics = means_rounded_outwards(statistics, decimals(config.value.span))
    if not config.statistics.variance:
        return statistics
    return statistics.with_columns(_upwards("variance_error_bound", decimals(config.value.span**2 / 4)))


def means_rounded_outwards(statistics: pl.DataFrame, digits: int) -> pl.DataFrame:
    """Return a table with intervals rounded outwards, and with ``mean_error``, the expected errors rounded up."""
    return statistics.with_columns(
        _upwards(pl.lit(expected_errors(statistics)), digits).alias("mean_error"),
        _upwards("mean_ci95_high", digits),
        -_upwards(-pl.col("mean_ci95_low"), digits),
    )


def _upwards(column: str | pl.Expr, digits: int) -> pl.Expr:
    """Round up, except for what floating point may have added in the twelfth digit."""
    steps = (pl.col(column) if isinstance(column, str) else column) * 10.0**digits
    return (steps - steps.abs() * 1e-12).ceil() / 10.0**digits


def zone_words(zones: pl.DataFrame, config: Config) -> list[tuple[str, str, str, str]]:
    """Return the name, the mean over the day, its interval and the records of each zone, as they are shown."""
    digits = decimals(config.value.span)
    whole = zones.filter(pl.col("hour").is_null()).with_columns(
        _upwards("mean_ci95_high", digits), -_upwards(-pl.col("mean_ci95_low"), digits)
    )
    return [
        (
            row["zone"],
            f"{row['mean']:.{digits}f}",
            f"{row['mean_ci95_low']:.{digits}f} to {row['mean_ci95_high']:.{digits}f}",
            f"{row['n_records']:,.0f}",
        )
        for row in whole.iter_rows(named=True)
    ]


def published_tip(where: str, look: Look, config: Config) -> str:
    """Return the tip of a published cell as a Bokeh template; ``where`` is a column that names the cell."""
    unit, digits = inert(config.value.unit), decimals(config.value.span)
    lines = [
        f"<strong>{inert(look.named(config))} @mean{{%.{digits}f}} {unit}</strong>",
        f"{look.expected_error} @error{{%.{digits}f}} {unit}",
        f"95 % interval @low{{%.{digits}f}} to @high{{%.{digits}f}} {unit}",
    ]
    if look.has_typical:
        lines.append(f"such a day usually @typical{{%.{digits}f}} {unit}")
    if look.may_be_coarse:
        lines.append("value of @area")
    if config.statistics.variance:
        digits = decimals(config.value.span**2 / 4)
        lines.append(f"variance @variance{{%.{digits}f}}, expected error at most @variance_error{{%.{digits}f}}")
    size = [] if look.are_counts else [_SIZE]
    return tip(*lines, *size, f"epsilon about @epsilon{{%.4g}} for any one {WHO[config.columns.user_is]}", f"@{where}")


def with_look(statistics: pl.DataFrame, config: Config) -> pl.DataFrame:
    """Return the table with how each cell of an estimate looks: faint if its interval is wide, marked if unusual.

    Where cells may have the value of a larger area, the number of each one's area among ``AREA_WORDS`` is added too.
    Without an estimate, the table is returned as it is.
    """
    look = Look.of(statistics, config)
    if look.may_be_coarse:
        number = pl.col("mean_area").replace_strict(list(AREA_WORDS), range(len(AREA_WORDS)), return_dtype=pl.Int32)
        statistics = statistics.with_columns(area=number)
    if look.promises:
        return statistics
    seen_through = 1.0 if config.publish.tiles is None else OVER_TILES
    statistics = statistics.with_columns(certainty=seen_through * certainty(statistics))
    return statistics.with_columns(pl.col("unusual").cast(pl.Int32)) if look.has_typical else statistics


def certainty(statistics: pl.DataFrame) -> pl.Series:
    """Return how opaque each mean is drawn: the wider its interval beside the range of the means, the fainter."""
    spread = max(float((statistics["mean"].max() or 0) - (statistics["mean"].min() or 0)), 1e-9)  # type: ignore[operator]
    width = (statistics["mean_ci95_high"] - statistics["mean_ci95_low"]) / spread
    return (_FULL - _FADE * width).clip(_LEAST_CERTAINTY, 1.0)


def withheld_tip(where: str) -> str:
    """Return the tip of a withheld cell; ``where`` is a column that names the cell."""
    reason = "No number of use could be promised here within the budget."
    return tip("<strong>withheld</strong>", reason, _SIZE, f"@{where}")


def tip(*lines: str) -> str:
    """Return the template of a tip from its lines."""
    return f'<div style="font: 14px/1.45 system-ui, sans-serif; max-width: 260px">{"<br>".join(lines)}</div>'


def inert(text: str) -> str:
    """Return text from the configuration as HTML in which Bokeh finds no placeholder."""
    return escape(text).replace("@", "&#64;").replace("$", "&#36;")


def head(
    statistics: pl.DataFrame,
    withheld: pl.DataFrame,
    config: Config,
    date: dt.date,
    revision: str | None,
    guarantee: str,
) -> Words:
    """Return the page's title and sentences, by the names that the template uses; not yet escaped."""
    digits = decimals(config.value.span)
    look, errors = Look.of(statistics, config), expected_errors(statistics)
    error = errors.max() if look.promises else errors.median()
    bound = pl.select(_upwards(pl.lit(error), digits)).item()
    slot = "hour" if config.grid.slot_minutes == 60 else f"{config.grid.slot_minutes} minutes"
    purpose = config.dataset.purpose
    return {
        "title": f"{config.dataset.name}: {config.value.name} on {date:%A}, {date.day} {date:%B %Y}"
        + (f", revision {revision}" if revision else ""),
        "revised": revision is not None,
        "promises": look.promises,
        "has_typical": look.has_typical,
        "are_counts_noisy": look.has_noisy_counts,
        "are_counts": look.are_counts,
        "may_be_coarse": look.may_be_coarse,
        "has_unusual": look.has_typical and statistics["unusual"].any(),
        "told_nothing": look.has_typical and not (statistics["mean_day_share"] >= _TOLD).any(),
        "purpose": "" if purpose == "not stated" else purpose,
        "quantity": measured(config.value.name, config.value.unit),
        "slot": slot,
        "promise": f"{bound:.{digits}f} {config.value.unit}".rstrip(),
        "guarantee": guarantee,
        "n_published": f"{statistics.height:,}",
        "n_withheld": f"{withheld.height:,}",
        "release_id": statistics["release_id"][0],
        "timezone": config.dataset.timezone,
        "date": str(date),
        "all_days": "../" * (2 if revision else 1) + "index.html",
    }
