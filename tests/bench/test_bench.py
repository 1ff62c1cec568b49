"""The benchmark's own parts, on days of some thousand records; no test says how long anything may take."""

import datetime as dt
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import duckdb
import numpy as np
import polars as pl
import pytest
from collected import DATE, Collected
from support import slow

from tasks.collect.rounds import estimate
from tests.bench import collection, devices, large, page, scale, tables, year
from tests.bench.days import FIRST, Size, write_dataset
from tests.bench.limit import run_limit
from tests.bench.peers import data
from tests.bench.peers.run import HERE, OURS, PEERS, lines_of_code, scatter_and_offset
from tests.bench.steps import run_steps

ROOT = Path(__file__).parents[2]
SMALL = Size(5_000, n_users=50, radius_km=0.5)


def test_a_day_holds_as_many_records_as_asked_and_the_same_each_time(tmp_path: Path) -> None:
    frames = []
    for name in ("one", "two"):
        write_dataset(tmp_path / name, SMALL)
        frames.append(pl.read_parquet(tmp_path / name / "raw" / f"day_{FIRST}.parquet"))
    assert frames[0].height == SMALL.n_records
    assert frames[0].equals(frames[1])


def test_days_are_of_heavy_tailed_users_and_a_thousandth_of_them_copies(tmp_path: Path) -> None:
    write_dataset(tmp_path, SMALL)
    day = pl.read_parquet(tmp_path / "raw" / f"day_{FIRST}.parquet")
    of_users = day["bus"].value_counts()["count"].to_numpy()
    assert of_users.max() > 5 * np.median(of_users)
    assert day.height - day.select("bus", "time", "lat", "lon").n_unique() == pytest.approx(5, abs=2)


@pytest.mark.parametrize("kind", ["parquet", slow("csv")])
def test_the_limit_and_the_flow_see_the_same_records(tmp_path: Path, kind: str) -> None:
    config, dates = write_dataset(tmp_path, SMALL, kind)
    config.write_text(config.read_text().replace("[storage]", "[publish]\nmap = false\n[storage]"))
    run_limit(tmp_path / "raw" / f"day_{FIRST}.{kind}", tmp_path / "limit.duckdb", 7, 60, "1GiB")
    rows = run_steps(config, dates)
    with duckdb.connect(str(tmp_path / "limit.duckdb")) as limit:
        (n_read,) = limit.execute("select sum(n_records) from user_cell").fetchall()[0]
    with duckdb.connect(str(tmp_path / "store" / "private" / "warehouse.duckdb")) as store:
        ((n_kept, n_pairs),) = store.execute("select sum(n_records), count(*) from user_cell").fetchall()
        (n_quarantined,) = store.execute("select count(*) from quarantine").fetchall()[0]
    assert n_read == n_kept + n_quarantined == SMALL.n_records
    assert n_pairs > 0
    assert {"ingest_records", "planner", "sampler", "export", "plan_release"} <= {row["name"] for row in rows}


def test_the_page_is_made_of_whatever_was_measured(tmp_path: Path) -> None:
    assert "not measured" in page.write_page(tmp_path, "3").read_text()
    common = {"kind_of_file": "parquet", "n_records": tables.LARGE, "run": 0, "peak_mib": 10.0}
    whole = {"limit": 2.0, "flow": 9.0, "day": 3.0}
    rows = [{**common, "kind": "flow", "name": name, "seconds": seconds} for name, seconds in whole.items()]
    rows[0]["kind"] = "limit"
    rows.append({**common, "kind": "step", "name": "plan_release", "seconds": 1.0, "cpu_seconds": 1.0})
    pl.DataFrame(rows, infer_schema_length=None).write_csv(tmp_path / "runs.csv")
    assert "10,000,000" in page.write_page(tmp_path, "3").read_text()
    twice = page.read_claims(tmp_path)[0]
    assert twice.holds
    assert twice.measured.startswith("1.50 times")


@pytest.mark.parametrize(("seconds", "holds"), [(0.9, True), (1.1, False)])
def test_a_planner_that_takes_more_than_a_tenth_of_the_steps_is_told(
    tmp_path: Path, seconds: float, holds: bool
) -> None:
    common = {"kind_of_file": "parquet", "n_records": tables.LARGE, "run": 0, "peak_mib": 10.0}
    took = {("limit", "limit"): 4.0, ("flow", "flow"): 20.0, ("flow", "day"): 11.0}
    took |= {("step", "ingest_records"): 8.5, ("step", "plan_release"): 1.5, ("part", "planner"): seconds}
    rows = [
        {**common, "kind": kind, "name": name, "seconds": took[kind, name], "cpu_seconds": took[kind, name]}
        for kind, name in took
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "runs.csv")
    claim = next(claim for claim in page.read_claims(tmp_path) if claim.statement.startswith("planner"))
    assert claim.holds is holds
    assert claim.measured == f"{seconds / 10:.1%}: {seconds:.2f} s of 10.0 s; all of its step, plan_release, 15.0%"


