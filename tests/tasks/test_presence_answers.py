"""Areas, days and changes where presence is secret: answered from published files alone, as dense matrices answer."""

import datetime as dt
import json
import random
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from answered import dense
from present import AREA, CONFIG, DATE, lines_of, made, released, write

import hexveil
from tasks.account import ledger
from tasks.account.presence_release import presence_releases
from tasks.answers.ask import ask
from tasks.base.errors import HexveilError, LedgerBroken
from tasks.output_formats.joint import says_another
from tasks.presence import joint, states, verify
from tasks.presence.config import PresenceConfig
from tasks.presence.publish import publish_day
from tasks.presence.table import cells_of
from tasks.presence.verify import verify_presence

DAYS = [DATE + dt.timedelta(days=number) for number in range(3)]
N_USERS = 400
PUBLISHER = """[publisher]
name = "The city"
contact = "data@example.org"
licence = "https://creativecommons.org/licenses/by/4.0/"
"""


def publish(folder: Path, text: str) -> tuple[PresenceConfig, Path]:
    """Publish three days of some hundred users, and return the configuration and the published folder."""
    files, config = made(folder, text)
    for seed, date in enumerate(DAYS):
        rng = random.Random(seed)
        write(files, date, [line for n in range(N_USERS) for line in lines_of(f"u{n}", date, rng)])
        publish_day.fn(released(config, date, seed), config)
    return config, config.storage_path / "published"


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> tuple[PresenceConfig, Path]:
    return publish(tmp_path_factory.mktemp("days"), CONFIG + PUBLISHER)


def table(published: Path, date: dt.date, name: str) -> pl.DataFrame:
    return pl.read_parquet(published / f"date={date}" / name, hive_partitioning=False)


@pytest.mark.theorem("HV-E8")
def test_users_of_an_area_are_the_sum_of_all_its_cells_with_the_deviation_of_a_dense_matrix(
    days: tuple[PresenceConfig, Path],
) -> None:
    _, published = days
    cells = table(published, DATE, "joint_users.parquet")
    assert cells.height == len(AREA) * 4, "all cells, also those too small for the other files"
    some = ",".join(AREA[:3])
    (row,) = ask(published, of="n_users", hexagons=some, hours="6-18", last=str(DATE)).table.to_dicts()
    inside = (cells["h3_cell"].is_in(AREA[:3]) & cells["slot_start"].dt.hour().is_in([6, 12])).to_numpy().astype(float)
    assert row["n_users"] == pytest.approx(inside @ cells["n_users"].to_numpy())
    assert row["n_users_sd"] == pytest.approx(np.sqrt(inside @ dense(cells) @ inside), rel=1e-4)
    assert row["n_cells"] == inside.sum() == 6
    both = ask(published, of="n_users", hexagons=some, hours="6-18").table.to_dicts()[0]
    each = ask(published, of="n_users", hexagons=some, hours="6-18", by="day").table["n_users"]
    assert both["n_users"] == pytest.approx(each.mean()), "days count alike"


@pytest.mark.theorem("HV-E8")
def test_means_of_an_area_are_weighted_by_noisy_records_whose_noise_counts(days: tuple[PresenceConfig, Path]) -> None:
    _, published = days
    cells = table(published, DATE, "joint.parquet")
    (row,) = ask(published, last=str(DATE)).table.to_dicts()
    records, mean = cells["n_records"].to_numpy(), cells["cell_mean"].to_numpy()
    share = records / records.sum()
    of_users = table(published, DATE, "joint_users.parquet")
    each = records / np.maximum(of_users["n_users"].to_numpy(), 1e-3)
    of_records = each[:, None] * dense(of_users) * each
    own = np.maximum(cells["n_records_sd"].to_numpy() ** 2 - np.diag(of_records), 0)
    far = (mean - share @ mean) / records.sum()
    of_weights = far @ (of_records + np.diag(own)) @ far
    apart = far**2 @ cells["n_records_sd"].to_numpy() ** 2
    assert abs(of_weights / apart - 1) > 0.02, "errors of numbers of records go together"
    assert row["mean"] == pytest.approx(share @ mean)
    assert row["mean_sd"] == pytest.approx(np.sqrt(share @ dense(cells) @ share + of_weights), rel=1e-4)
    (stated,) = [json.loads((published / f"date={DATE}" / "manifest.json").read_text())["whole_day"]]
    assert float(stated["mean_sd"]) == pytest.approx(row["mean_sd"], rel=0.01), "as the manifest says"
    assert row["n_records"] == pytest.approx(records.sum())
    changed = ask(published, first=str(DAYS[2]), compare=f"{DAYS[0]}:{DAYS[1]}", by="area").table
    assert {"change_sd", "p_value", "changed"} <= set(changed.columns)
    assert hexveil.ask(published, by="hour").height == 4


