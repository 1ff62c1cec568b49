"""What `ledger verify` finds where presence is secret: changed files, and tables that do not follow from answers."""

import shutil
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import polars as pl
import pytest
from present import made, published, some_lines, write
from support import DATE, Dataset

from dpmath.presence.chosen import Chosen
from tasks.account import ledger, private_files
from tasks.account.presence_release import presence_releases
from tasks.base.errors import LedgerBroken
from tasks.base.frames import parquet_bytes
from tasks.presence.config import PresenceConfig, load_presence
from tasks.presence.states import ANSWERS
from tasks.presence.stored_questions import QUESTIONS, questions_bytes
from tasks.presence.table import table_of
from tasks.presence.verify import verify_presence


@pytest.fixture
def dataset(tmp_path: Path) -> tuple[Dataset, PresenceConfig]:
    return made(tmp_path / "dataset")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a dataset with a day that is published and verified: to be copied."""
    files, config = made(tmp_path_factory.mktemp("whole"))
    write(files, DATE, some_lines(1, 300))
    published(config)
    assert verify_presence(config).n_made_again == 1
    return files.folder


@pytest.mark.quick(5)
@pytest.mark.parametrize(
    "name", ["statistics.csv", "statistics.parquet", "manifest.json", QUESTIONS, ANSWERS, "area.json"]
)
@pytest.mark.parametrize("is_released", [False, True])
def test_a_changed_file_is_found(name: str, is_released: bool, whole: Path, tmp_path: Path) -> None:
    config = load_presence(Path(shutil.copytree(whole, tmp_path / "dataset")) / "dataset.toml")
    folder = config.storage_path / "published" / f"date={DATE}"
    (entry,) = presence_releases(ledger.read_entries(config))
    path = private_files.releases(config) / entry.files[name] if is_released else folder / name
    content = path.read_bytes()
    path.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    with pytest.raises(LedgerBroken):
        verify_presence(config)
    path.write_bytes(content)
    (folder / "more.csv").write_text("x")
    with pytest.raises(LedgerBroken, match="never released"):
        verify_presence(config)


def test_a_forged_table_does_not_follow_from_the_answers(
    dataset: tuple[Dataset, PresenceConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    files, config = dataset
    write(files, DATE, some_lines(1, 300))

    def forged(*given: object) -> pl.DataFrame:
        return table_of(*given).with_columns(pl.col("mean") * 0.9, pl.col("mean_ci95_low") * 0.9)  # type: ignore[arg-type]

    monkeypatch.setattr("tasks.presence.release.table_of", forged)
    published(config)
    with pytest.raises(LedgerBroken, match="does not follow from the noisy answers"):
        verify_presence(config)


def in_one_sum(file: pl.DataFrame) -> pl.DataFrame:
    """Return the file with one sum over all cells for a block that asked each cell by itself, or all cells' sums."""
    name = next((one for one in ("users", "values", "records") if file[one].dtype == pl.Int64), "users")
    ones = pl.Series(name, [[1]] * file.height, dtype=pl.List(pl.Int16))
    return file.with_columns(ones, pl.lit(0).cast(pl.Int64).alias(f"{name}_shift"))


@pytest.mark.quick(4)
@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (lambda file: file.with_columns(pl.col("values") * 2), "questions.parquet does not follow"),
        (lambda file: file.with_columns(pl.col("values_centre") + 200), "questions.parquet does not follow"),
        (lambda file: file.with_columns(pl.col("values") * 0 + 2**61), "not those of its questions"),
        (in_one_sum, "not those of its questions"),
        (lambda file: file.with_columns(pl.lit("1").alias("records")), "not those of its questions"),
        (lambda file: file.with_columns(pl.lit(None).alias("values_centre")), "not those of its questions"),
        (lambda file: file.drop("users_centre"), "not those of its questions"),
        (lambda file: file.with_columns(a_shift=pl.lit("said to readers")), "not those of its questions"),
        (lambda file: file.head(3), "not those of its questions"),
    ],
)
def test_forged_questions_are_none(
    changed: Callable[[pl.DataFrame], pl.DataFrame],
    reason: str,
    dataset: tuple[Dataset, PresenceConfig],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    files, config = dataset
    write(files, DATE, some_lines(1, 300))

    def forged(chosen: Chosen) -> bytes:
        return parquet_bytes(changed(pl.read_parquet(BytesIO(questions_bytes(chosen)))))

    monkeypatch.setattr("tasks.presence.release.questions_bytes", forged)
    published(config)
    with pytest.raises(LedgerBroken, match=reason):
        verify_presence(config)
