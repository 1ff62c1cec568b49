"""Datasets whose users' presence is secret: what is read, what is charged, what is published, and how it is checked."""

import datetime as dt
import gzip
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from present import AREA, CONFIG, LATER, made, published, read_by_hand, released, some_lines, write
from support import DATE, Dataset

from flows import presence as flow
from tasks.account import ledger, private_files
from tasks.account.amendments import amend_budget
from tasks.account.presence_release import presence_releases
from tasks.base.config import load_config
from tasks.base.errors import BadConfig, BadInput, BudgetExceeded, HexveilError, NoRecords
from tasks.presence import account
from tasks.presence.backup import back_up_presence
from tasks.presence.config import PresenceConfig, load_presence
from tasks.presence.preview import preview_day
from tasks.presence.release import release_with
from tasks.presence.states import known_before
from tasks.presence.verify import verify_presence


@pytest.fixture
def dataset(tmp_path: Path) -> tuple[Dataset, PresenceConfig]:
    return made(tmp_path / "dataset")


GIVEN = ("zcdp", "gaussian")


def test_a_day_costs_everybody_the_same_whoever_was_there(dataset: tuple[Dataset, PresenceConfig]) -> None:
    files, config = dataset
    write(files, DATE, some_lines())
    write(files, LATER, [])
    for date in (DATE, LATER):
        published(config, date)
    first, second = presence_releases(ledger.read_entries(config))
    most = config.privacy.loss_per_day
    assert most * (1 - 1e-8) < first.loss <= most
    assert first.loss_total_after == first.loss
    assert second.loss_total_after == first.loss + second.loss
    assert first.epsilon <= Decimal(8)
    assert {path.name for path in (config.storage_path / "private").iterdir()} == {
        "attempts",
        "dataset",
        "ledger-head",
        "releases",
        "reports",
        "states",
    }


def test_the_report_of_what_was_released_stays(dataset: tuple[Dataset, PresenceConfig]) -> None:
    files, config = dataset
    write(files, DATE, some_lines(1, 40))
    released(config, DATE)
    reports = config.storage_path / "private" / "reports"
    report = (reports / f"{DATE}.json").read_bytes()
    write(files, DATE, some_lines(1, 30))
    assert preview_day(DATE, config)["report"] == str(reports / f"{DATE}-planned.json")
    release_with(DATE, config, np.random.default_rng(2).bytes, "more")
    assert (reports / f"{DATE}.json").read_bytes() == report
    others = [reports / f"{DATE}-{name}.json" for name in ("planned", "revision-more")]
    assert [path.exists() for path in others] == [True, True]
    assert len({report, *(path.read_bytes() for path in others)}) == 2


def test_a_day_is_released_once(dataset: tuple[Dataset, PresenceConfig]) -> None:
    files, config = dataset
    write(files, DATE, some_lines())
    folder = published(config)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    write(files, DATE, some_lines(9, 50))
    assert published(config, seed=2) == folder
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert len(ledger.read_entries(config)) == 1


def test_the_budget_ends_and_a_reason_raises_it(tmp_path: Path) -> None:
    files, config = made(tmp_path / "dataset", CONFIG.replace("epsilon_total = 40.0", "epsilon_total = 8.0"))
    for date in (DATE, LATER):
        write(files, date, some_lines(date=date))
    published(config)
    with pytest.raises(BudgetExceeded, match="nothing was spent"):
        released(config, LATER)
    assert len(ledger.read_entries(config)) == 1
    files.config_file.write_text(CONFIG)
    looser = load_presence(files.config_file)
    with pytest.raises(HexveilError, match="amend-budget"):
        released(looser, LATER)
    amend_budget("so it was decided", looser)
    published(looser, LATER)
    assert verify_presence(looser).n_made_again == 2


def test_gaussian_noise_alone_pays_more_of_the_same_promise(tmp_path: Path) -> None:
    one, other = (made(tmp_path / name, CONFIG.replace("cap = 4", f'cap = 4\ndefinition = "{name}"')) for name in GIVEN)
    losses = []
    for dataset, config in (one, other):
        write(dataset, DATE, some_lines())
        published(config)
        assert verify_presence(config).n_releases == 1
        (entry,) = presence_releases(ledger.read_entries(config))
        losses.append(entry.loss)
        assert Decimal("7.9") < entry.epsilon <= config.privacy.epsilon_per_day
    assert 1.10 < losses[1] / losses[0] < 1.17
    amended = load_presence(one[0].config_file)
    with pytest.raises(HexveilError, match=r"in zCDP at delta .*, and the configuration in Gaussian DP"):
        released(amended.model_copy(update={"privacy": other[1].privacy}), LATER)