def test_days_that_are_alike_hold_the_same_records_but_for_the_date(tmp_path: Path) -> None:
    _, dates = write_dataset(tmp_path, SMALL, n_days=2, alike=True)
    first, second = (pl.read_parquet(tmp_path / "raw" / f"day_{date}.parquet") for date in dates)
    assert first.drop("time").equals(second.drop("time"))
    assert (second["time"] - first["time"]).unique().to_list() == [dates[1] - dates[0]]


def test_a_day_that_costs_more_after_a_year_of_releases_is_told(tmp_path: Path) -> None:
    for growth, holds in ((0.0, True), (0.001, False)):
        rows = [
            {"round": 0, "after": after, "n_released": number, "step": step, "cpu_seconds": 1.0 + growth * number}
            for after in year.AFTER
            for number in range(after, after + 3)
            for step in ("plan_release", "publish_files")
        ]
        pl.DataFrame(rows).write_csv(tmp_path / "days_in_turn.csv")
        claim = next(claim for claim in page.read_claims(tmp_path) if "after 365 released days" in claim.statement)
        assert claim.holds is holds
        text = page.write_page(tmp_path, "3").read_text()
        assert "the whole day" in text
        assert claim.measured in text


@pytest.mark.slow
def test_days_after_few_and_many_others_are_measured_in_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    def in_this_process(command: list[str], *_: object) -> SimpleNamespace:
        rows = run_steps(Path(command[3]), [dt.date.fromisoformat(date) for date in command[4:]])
        return SimpleNamespace(output=json.dumps(rows))

    monkeypatch.setattr(year, "measured", in_this_process)
    monkeypatch.setattr(year, "DAYS", tmp_path)
    monkeypatch.setattr(year, "AFTER", (1, 3))
    monkeypatch.setattr(year, "_N_ROUNDS", 2)
    monkeypatch.setattr(year, "_N_IN_TURN", 2)
    rows, in_turn = year.measure_days(3)
    days = pl.DataFrame(rows)
    assert days["n_released"].unique(maintain_order=True).to_list() == [0, 1, 2]
    assert set(days["step"]) >= {"ingest_records", "release_statistics", "publish_files"}
    found = pl.DataFrame(in_turn).select("round", "after", "n_released").unique(maintain_order=True)
    assert found.rows() == [(0, 1, 2), (0, 3, 4), (1, 1, 4), (1, 3, 6)]


def test_a_backfill_is_shown_by_its_days_a_minute(tmp_path: Path) -> None:
    whole = {"n_days": 12, "n_records": 1_000_000, "seconds": 90.0, "cpu_seconds": 171.0, "days_per_minute": 8.0}
    pl.DataFrame([whole | {"peak_mib": 900.0}]).write_csv(tmp_path / "backfill.csv")
    text = page.write_page(tmp_path, "3").read_text()
    assert "<strong>8 days a minute</strong>" in text
    assert "1.9 cores busy" in text


def test_a_city_is_estimated_on_two_days_of_which_the_second_knows_the_first() -> None:
    days = scale.estimate_days(7, 3)
    assert [(row["day"], row["n_cells"]) for row in days] == [(1, 21), (2, 21)]
    assert days[0]["n_states"] == days[1]["n_states"] > 0


@pytest.mark.parametrize(("seconds", "holds"), [(59.0, True), (61.0, False)])
def test_a_large_city_that_takes_more_than_a_minute_is_told(tmp_path: Path, seconds: float, holds: bool) -> None:
    size = {"n_hexagons": 1, "n_cells": 20_000, "n_users": 1, "n_pairs": 1, "n_states": 1}
    took = {"seconds": 99.0, "cpu_seconds": seconds, "peak_mib": 512.0, "ruler_cpu_seconds": 0.5}
    pl.DataFrame([{"day": day, **size, **took} for day in (1, 2)]).write_csv(tmp_path / "scale.csv")
    claim = next(claim for claim in page.read_claims(tmp_path) if "20,000 hexagon-hours" in claim.statement)
    assert claim.holds is holds
    assert "0.50 GiB" in page.write_page(tmp_path, "3").read_text()


@pytest.mark.parametrize(("seconds", "holds"), [(3.8, True), (4.0, False)])
def test_an_estimate_that_makes_a_day_a_third_longer_is_told(tmp_path: Path, seconds: float, holds: bool) -> None:
    common = {"kind_of_file": "parquet", "n_records": tables.LARGE, "run": 0, "peak_mib": 10.0}
    took = {("limit", "limit"): 2.0, ("flow", "flow"): 9.0, ("flow", "day"): 3.0, ("estimated", "day"): seconds}
    rows = [{**common, "kind": kind, "name": name, "seconds": took[kind, name]} for kind, name in took]
    rows.append({**common, "kind": "step", "name": "plan_release", "seconds": 1.0})
    pl.DataFrame(rows).with_columns(cpu_seconds="seconds").write_csv(tmp_path / "runs.csv")
    claim = next(claim for claim in page.read_claims(tmp_path) if "by the estimate" in claim.statement)
    assert claim.holds is holds


