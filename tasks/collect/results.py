"""What follows from the sums of the reports alone, so that anyone can compute it again: bins, means, intervals."""

from io import BytesIO
from typing import Any

import polars as pl

from dpmath.local.collector import LocalEstimate, estimated, liars_to_move_the_bin, localised, one_report_moves
from dpmath.local.protocol import LocalProtocol
from tasks.account.entry import Stated
from tasks.base.errors import NothingToPublish
from tasks.collect.config import CollectionConfig
from tasks.collect.formats import MEANS
from tasks.collect.ledger import stored
from tasks.device.parameters import RoundParameters

Votes = dict[str, dict[str, Any]]
"""By area: ``n_ballots``, and ``n_votes`` for each bin."""
Sums = dict[str, dict[str, int]]
"""By area: ``n_estimates``, their ``total`` in ticks, and the sum of their ``squares``."""

COLUMNS = {
    "area": "The area: an H3 cell, or a name.",
    "period": "The day, or the ISO week.",
    "mean": "Mean of the devices' means; a device with few values counts less.",
    "mean_sd": "Standard deviation of the error from noise and from which devices answered.",
    "mean_ci95_low": "Lower end of an interval that holds the mean in 95 of 100 cases.",
    "mean_ci95_high": "Upper end of it.",
    "n_round_1": "Devices that answered round 1.",
    "n_round_2": "Devices that answered round 2.",
    "bin_midpoint": "Midpoint of the bin that round 1 found.",
    "one_device_moves": "How far one device that lies in round 2 can move the mean.",
    "devices_to_move_bin": "How many devices must lie in round 1 before another bin can be found; 0: there is one bin.",
    "epsilon": "The most that a device loses by its report of the period.",
    "release_id": "The release, to be looked up in the ledger.",
    "geometry": "Outline of the area, if it is an H3 cell, in means.geojson and means.geoparquet.",
}
"""What the columns of the published table mean."""


def votes_of(sums: pl.DataFrame, config: CollectionConfig) -> Votes:
    """Return ballots and votes of each area with enough ballots.

    Args:
        sums: What ``sql/read/vote_counts.sql`` returns.
        config: Says how many are enough.

    Raises:
        NothingToPublish: No area has enough.
    """
    votes: Votes = {}
    for area, _, n_ballots, n_votes in sums.rows():
        if n_ballots >= config.collection.least_devices:
            votes.setdefault(area, {"n_ballots": n_ballots, "n_votes": []})["n_votes"].append(n_votes)
    return _enough(votes, "ballots", config)


def sums_of(sums: pl.DataFrame, config: CollectionConfig) -> Sums:
    """Return the sums of each area with enough estimates.

    Args:
        sums: What ``sql/read/estimate_sums.sql`` returns.
        config: Says how many are enough.

    Raises:
        NothingToPublish: No area has enough.
    """
    found = {
        area: {"n_estimates": n, "total": int(total), "squares": int(squares)}
        for area, n, total, squares in sums.rows()
        if n >= config.collection.least_devices
    }
    return _enough(found, "estimates", config)


def bins_of(votes: Votes, protocol: LocalProtocol) -> dict[str, int | None]:
    """Return the bin that is found in each area."""
    return {area: localised(one["n_votes"], protocol) for area, one in votes.items()}


def release_of(period: str, config: CollectionConfig) -> str:
    """Return the id of a period's release."""
    return f"{config.collection.name}-{period}"


def means_table(sums: Sums, votes: Votes, asked: RoundParameters, config: CollectionConfig) -> pl.DataFrame:
    """Return the table to publish: a row for each area.

    Args:
        sums: The sums of round 2.
        votes: The votes of round 1.
        asked: The parameters of round 2.
        config: The configuration.
    """
    return pl.DataFrame(
        [_row(area, one, votes[area], asked, config) for area, one in sums.items()], infer_schema_length=None
    )


def means_of(entry: Stated, config: CollectionConfig) -> pl.DataFrame:
    """Return the published table of an entry."""
    return pl.read_parquet(BytesIO(stored(entry, MEANS, config)))


def _row(
    area: str, sums: dict[str, int], votes: dict[str, Any], asked: RoundParameters, config: CollectionConfig
) -> dict[str, Any]:
    protocol, number, tick = asked.protocol, asked.bins[area], float(config.value.tick)
    if number is None:
        raise ValueError("round 2 has a bin for each area")
    known, n = config.crowd(protocol), sums["n_estimates"]
    ballots = votes["n_votes"], votes["n_ballots"]
    found = estimated((n, sums["total"], sums["squares"]), number, protocol, known, ballots)
    return {
        "area": area,
        "period": asked.period,
        **_estimate(found, config),
        "n_round_1": votes["n_ballots"],
        "n_round_2": n,
        "bin_midpoint": _in_unit(protocol.midpoint(number), config),
        "one_device_moves": round(one_report_moves(n, number, protocol, known) * tick, 6),
        "devices_to_move_bin": liars_to_move_the_bin(votes["n_votes"]),
        "epsilon": float(config.collection.alpha),
        "release_id": release_of(asked.period, config),
    }


def _estimate(found: LocalEstimate, config: CollectionConfig) -> dict[str, float]:
    return {
        "mean": _in_unit(found.mean, config),
        "mean_sd": round(found.sd * float(config.value.tick), 6),
        "mean_ci95_low": _in_unit(found.low, config),
        "mean_ci95_high": _in_unit(found.high, config),
    }


def _enough(found: dict[str, Any], what: str, config: CollectionConfig) -> dict[str, Any]:
    if not found:
        raise NothingToPublish(
            f"no area has {config.collection.least_devices} {what} (collection.least_devices); run this again when "
            "more reports are there"
        )
    return found


def _in_unit(ticks: float, config: CollectionConfig) -> float:
    return round(float(config.value.lower) + ticks * float(config.value.tick), 6)