def test_a_window_counts_the_days_in_it_alone(tmp_path: Path) -> None:
    text = CONFIG.replace("epsilon_total = 40.0", "epsilon_total = 12.0\nwindow_days = 2")
    files, config = made(tmp_path / "dataset", text)
    days = [DATE + dt.timedelta(days=shift) for shift in range(4)]
    for date in days:
        write(files, date, [])
    released(config, days[0])
    released(config, days[2])
    entries = ledger.read_entries(config)
    first, second = (entry.loss for entry in presence_releases(entries))
    assert account.used_with(days[3], 1, entries, config) == 1 + second
    assert account.used_with(days[1], 1, entries, config) == 1 + max(first, second)
    assert account.used_with(days[1] + dt.timedelta(days=9), 1, entries, config) == 1


def test_what_is_known_grows_and_is_made_again_from_the_answers(dataset: tuple[Dataset, PresenceConfig]) -> None:
    files, config = dataset
    for shift in range(3):
        date = DATE + dt.timedelta(days=shift)
        write(files, date, some_lines(shift, 400, date))
        published(config, date, seed=shift)
        if shift == 1:
            for path in private_files.states(config).iterdir():
                path.unlink()
    assert verify_presence(config).n_made_again == 3
    other = config.model_copy(update={"privacy": config.privacy.model_copy(update={"cap": 5})})
    last = DATE + dt.timedelta(days=2)
    assert [preview_day(last, one)["learns_from_days"] for one in (config, other)] == [2, 0]
    tables = [pl.read_parquet(one) for one in sorted(config.storage_path.glob("published/date=*/statistics.parquet"))]
    assert tables[2]["mean_sd"].mean() < tables[0]["mean_sd"].mean()  # type: ignore[operator]


def test_weekends_and_holidays_are_made_again_though_the_calendar_has_changed(tmp_path: Path) -> None:
    """A Thursday that was a holiday, a Friday, a Saturday, and a Sunday."""
    text = CONFIG.replace("[budget]", f'[calendar]\nholidays = ["{DATE}"]\n[budget]')
    files, config = made(tmp_path, text)
    for shift in range(4):
        date = DATE + dt.timedelta(days=shift)
        write(files, date, some_lines(shift, 400, date))
        published(config, date, seed=shift)
    entries = ledger.read_entries(config)
    later = made(tmp_path, text.replace(f'["{DATE}"]', f'["{LATER}"]'))[1]
    assert verify_presence(later).n_made_again == 4
    stored = known_before(DATE + dt.timedelta(days=4), entries, later)
    for path in private_files.states(config).iterdir():
        path.unlink()
    again = known_before(DATE + dt.timedelta(days=4), entries, later)
    assert stored is not None
    assert again is not None
    assert stored.apart.keys() == again.apart.keys() == {1, 2}
    for one, other in ((stored.apart[kind], again.apart[kind]) for kind in (1, 2)):
        assert np.allclose(one.mean, other.mean)
        assert one.prior == other.prior


def test_the_table_says_what_was_there(dataset: tuple[Dataset, PresenceConfig]) -> None:
    """With very little noise the numbers are right, and only cells with enough users are there."""
    files, config = dataset
    config = config.model_copy(
        update={"privacy": config.privacy.model_copy(update={"epsilon_per_day": Decimal(900_000)})}
    )
    config = config.model_copy(
        update={"budget": config.budget.model_copy(update={"epsilon_total": Decimal(1_000_000)})}
    )
    lines = some_lines(7, 900)
    write(files, DATE, lines)
    table = pl.read_parquet(published(config) / "statistics.parquet")
    users: dict[int, int] = defaultdict(int)
    for cells in read_by_hand(lines, config).values():
        for place in cells:
            users[place] += 1
    assert table.height > 20
    for row in table.iter_rows(named=True):
        place = AREA.index(row["h3_cell"]) * 4 + row["slot_start"].hour // 6
        assert abs(row["n_users"] - users[place]) <= max(3, 0.06 * users[place])
        assert row["mean_ci95_low"] - 3 < 40 < row["mean_ci95_high"] + 3
        assert row["n_users_ci95_low"] <= row["n_users"] <= row["n_users_ci95_high"]


