import os
import subprocess
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support import CONFIG, DATE, ENGINES, HEADER, Dataset, later_day

from tasks.base import warehouse
from tasks.base.errors import BadConfig, BadInput, HexveilError
from tasks.engines import scratch, shard_parts, shard_store, sharded_day
from tasks.upkeep.forget import forget_days, held_days


@pytest.fixture
def engine() -> str:
    return ENGINES[1]


def stored(dataset: Dataset) -> list[str]:
    return shard_store.open_store(dataset.config).names()


@pytest.mark.slow
def test_all_records_of_a_user_are_in_one_shard_and_those_of_nobody_in_the_first(busy_dataset: Dataset) -> None:
    busy_dataset.write("more.csv", HEADER + f",{DATE}T08:00:00Z,47,8,1\nbus03,{DATE}T09:00:00Z,47,8,1\n")
    busy_dataset.set(max_quarantined_share=0.5)
    busy_dataset.prepare()
    store = shard_store.open_store(busy_dataset.config)
    with warehouse.connect(busy_dataset.config) as connection:
        found = shard_parts.find_parts(connection, {"dates": [DATE], "file_ids": [1, 2]})
        assert len({part.shard for part in found}) == 3
        users = [
            (part.shard, user)
            for part in found
            for (user,) in connection.execute(
                "select distinct user_id from read_parquet($path)", {"path": str(store.fetch(part.name, Path()))}
            ).fetchall()
        ]
    assert len({user for _, user in users}) == len(set(users)) == 13
    assert {shard for shard, user in users if user is None} == {0}


@pytest.mark.slow
def test_a_file_is_read_once_and_again_only_when_its_content_changes(busy_dataset: Dataset) -> None:
    busy_dataset.prepare()
    before = stored(busy_dataset)
    os.utime(busy_dataset.folder / "raw" / "day.csv", (1, 1))
    busy_dataset.prepare()
    assert stored(busy_dataset) == before
    assert busy_dataset.query("select count(*) from seen_file") == [(2,)]
    path = busy_dataset.folder / "raw" / "day.csv"
    path.write_text(path.read_text() + f"bus99,{DATE}T08:00:00Z,47.05,8.31,1\n")
    busy_dataset.prepare()
    assert set(before) < set(stored(busy_dataset)), "the earlier file's rows stay, and are not used"
    assert busy_dataset.query("select sum(n_records) from user_cell") == [(289,)]


@pytest.mark.slow
def test_the_number_of_shards_may_change_at_any_time(busy_dataset: Dataset) -> None:
    busy_dataset.prepare()
    before = busy_dataset.query("select * from user_cell order by all")
    path = busy_dataset.folder / "raw" / "day.csv"
    busy_dataset.set(n_shards=4)
    busy_dataset.write("copy.csv", path.read_text())
    busy_dataset.prepare()
    assert busy_dataset.query("select * from user_cell order by all") == before
    assert busy_dataset.query("select reason, count(*) from quarantine group by all") == [("duplicate", 288)]
    assert busy_dataset.query("select distinct n_shards from raw_part order by all") == [(3,), (4,)]


@pytest.mark.slow
@pytest.mark.quick(1)
@pytest.mark.parametrize("n_new", [0, 1])
def test_what_no_finished_run_knows_of_is_deleted_before_the_next_begins(busy_dataset: Dataset, n_new: int) -> None:
    busy_dataset.prepare()
    before, left = set(stored(busy_dataset)), shard_store.open_store(busy_dataset.config)
    for name in ("parts/9/killed/shard=0/day=2026-01-15/data_0.parquet", f"days/{DATE}/0-killed/user_cell", ".half"):
        left.put(busy_dataset.config_file, name)
    for _ in range(n_new):
        later_day(busy_dataset, 1)
    busy_dataset.prepare()
    assert not any("killed" in name or "half" in name for name in stored(busy_dataset))
    assert (before < set(stored(busy_dataset))) if n_new else (before == set(stored(busy_dataset)))


