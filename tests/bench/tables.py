"""What the runs add up to: medians and their spread, and whether what was asked for holds."""

from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tests.bench.peers.run import HEXVEIL, IN_ZCDP, OURS, PEERS
from tests.bench.year import AFTER, days_compared

GIB = 1024
_SPREAD = ("seconds_limit", "seconds_flow", "seconds_day", "steps", "ratio", "ratio_steps")
LARGE, LARGEST = 10_000_000, 100_000_000


class Claim(NamedTuple):
    """Something that was asked of the pipeline; ``holds`` is None where it was not measured this time."""

    statement: str
    holds: bool | None
    measured: str


def sizes(runs: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each kind of file and size: the limit, the flow, their ratio run by run, and peaks."""
    whole = runs.filter(pl.col("kind").is_in(["limit", "flow"])).pivot(
        "name", index=["kind_of_file", "n_records", "run"], values=["seconds", "peak_mib"]
    )
    steps = (
        runs.filter(kind="step")
        .group_by("kind_of_file", "n_records", "run")
        .agg(steps=pl.col("seconds").sum(), peak_mib_steps=pl.col("peak_mib").max())
    )
    whole = whole.join(steps, on=["kind_of_file", "n_records", "run"]).with_columns(
        start=pl.col("seconds_flow") - pl.col("seconds_day"),
        ratio=pl.col("seconds_day") / pl.col("seconds_limit"),
        ratio_steps=pl.col("steps") / pl.col("seconds_limit"),
    )
    columns = pl.exclude("kind_of_file", "n_records", "run")
    return (
        whole.group_by("kind_of_file", "n_records")
        .agg(
            n_runs=pl.len(),
            **{name: pl.col(name).median() for name in whole.select(columns).columns},
            **{f"{name}_low": pl.col(name).min() for name in _SPREAD},
            **{f"{name}_high": pl.col(name).max() for name in _SPREAD},
        )
        .sort("kind_of_file", "n_records", descending=[True, False])
    )


def parts(runs: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Return the median seconds of each step, part or SQL statement by size, and its share of all steps."""
    keys = ["kind_of_file", "n_records"]
    once = runs.filter(kind=kind).group_by(*keys, "name", "run", maintain_order=True)
    once = once.agg(pl.col("seconds").sum(), pl.col("cpu_seconds").sum(), pl.col("peak_mib").max())
    medians = once.group_by(*keys, "name", maintain_order=True).agg(
        pl.col("seconds", "cpu_seconds", "peak_mib").median(),
        low=pl.col("seconds").min(),
        high=pl.col("seconds").max(),
    )
    whole = sizes(runs).select(*keys, "steps")
    return medians.join(whole, on=keys, maintain_order="left").with_columns(share=pl.col("seconds") / pl.col("steps"))


def growth_power(growth: pl.DataFrame, axis: str) -> float:
    """Return the power of ``axis`` with which the whole grows at last, where what is fixed hides it least."""
    medians = growth.group_by(axis).agg(pl.col("whole").median()).sort(axis)
    ends = medians[-2:]
    logs = ends.select(pl.all().log()).rows()
    return (logs[1][1] - logs[0][1]) / (logs[1][0] - logs[0][0])


def peers(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each peer and epsilon: medians over the runs, and the spread of the error."""
    return (
        rows.group_by("peer", "epsilon", maintain_order=True)
        .agg(
            pl.col("error", "scatter", "offset", "published", "seconds", "peak_mib", "lines").cast(pl.Float64).median(),
            low=pl.col("error").min(),
            high=pl.col("error").max(),
            n_runs=pl.len(),
        )
        .sort("epsilon", maintain_order=True)
    )


def claims(
    runs: pl.DataFrame,
    growth: pl.DataFrame,
    in_turn: pl.DataFrame,
    peer_rows: pl.DataFrame,
    scale: pl.DataFrame,
) -> list[Claim]:
    """Return what the issue asks for, each with what was measured."""
    found = [_at_most_twice(runs, size) for size in (LARGE, LARGEST)]
    found += [
        _estimate_beside_planner(runs),
        _peak(runs),
        _linear(growth),
        _as_cheap_after_a_year(in_turn),
        _large_city(scale),
    ]
    found += [_a_tenth(runs, *names) for names in _SMALL_PARTS]
    found += [_below_every_peer(peer_rows, epsilon) for epsilon in (1, 10)]
    return found + [_near_on_the_peers_data(peer_rows, *most) for most in ((1, 9.5), (10, 3.2))]


_SMALL_PARTS = (
    ("part", "planner", "plan_release"),
    ("part", "sampler", "release_statistics"),
    ("part", "export", "release_statistics"),
    ("step", "publish_files", "publish_files"),
)


def _row(frame: pl.DataFrame, **values: Any) -> dict[str, Any] | None:
    found = frame.filter(**values)
    return found.row(0, named=True) if found.height else None


def _at_most_twice(runs: pl.DataFrame, size: int) -> Claim:
    row = _row(sizes(runs), kind_of_file="parquet", n_records=size) if runs.height else None
    statement = f"The whole flow at {size:,} records, less its start, takes at most 2 times the limit"
    if row is None:
        return Claim(statement, None, "not measured this time")
    spread = f"{row['ratio']:.2f} times ({row['ratio_low']:.2f} to {row['ratio_high']:.2f} in {row['n_runs']} runs)"
    return Claim(statement, row["ratio"] <= 2, f"{spread}; the steps alone {row['ratio_steps']:.2f} times")


def estimate_over_planner(runs: pl.DataFrame) -> pl.DataFrame:
    """Return how often the seconds of the planner's day the estimate's takes, one row for each run of a Parquet day."""
    days = runs.filter(pl.col("kind").is_in(["flow", "estimated"]), name="day", kind_of_file="parquet")
    wide = days.pivot("kind", index=["n_records", "run"], values="seconds")
    if "estimated" not in wide.columns:
        return pl.DataFrame(schema={"n_records": pl.Int64, "ratio": pl.Float64})
    return wide.select("n_records", ratio=pl.col("estimated") / pl.col("flow")).drop_nulls()


def _estimate_beside_planner(runs: pl.DataFrame) -> Claim:
    statement = f"A first day by the estimate at {LARGE:,} records takes at most 1.3 times what the planner's takes"
    ratios = estimate_over_planner(runs).filter(n_records=LARGE)["ratio"].to_numpy() if runs.height else np.zeros(0)
    if not ratios.size:
        return Claim(statement, None, "not measured this time")
    middle = float(np.median(ratios))
    return Claim(statement, middle <= 1.3, f"{middle:.2f} times ({ratios.min():.2f} to {ratios.max():.2f})")


def _peak(runs: pl.DataFrame) -> Claim:
    row = _row(sizes(runs), kind_of_file="parquet", n_records=LARGEST) if runs.height else None
    statement = "Peak memory of the flow at 100,000,000 records is under 4 GiB"
    if row is None:
        return Claim(statement, None, "not measured this time")
    peak = max(row["peak_mib_flow"], row["peak_mib_steps"]) / GIB
    return Claim(statement, peak < 4, f"{peak:.2f} GiB, all processes together")


def _large_city(scale: pl.DataFrame) -> Claim:
    statement = "The estimate of 20,000 hexagon-hours takes at most 60 s of one core, and 4 GiB"
    days = scale.filter(pl.col("n_cells") >= 20_000) if scale.height else scale
    if not days.height:
        return Claim(statement, None, "not measured this time")
    seconds, peak = days["cpu_seconds"].to_list(), float(days["peak_mib"].to_numpy().max()) / GIB
    told = f"CPU seconds of the first and the second day: {seconds[0]:.0f} and {seconds[-1]:.0f}; {peak:.2f} GiB"
    return Claim(statement, max(seconds) <= 60 and peak < 4, told)


def _linear(growth: pl.DataFrame) -> Claim:
    if not growth.height:
        return Claim("The cost grows no worse than in proportion to the records", None, "not measured this time")
    power = growth_power(growth.filter(axis="records"), "n_records")
    statement = "The cost grows no worse than in proportion to the records"
    return Claim(statement, power <= 1.05, f"to the power {power:.2f}")


def _as_cheap_after_a_year(in_turn: pl.DataFrame) -> Claim:
    statement = "A day costs no more after 365 released days than after 10, within 5 %"
    if not in_turn.height or in_turn["after"].max() != AFTER[-1]:
        return Claim(statement, None, "not measured this time")
    row = days_compared(in_turn).row(by_predicate=pl.col("step") == "the whole day", named=True)
    first, *_, last = (row[f"after_{after}"] for after in AFTER)
    told = ", ".join(f"{row[f'after_{after}']:.3f} after {after}" for after in AFTER)
    return Claim(statement, last <= 1.05 * first, f"CPU seconds for a day of 2,000 records: {told}")


def _a_tenth(runs: pl.DataFrame, kind: str, name: str, step: str) -> Claim:
    row = _row(parts(runs, kind), kind_of_file="parquet", n_records=LARGE, name=name) if runs.height else None
    statement = f"{name} takes at most a tenth of all steps at {LARGE:,} records"
    if row is None:
        return Claim(statement, None, "not measured this time")
    whole = sizes(runs).filter(kind_of_file="parquet", n_records=LARGE).row(0, named=True)
    measured = f"{row['share']:.1%}: {row['seconds']:.2f} s of {whole['steps']:.1f} s"
    if kind == "part":
        around = parts(runs, "step").filter(kind_of_file="parquet", n_records=LARGE, name=step).row(0, named=True)
        measured += f"; all of its step, {step}, {around['share']:.1%}"
    return Claim(statement, row["share"] <= 0.1, measured)


def _below_every_peer(rows: pl.DataFrame, epsilon: int) -> Claim:
    errors = dict(peers(rows).filter(epsilon=epsilon).select("peer", "error").iter_rows()) if rows.height else {}
    statement = f"The error at epsilon {epsilon} is below every peer's"
    missing = [peer.name for peer in PEERS if peer.name not in errors]
    if missing:
        return Claim(statement, None, f"not measured this time: {', '.join(missing)}")
    mine, others = errors[HEXVEIL.name], {peer.name: errors[peer.name] for peer in PEERS if peer not in OURS}
    best = min(others, key=lambda peer: others[peer])
    return Claim(statement, mine < others[best], f"{mine:.2f} against {others[best]:.2f} of {best}, the best of them")


def _near_on_the_peers_data(rows: pl.DataFrame, epsilon: int, most: float) -> Claim:
    errors = dict(peers(rows).filter(epsilon=epsilon).select("peer", "error").iter_rows()) if rows.height else {}
    statement = f"The error at epsilon {epsilon} is at most {most} km/h, in pure epsilon and in zCDP"
    mine = [errors.get(peer.name) for peer in (HEXVEIL, IN_ZCDP)]
    if None in mine:
        return Claim(statement, None, "not measured this time")
    pure, concentrated = (float(error or 0) for error in mine)
    return Claim(statement, max(pure, concentrated) <= most, f"{pure:.2f} and {concentrated:.2f}")