def test_a_release_that_fails_has_spent_nothing(
    dataset: tuple[Dataset, PresenceConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    files, config = dataset
    write(files, DATE, some_lines())

    def fail(*_: object) -> None:
        raise OSError("full")

    with monkeypatch.context() as patch:
        patch.setattr(ledger, "append", fail)
        with pytest.raises(OSError, match="full"):
            released(config)
    assert ledger.read_entries(config) == []
    assert not (config.storage_path / "published").exists()
    published(config, seed=2)
    (entry,) = presence_releases(ledger.read_entries(config))
    assert entry.stated["attempt"] == 2
    assert {path.name for path in private_files.releases(config).iterdir()} == set(entry.files.values())


def test_a_copy_is_as_good_as_the_storage(dataset: tuple[Dataset, PresenceConfig], tmp_path: Path) -> None:
    files, config = dataset
    write(files, DATE, some_lines())
    published(config)
    assert back_up_presence(tmp_path / "copy", config) == 1
    files.config_file.write_text(CONFIG.replace('"store"', '"../copy"'))
    assert verify_presence(load_presence(files.config_file)).n_releases == 1


def test_a_storage_is_of_one_model_for_ever(dataset: tuple[Dataset, PresenceConfig]) -> None:
    files, config = dataset
    write(files, DATE, some_lines())
    released(config)
    public = CONFIG.replace('protects = "presence"', "").replace("expected_users = 500\ncap = 4", "")
    files.config_file.write_text("\n".join(line for line in public.splitlines() if not line.startswith("area")))
    with pytest.raises(HexveilError, match="whose users' presence is secret, not the dataset secret"):
        files.release()
    with pytest.raises(HexveilError, match="presence is secret"):
        ledger.read_entries(load_config(files.config_file))


def test_the_other_commands_refuse_such_a_configuration(dataset: tuple[Dataset, PresenceConfig]) -> None:
    with pytest.raises(BadConfig, match="is not for such datasets"):
        load_config(dataset[0].config_file)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("expected_users = 500", "expected_users = 499", "150 buses"),
        ("cap = 4", "cap = 0", "cap"),
        ("cap = 4\n", "", "missing key privacy.cap"),
        ('"bus"', '"{file}"', "{file}"),
        ('"speed"\n[value]', '"{speed}"\n[value]\nfactor = 3.6', "in value.unit"),
        (
            '"speed"\n[value]\nname = "speed"\nunit = "km/h"',
            '"{speed}"\n[value]\nname = "x"\nunit = "km"',
            "value.unit of",
        ),
        ("epsilon_total = 40.0", "epsilon_total = 40.0\nleast_share = 0.2", "least_share"),
        ('timezone = "UTC"', 'timezone = "UTC"\nformat = "xml"', "NDJSON or JSON"),
        ('timezone = "UTC"', 'timezone = "UTC"\nformat = "csv"\nrecords = "a"', "records is for JSON"),
        ("tick = 0.1", "tick = 0.001", "65,536 ticks"),
        ("h3_resolution = 6", "h3_resolution = 11", "more than 131,072 cells"),
        ("area = [", 'area = "no.geojson" #', "cannot be read"),
        ("area = [", 'area = ["871f8", ', "is none"),
        ("h3_resolution = 6", "h3_resolution = 5", "finer than h3_resolution"),
        ("cap = 4", 'cap = 4\nmechanism = "planned"', "unknown key privacy.mechanism"),
        ("cap = 4", 'cap = 4\ndefinition = "pure"', "zcdp"),
        ('value = "speed"', 'value = "speed"\nuser_is = "record"', "protects nobody's presence"),
    ],
)
def test_what_a_configuration_may_not_say(old: str, new: str, reason: str, tmp_path: Path) -> None:
    assert old in CONFIG
    path = tmp_path / "dataset.toml"
    path.write_text(CONFIG.replace(old, new))
    with pytest.raises(BadConfig, match=reason):
        load_presence(path)


def test_refusals_follow_from_structure_alone(dataset: tuple[Dataset, PresenceConfig]) -> None:
    files, config = dataset
    with pytest.raises(NoRecords, match="no file"):
        released(config)
    files.write(f"{DATE}.csv", "bus,time,lat,speed\n")
    with pytest.raises(BadInput, match="no column lon"):
        released(config)
    (files.folder / "raw" / f"{DATE}.csv").unlink()
    for damaged in (b"not gzip", gzip.compress(b"bus,time,lat,lon,speed\n" * 9)[:-9]):
        files.write(f"{DATE}.csv.gz", damaged)
        with pytest.raises(BadInput, match="damaged") as refused:
            released(config)
        assert ".gz" not in str(refused.value)
    assert ledger.read_entries(config) == []