def test_forgetting_deletes_the_days_parts_and_what_killed_workers_left(busy_dataset: Dataset) -> None:
    tomorrow = later_day(busy_dataset, 1)
    busy_dataset.prepare()
    kept = {name for name in stored(busy_dataset) if str(tomorrow) in name}
    abandoned = busy_dataset.folder / "store" / "private" / "scratch" / "work-abandoned"
    abandoned.mkdir()
    (abandoned / "warehouse.duckdb").write_bytes(b"bus03 was here")
    assert held_days(busy_dataset.config)[DATE] == 288
    forgotten = forget_days([DATE], busy_dataset.config)
    assert forgotten.n_parts == 4, "three parts, and the note of a file that has none any more"
    assert not abandoned.exists()
    assert {name for name in stored(busy_dataset) if name.endswith(".parquet")} == kept
    busy_dataset.prepare(tomorrow)


def test_a_worker_that_was_killed_leaves_nothing_once_another_has_worked(dataset: Dataset) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path; from tasks.base.config import load_config; "
        "from tasks.engines.scratch import scratch\n"
        "with scratch(load_config(Path(sys.argv[1]))) as here:\n"
        "    (here.storage_path / 'private').mkdir(); (here.storage_path / 'private' / 'rows').write_text('bus03')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    root = dataset.folder / "store" / "private" / "scratch"
    killed = subprocess.run([sys.executable, "-c", code, str(dataset.config_file)], check=False)
    assert killed.returncode == -9
    assert list(root.rglob("rows"))
    with scratch.scratch(dataset.config) as here:
        assert not list(root.rglob("rows"))
        with scratch.scratch(dataset.config):
            assert here.storage_path.exists(), "one that is at work is left alone"
    assert list(root.iterdir()) == [root / "door"]
    assert root.stat().st_mode & 0o077 == 0


def test_what_others_keep_beside_the_scratch_folder_is_left_alone(dataset: Dataset, tmp_path: Path) -> None:
    mine = tmp_path / "disk" / "thesis"
    mine.mkdir(parents=True)
    (mine / "chapter").write_text("one")
    mine.parent.chmod(0o755)
    for place in (mine.parent, dataset.folder / "store"):
        dataset.config_file.write_text(f'{CONFIG}[engine]\nname = "dask"\nscratch = "{place}"\n')
        (dataset.folder / "store" / "private" / "plans").mkdir(parents=True, exist_ok=True)
        with scratch.scratch(dataset.config):
            pass
    assert (mine / "chapter").read_text() == "one"
    assert mine.parent.stat().st_mode & 0o777 == 0o755
    assert (dataset.folder / "store" / "private" / "plans").exists()


def test_workers_that_come_and_go_do_not_meet(dataset: Dataset) -> None:
    def come_and_go(_: int) -> None:
        with scratch.scratch(dataset.config) as here:
            assert here.storage_path.exists()

    with ThreadPoolExecutor(4) as pool:
        assert len(list(pool.map(come_and_go, range(300)))) == 300


def test_nothing_is_said_to_be_forgotten_that_older_shards_may_hold(busy_dataset: Dataset) -> None:
    busy_dataset.prepare()
    busy_dataset.edit(ENGINES[1], "")
    (busy_dataset.folder / "store" / "private" / "warehouse.duckdb").unlink()
    busy_dataset.prepare()
    with pytest.raises(HexveilError, match="workers kept records of this storage in shards"):
        forget_days([DATE], busy_dataset.config)
    assert held_days(busy_dataset.config)[DATE] == 288


@pytest.mark.parametrize("place", ["ftp://host/data/*.csv", "https://host/day.csv", "s3://key:secret@bucket/*.csv"])
def test_an_address_that_would_lose_its_server_or_tell_a_password_is_refused(dataset: Dataset, place: str) -> None:
    dataset.config_file.write_text(CONFIG.replace('"raw/*"', f'"{place}"') + '[engine]\nname = "dask"\n')
    with pytest.raises(BadConfig, match=r"names a server|holds no credentials"):
        _ = dataset.config


@pytest.mark.slow
def test_one_storage_has_one_engine(busy_dataset: Dataset) -> None:
    busy_dataset.prepare()
    busy_dataset.edit(ENGINES[1], "")
    for use in (busy_dataset.prepare, lambda: forget_days([DATE], busy_dataset.config)):
        with pytest.raises(HexveilError, match=r'read by engine\.name = "dask": set it, or remove private/warehouse'):
            use()
    (busy_dataset.folder / "store" / "private" / "warehouse.duckdb").unlink()
    busy_dataset.prepare()
    busy_dataset.config_file.write_text(busy_dataset.config_file.read_text() + ENGINES[1])
    with pytest.raises(HexveilError, match=r'read by engine\.name = "local"'):
        busy_dataset.prepare()