def test_the_whole_area_is_near_what_was_there(days: tuple[PresenceConfig, Path]) -> None:
    """Users of a made day are in 6 cells each; noise and records are drawn from fixed seeds."""
    config, published = days
    report = json.loads((config.storage_path / "private" / "reports" / f"{DATE}.json").read_text())
    (users,) = ask(published, of="n_users", last=str(DATE)).table.to_dicts()
    (mean,) = ask(published, last=str(DATE)).table.to_dicts()
    assert abs(mean["n_records"] - report["kept"]) < 0.15 * report["kept"]
    assert users["n_users"] < mean["n_records"]
    assert mean["mean_ci95_low"] < 40 < mean["mean_ci95_high"]


def test_the_catalogue_names_every_file_and_what_its_columns_mean(days: tuple[PresenceConfig, Path]) -> None:
    config, published = days
    package = json.loads((published / "datapackage.json").read_text())
    listed = {one["path"] for one in package["resources"]}
    there = {str(path.relative_to(published)) for path in published.glob("date=*/*")}
    assert listed == there
    (schema,) = published.glob("columns-*.json")
    fields = {one["name"]: one["description"] for one in json.loads(schema.read_text())["fields"]}
    assert "noisy number of users" in fields["n_users"]
    assert fields["mean_ci95_low"] == fields["mean_ci95_high"]
    assert "added or taken away" in package["privacy"]["neighbours"]
    catalogue = json.loads((published / "catalogue.jsonld").read_text())
    assert "POLYGON" in catalogue["dct:spatial"]["dcat:bbox"]["@value"]
    assert "<svg" in (published / "index.html").read_text(), "the city's curve"
    (first, *_) = presence_releases(ledger.read_entries(config))
    assert set(first.stated["whole_day"]) == {"mean", "mean_sd", "spread"}
    assert 0.5 < float(first.stated["joint_error"]["least"]) <= float(first.stated["joint_error"]["largest"]) < 1.2


def test_numbers_of_users_alone_are_answered_without_being_asked_for_by_name(tmp_path: Path) -> None:
    without = CONFIG.replace('value = "speed"\n', "")
    start, end = without.index("[value]"), without.index("[grid]")
    _, published = publish(tmp_path, without[:start] + "[statistics]\nmean = false\n" + without[end:])
    assert ask(published).table["n_users"][0] > 100
    with pytest.raises(HexveilError, match="--of n_users"):
        ask(published, of="mean")
    with pytest.raises(HexveilError, match="mean and n_users"):
        ask(published, of="median")
    assert not list(published.glob("date=*/joint.parquet"))