def test_without_values_numbers_of_users_are_published_with_less_noise(tmp_path: Path) -> None:
    """Noise is drawn from fixed seeds. Of one draw either may have less, so six are added up."""
    lines = some_lines(1, 900)
    small = CONFIG.replace("epsilon_per_day = 8.0", "epsilon_per_day = 0.5")
    without = small.replace('value = "speed"\n', "")
    start, end = without.index("[value]"), without.index("[grid]")
    counts = without[:start] + "[statistics]\nmean = false\n" + without[end:]

    def second_day(name: str, text: str, seed: int) -> tuple[Dataset, PresenceConfig, pl.DataFrame]:
        files, config = made(tmp_path / f"{name}-{seed}", text)
        write(files, DATE, lines)
        write(files, LATER, some_lines(2, 900, LATER))
        published(config, DATE, 2 * seed)
        return files, config, pl.read_parquet(published(config, LATER, 2 * seed + 1) / "statistics.parquet")

    draws = range(1, 7)
    deviations = []
    for name, text in (("all", small), ("counts", counts)):
        days = [second_day(name, text, seed) for seed in draws]
        deviations.append(np.mean([table["n_users_sd"].to_numpy() for *_, table in days]))
        files, config, table = days[0]
        assert verify_presence(config).n_made_again == 2
    assert deviations[1] < 0.95 * deviations[0]
    assert not [name for name in table.columns if name.startswith(("mean", "n_records"))]
    files.config_file.write_text(CONFIG.replace("[grid]", "[statistics]\nmean = false\n[grid]"))
    with pytest.raises(BadConfig, match="leave out"):
        load_presence(files.config_file)


def test_a_range_of_days_is_published_and_checked(dataset: tuple[Dataset, PresenceConfig]) -> None:
    files, _ = dataset
    write(files, DATE, some_lines())
    with pytest.raises(HexveilError, match=f"1 of 2 days have problems, the others are done:\n  {LATER}: no file"):
        flow.backfill(files.config_file, DATE, LATER, "refuse", skip_missing=False)
    flow.backfill(files.config_file, DATE, LATER, "refuse", skip_missing=True)
    with pytest.raises(HexveilError, match="costs everybody the same"):
        flow.backfill(files.config_file, DATE, LATER, "spread", skip_missing=True)
    flow.verify(files.config_file)
    report = flow.daily(files.config_file, DATE)
    assert (report.n_cells, report.n_more_like_it > 0) == (28, True)


def test_the_map_is_one_page_about_noisy_numbers(tmp_path: Path) -> None:
    files, config = made(tmp_path / "dataset", CONFIG.replace("map = false", "map = true"))
    write(files, DATE, some_lines(1, 900))
    page = (published(config) / "map.html").read_text()
    assert "Numbers of users and records are noisy" in page
    assert "is taken to be public" not in page
    overview = (config.storage_path / "published" / "index.html").read_text()
    assert "Everybody, there or not, has used" in overview
    assert "is taken to be public" not in overview
    table = pl.read_parquet(config.storage_path / "published" / "table" / "**" / "*.pq")
    assert table.height == presence_releases(ledger.read_entries(config))[0].n_published > 0


def test_where_numbers_of_users_alone_are_published_the_map_is_of_them(tmp_path: Path) -> None:
    without = CONFIG.replace('value = "speed"\n', "").replace("map = false", "map = true")
    start, end = without.index("[value]"), without.index("[grid]")
    files, config = made(tmp_path / "dataset", without[:start] + "[statistics]\nmean = false\n" + without[end:])
    write(files, DATE, some_lines(1, 900))
    page = (published(config) / "map.html").read_text()
    assert "Number of users per hexagon" in page
    assert "published number" in page
    assert "mean users" not in page
    assert "Numbers of users and records are noisy" not in page
    assert verify_presence(config).n_made_again == 1


def test_the_ledger_does_not_say_how_long_the_days_of_a_backfill_took(
    dataset: tuple[Dataset, PresenceConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    files, config = dataset
    for date in (DATE, LATER):
        write(files, date, some_lines(1, 300, date))
    times = iter(f"2026-01-20T00:00:{second:02}+00:00" for second in range(60))
    for module in ("flows.presence", "tasks.presence.release"):
        monkeypatch.setattr(f"{module}.now", lambda: next(times))
    flow.backfill(files.config_file, DATE, LATER, "refuse", skip_missing=False)
    found = [one.committed_at for one in presence_releases(ledger.read_entries(config))]
    assert found == [found[0]] * 2


def test_a_slot_that_the_clock_skips_in_part_is_there(tmp_path: Path) -> None:
    """In Cairo the clock skips the first hour of this day."""
    text = CONFIG.replace('"UTC"', '"Africa/Cairo"').replace("slot_minutes = 360", "slot_minutes = 1440")
    files, config = made(tmp_path / "dataset", text)
    date = dt.date(2026, 4, 24)
    write(files, date, some_lines(1, 900, date))
    table = pl.read_parquet(published(config, date) / "statistics.parquet")
    assert table.height > 0
    assert set(table["slot_start"]) == {config.day_bounds(date)[0]}


def test_a_released_day_is_not_that_of_another_area(dataset: tuple[Dataset, PresenceConfig]) -> None:
    files, config = dataset
    write(files, DATE, some_lines())
    released(config)
    files.config_file.write_text(CONFIG.replace(AREA[0], AREA[1]))
    with pytest.raises(HexveilError, match=r"another grid\.area"):
        released(load_presence(files.config_file))