def test_a_folder_with_other_files_is_not_swept(busy_dataset: Dataset) -> None:
    other = busy_dataset.folder / "photos"
    other.mkdir()
    (other / "holiday.jpg").write_bytes(b"sun")
    busy_dataset.set(shards="photos")
    with pytest.raises(HexveilError, match="holds other files or the shards of another storage"):
        busy_dataset.prepare()
    assert (other / "holiday.jpg").exists()


def test_a_part_that_is_missing_is_missed(busy_dataset: Dataset) -> None:
    busy_dataset.prepare()
    gone = next(name for name in stored(busy_dataset) if name.endswith(".parquet"))
    shard_store.open_store(busy_dataset.config).remove([gone])
    with pytest.raises(HexveilError, match=r"is missing; remove private/warehouse\.duckdb"):
        busy_dataset.prepare()


def test_records_that_went_to_no_shard_are_missed(busy_dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = sharded_day.names_by_shard
    monkeypatch.setattr(sharded_day, "names_by_shard", lambda found, config: honest(found[1:], config))
    with pytest.raises(HexveilError, match="records were loaded of 288 in all shards"):
        busy_dataset.prepare()


@pytest.mark.slow
def test_any_address_that_fsspec_knows_will_do(busy_dataset: Dataset) -> None:
    place = f"memory:///{uuid.uuid4().hex}"
    text = (busy_dataset.folder / "raw" / "day.csv").read_bytes()
    shard_store.Store(place).put(busy_dataset.folder / "raw" / "day.csv", f"raw/{DATE}.csv")
    busy_dataset.set(files=[f"{place}/raw/{{date}}.csv"])
    busy_dataset.set(shards=f"{place}/shards")
    for _ in range(2):
        busy_dataset.prepare()
    assert busy_dataset.query("select name, n_rows, file_date from raw_file") == [
        (f"{place}/raw/{DATE}.csv", 288, DATE)
    ]
    assert busy_dataset.query("select sum(n_records) from user_cell") == [(288,)]
    (busy_dataset.folder / "bad.csv").write_bytes(text.replace(b"bus,", b"tram,"))
    shard_store.Store(place).put(busy_dataset.folder / "bad.csv", f"raw/{DATE}.csv")
    with pytest.raises(HexveilError, match=rf"{place}/raw/{DATE}\.csv: no column"):
        busy_dataset.prepare()
    forget_days([DATE], busy_dataset.config)
    assert stored(busy_dataset) == ["fence", "owner"]


def test_a_day_without_records_is_refused_in_the_words_of_the_local_engine(busy_dataset: Dataset) -> None:
    said = []
    for settings in (ENGINES[1], ""):
        busy_dataset.edit(ENGINES[1], settings)
        (busy_dataset.folder / "store" / "private" / "warehouse.duckdb").unlink(missing_ok=True)
        with pytest.raises(BadInput) as caught:
            busy_dataset.prepare(DATE.replace(day=20))
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert "the files hold 2026-01-15 to 2026-01-15" in said[0]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ('name = "spark"', r"engine\.name"),
        ("n_shards = 4", r'name = "local" has no use for n_shards'),
        ('name = "dask"\nworkers = 4', r"unknown key engine\.workers"),
        ('name = "dask"\nn_shards = 0', r"engine\.n_shards"),
        ('name = "dask"\naddress = "scheduler"', r"engine\.address"),
        ('name = "dask"\nshards = "gopher://hole"', r"gopher:// is no address that fsspec knows"),
    ],
)
def test_an_engine_that_cannot_be_is_refused(dataset: Dataset, written: str, said: str) -> None:
    dataset.edit(ENGINES[1], f"[engine]\n{written}\n")
    with pytest.raises(BadConfig, match=said):
        _ = dataset.config


def test_where_the_records_are_worked_on_is_no_setting_of_a_release(dataset: Dataset) -> None:
    there = dataset.config
    assert "engine" not in there.public_settings()
    assert there.with_settings(there.public_settings()) == there