@pytest.mark.parametrize("name", ["n_users", "variance", "of_hexagon", "cell_mean"])
def test_a_forged_joint_table_is_found(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, config = made(tmp_path, CONFIG)
    write(files, DATE, [("u1", f"{DATE}T08:00:00Z", "47.1", "8.1", "40")])
    whole = joint.joint_tables

    def forged(*given: object) -> joint.Joint:
        found = whole(*given)  # type: ignore[arg-type]
        made = found.tables
        of = "joint.parquet" if name == "cell_mean" else "joint_users.parquet"
        larger = pl.col(name).list.eval(1.1 * pl.element()) if name == "of_hexagon" else 1.1 * pl.col(name)
        return found._replace(tables=made | {of: made[of].with_columns(larger.cast(made[of].schema[name]))})

    monkeypatch.setattr("tasks.presence.release.joint_tables", forged)
    publish_day.fn(released(config), config)
    with pytest.raises(LedgerBroken, match=r"joint.*\.parquet does not follow"):
        verify_presence(config)


def test_a_forged_table_is_found_whatever_is_forged_in_it(days: tuple[PresenceConfig, Path]) -> None:
    config, _ = days
    (entry, *_) = presence_releases(ledger.read_entries(config))
    again = states.estimated_again(entry, None, config)
    cells = cells_of(again.estimate, DATE, entry.release_id, float(entry.epsilon), config)
    real = cells.filter(pl.col("is_published")).drop("is_published")
    unseen = real[:1].with_columns(h3_cell=pl.lit("861f8d6d7ffffff"))
    forged = {
        "no number": real.with_columns(mean=pl.lit(float("nan"))),
        "nothing": real.with_columns(mean_sd=pl.lit(None, pl.Float64), mean=pl.lit(1.0)),
        "another release": real.with_columns(release_id=pl.lit("x")),
        "one more": pl.concat([real, unseen]),
        "twice": pl.concat([real, real[:1]]),
        "another type": real.with_columns(pl.col("mean").cast(pl.Float32)),
        "less": real[3:],
        "more users": real.with_columns(pl.col("n_users") + 3),
    }
    assert not verify._far_apart(cells, real, config)
    assert not verify._far_apart(cells, real[1:], config), "a cell at the limit"
    assert [name for name, one in forged.items() if not verify._far_apart(cells, one, config)] == []


def test_a_joint_table_that_narrows_areas_by_little_in_each_cell_is_found() -> None:
    """Of 900 cells whose errors have nothing in common each two lose .0016, and the city nearly all of its variance."""
    places = [
        (f"{hexagon:015x}", dt.datetime(2026, 3, 2 + slot // 24, slot % 24))
        for hexagon in range(30)
        for slot in range(30)
    ]
    none, names = [[0.0]] * len(places), ("common", "against", "of_hexagon", "of_slot")
    real = pl.DataFrame(
        {
            "h3_cell": [one for one, _ in places],
            "slot_start": [one for _, one in places],
            "n_users": [9.0] * len(places),
            "variance": [1.0] * len(places),
            **{f"{prefix}{name}": none for prefix in ("", "lasting_") for name in names},
        }
    )
    assert not says_another(real, real, 0.0)
    assert says_another(real, real.with_columns(against=pl.lit([0.03])), 0.0)
    assert not says_another(real, real.with_columns(against=pl.lit([0.001])), 0.0)


@pytest.mark.slow
def test_files_over_all_days_are_checked_and_written_again(tmp_path: Path) -> None:
    config, published = publish(tmp_path, CONFIG)
    assert verify_presence(config).n_made_again == 3
    for name in ("index.html", "datapackage.json"):
        (published / name).write_text("forged")
        with pytest.raises(LedgerBroken, match=name):
            verify_presence(config)
        publish_day.fn(presence_releases(ledger.read_entries(config))[0].release_id, config)
    assert verify_presence(config).n_made_again == 3


@pytest.mark.parametrize("is_same_model", [True, False])
def test_releases_of_another_model_are_neither_learned_from_nor_made_again(
    days: tuple[PresenceConfig, Path], monkeypatch: pytest.MonkeyPatch, is_same_model: bool
) -> None:
    """Another version of the program makes releases again as long as the model is the same."""
    config, _ = days
    made_again: list[dt.date] = []
    monkeypatch.setattr(verify, "code_hash", lambda: "another")
    monkeypatch.setattr(verify, "_unlike_answers", lambda entry, *_: made_again.append(entry.date) or iter(()))
    if not is_same_model:
        for module in (states, verify):
            monkeypatch.setattr(module, "MODEL", 99)
    later = DAYS[-1] + dt.timedelta(days=1)
    learned_from = [one.date for one in states.chain_before(later, ledger.read_entries(config), config)]
    verify_presence(config)
    assert learned_from == made_again == (DAYS if is_same_model else [])