@pytest.mark.parametrize(("error", "holds"), [(9.4, True), (9.6, False)])
def test_an_estimate_that_errs_more_than_asked_on_the_peers_data_is_told(
    tmp_path: Path, error: float, holds: bool
) -> None:
    rest = {"lines": 9, "published": 200, "seconds": 1.0, "peak_mib": 5.0, "scatter": 1.0, "offset": 1.0}
    rows = [{"peer": peer.name, "epsilon": 1, "run": 0, "error": error, **rest} for peer in OURS]
    pl.DataFrame(rows).write_csv(tmp_path / "peers.csv")
    claim = next(claim for claim in page.read_claims(tmp_path) if "at most 9.5" in claim.statement)
    assert claim.holds is holds


def test_the_peers_data_are_what_the_page_says(tmp_path: Path) -> None:
    truth = data.write_data(tmp_path / "data.parquet")
    pairs = pl.read_parquet(tmp_path / "data.parquet").group_by("user_id", "cell").len()
    assert len(truth) == data.N_CELLS
    assert pairs["user_id"].n_unique() == data.N_USERS
    assert pairs["len"].sum() == pytest.approx(data.N_RECORDS, rel=1e-3)


def test_noise_and_clipping_are_told_apart_by_runs(rng: np.random.Generator) -> None:
    clipped, noise = rng.choice([-3.0, 3.0], 20_000), rng.laplace(scale=5, size=(5, 20_000))
    assert scatter_and_offset(clipped + noise) == pytest.approx({"scatter": 5 * 2**0.5, "offset": 3}, rel=0.05)
    assert scatter_and_offset(noise)["offset"] < 0.7
    assert scatter_and_offset(noise[:1]) == {"scatter": None, "offset": None}


def test_peers_are_compared_only_when_all_were_measured(tmp_path: Path) -> None:
    rows = [
        {"peer": peer.name, "epsilon": epsilon, "run": 0, "lines": 9, "error": 3.0 + number, "published": 200}
        | {"seconds": 1.0, "peak_mib": 5.0, "scatter": None, "offset": None}
        for number, peer in enumerate(PEERS)
        for epsilon in (1, 10)
    ]
    rows += [{"peer": "the middle of the range", "epsilon": 1, "run": 0, "error": 2.0}]
    for n_rows, holds in ((len(rows), True), (5, None)):
        pl.DataFrame(rows[:n_rows], infer_schema_length=None).write_csv(tmp_path / "peers.csv")
        claims = [claim for claim in page.read_claims(tmp_path) if "below every peer's" in claim.statement]
        assert [claim.holds for claim in claims] == [holds, holds]
        assert PEERS[1].name in page.write_page(tmp_path, "3").read_text()
    assert claims[0].measured.endswith(", ".join(peer.name for peer in PEERS[5:]))


def test_every_peer_has_a_programme_and_versions_by_name_alone() -> None:
    for peer in PEERS[len(OURS) :]:
        assert lines_of_code(peer) > 0
        assert all(len(line.split("==")) == 2 for line in (HERE / f"{peer.stem}.txt").read_text().split())


@pytest.mark.slow
def test_both_rounds_and_bare_duckdb_see_the_same_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{ROOT / 'tests' / 'helpers'}")
    (row,) = collection.measure_collection(3_000, 1)
    assert row["ratio"] > 0
    assert min(row["localise_ours"], row["estimate_bare"], row["peak_mib_ours"], row["peak_mib_bare"]) > 0
    assert not collection.FOLDER.exists()


def test_the_devices_of_the_benchmark_send_what_real_ones_could(tmp_path: Path) -> None:
    made = Collected(tmp_path)
    for number in (1, 2):
        asked = made.asked(number)
        asked = replace(asked, bins={area: found for area, found in asked.bins.items() if area != "empty"})
        n = devices.write_reports(2_000, asked, made.reports / f"round-{number}.jsonl")
        assert 800 < n < 1_200
    estimate.fn(DATE, made.config)
    assert all(one["rows"].keys() == {"used"} for one in made.entries()[1:])


def test_large_days_are_shown_beside_the_limit_and_a_peer_that_failed(tmp_path: Path) -> None:
    rows = pl.DataFrame(
        [
            ("bare DuckDB", 10, 0, 2.0, 512.0),
            ("hexveil", 10, 0, 3.0, 1024.0),
            ("hexveil", 10, 1, 5.0, 1024.0),
            ("OpenDP", 10, 0, None, None),
            ("OpenDP", 1, 0, 7.0, 2048.0),
        ],
        schema=["program", "n_records", "run", "seconds", "peak_mib"],
        orient="row",
    )
    small, whole = large.table(rows).rows(named=True)
    assert (small["hexveil"], small["OpenDP"], small["hexveil / bare DuckDB"]) == ("", "7 s, 2 GiB", "")
    assert (whole["hexveil"], whole["OpenDP"], whole["hexveil / bare DuckDB"]) == ("4 s, 1 GiB", "fails", "2.00")
    large.draw(rows).savefig(tmp_path / "large.png")
    assert (tmp_path / "large.png").stat().st_size > 10_000
