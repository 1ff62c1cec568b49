from fractions import Fraction
from pathlib import Path

import pytest
from support import CONFIG, Dataset

from tasks.base.config import load_config
from tasks.base.config_types import shown
from tasks.base.errors import BadConfig

ROOT = Path(__file__).parents[2]


def problem_with(dataset: Dataset, old: str, new: str) -> str:
    dataset.edit(old, new)
    with pytest.raises(BadConfig) as caught:
        load_config(dataset.config_file)
    return str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("epsilon_per_day", "epsilon_pr_day", "unknown key privacy.epsilon_pr_day; did you mean epsilon_per_day?"),
        ("[grid]", "[gird]", "unknown key gird; did you mean grid?"),
        ("[grid]", "[extra]\nx = 1\n[grid]", "unknown key extra; remove it"),
        ('user = "bus"', "", "missing key columns.user"),
        ("upper = 100.0", "upper = -5", "upper = -5 must be above lower = 0.0"),
        ("upper = 100.0", "upper = 0.0", "upper = 0.0 must be above lower = 0.0"),
        ("tick = 0.01", "tick = 0.03", "tick = 0.03 must divide upper - lower"),
        ("tick = 0.01", "tick = 0.00001", "tick = 0.00001 must leave at most"),
        ("tick = 0.01", "tick = 0", "value.tick: input should be greater than 0, not 0"),
        (
            "epsilon_per_day = 2.0",
            "epsilon_per_day = 0",
            "privacy.epsilon_per_day: input should be greater than or equal to",
        ),
        (
            "epsilon_per_day = 2.0",
            "epsilon_per_day = -1.5",
            "privacy.epsilon_per_day: input should be greater than or equal to",
        ),
        ("epsilon_per_day = 2.0", "epsilon_per_day = inf", "privacy.epsilon_per_day: input should be a finite number"),
        ("epsilon_per_day = 2.0", "epsilon_per_day = nan", "privacy.epsilon_per_day"),
        ("epsilon_per_day = 2.0", "epsilon_per_day = true", "privacy.epsilon_per_day"),
        ("epsilon_total = 5.0", "epsilon_total = 0.0", "budget.epsilon_total"),
        ("h3_resolution = 7", "h3_resolution = 16", "grid.h3_resolution"),
        ("h3_resolution = 7", 'h3_resolution = "7"', 'valid integer, not "7"; write it without quotes'),
        ("epsilon_per_day = 2.0", 'epsilon_per_day = "2"', 'not "2"; write it without quotes'),
        ("map = false", 'map = "true"', 'valid boolean, not "true"; write it without quotes'),
        ("slot_minutes = 60", "slot_minutes = 7", "grid.slot_minutes: must divide a day of 1440 minutes, not 7"),
        ('timezone = "UTC"', 'timezone = "Amerika/Chicago"', "did you mean America/Chicago?"),
        ('value = "speed"', 'value = "bus"', "columns: must name different columns"),
        ('name = "test"', 'name = "A b"', "dataset.name"),
        ("[budget]", 'mechanism = "exact"\ntarget_error_variance = 9\n[budget]', "needs statistics.variance = true"),
        ("[budget]", 'mechanism = "none"\n[budget]', "privacy.mechanism: must be one of baseline, array-averaging, "),
        ('unit = "km/h"', 'unit = "\\u001b[2J"', "value.unit: must hold no control characters, not"),
        ('"raw/*"', '"raw/\\u0007"', "dataset.files: must hold no control characters, not"),
        ("[dataset]", "[dataset", "not valid TOML"),
        ("[dataset]", 'folder = "/"\n[dataset]', "unknown key folder"),
    ],
)
def test_a_wrong_key_is_named_with_what_to_do(dataset: Dataset, old: str, new: str, said: str) -> None:
    message = problem_with(dataset, old, new)
    assert said in message
    assert str(dataset.config_file) in message
    assert all(line == shown(line) for line in message.split("\n"))


@pytest.mark.parametrize("place", ["raw/day.csv", "raw/day.csv/store"])
def test_a_storage_that_is_a_file_or_in_one_is_refused(dataset: Dataset, place: str) -> None:
    file = dataset.write("day.csv", "x")
    said = problem_with(dataset, 'path = "store"', f'path = "{place}"')
    assert f"but {file} is a file; name a folder" in said


def test_a_missing_file_and_one_that_is_not_text_are_named(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match=r"absent\.toml: cannot be read"):
        load_config(tmp_path / "absent.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(BadConfig, match="not UTF-8"):
        load_config(tmp_path / "binary.toml")


def test_decimals_are_exact_and_not_what_binary_makes_of_them(dataset: Dataset) -> None:
    dataset.set(tick=0.1)
    config = dataset.config
    assert Fraction(config.value.tick) == Fraction(1, 10)
    assert config.value.n_ticks == 1000


def test_a_configuration_cannot_be_changed(dataset: Dataset) -> None:
    with pytest.raises(ValueError, match="frozen"):
        dataset.config.privacy.epsilon_per_day = 3  # type: ignore[misc]


@pytest.mark.parametrize("name", ["demo", "austin"])
def test_the_configurations_that_come_with_it_can_be_read(name: str) -> None:
    assert load_config(ROOT / "deploy" / "config" / f"{name}.toml").dataset.name == name


def test_what_the_ledger_records_of_it_says_nothing_of_this_machine(dataset: Dataset) -> None:
    assert "store" in CONFIG
    assert str(dataset.folder) not in str(dataset.config.public_settings())
    assert "storage" not in dataset.config.public_settings()


def test_the_engine_gets_the_threads_that_the_configuration_allows(dataset: Dataset) -> None:
    for n_threads in (1, 3):
        dataset.edit("[storage]", f"[storage]\nthreads = {n_threads}")
        assert dataset.query("select current_setting('threads')") == [(n_threads,)]
        dataset.edit(f"threads = {n_threads}\n", "")
