"""A file is read whole before `hexveil init` takes it for the file of the day in its name."""

import datetime as dt
import re
from pathlib import Path

import pytest
from support import DATE, HEADER, Dataset, Hexveil

from tasks.base.config import load_config

USUAL = ("--yes", "--unit", "km/h")
NEXT = DATE + dt.timedelta(days=1)


def rows(date: dt.date, n: int) -> str:
    return "".join(
        f"b{bus},{date}T{8 + ping // 60:02}:{ping % 60:02}:00Z,47.05,8.31,{20 + bus}\n"
        for ping in range(n // 10)
        for bus in range(10)
    )


@pytest.mark.slow
def test_a_file_of_several_days_named_by_its_first_is_read_on_each_of_them(dataset: Dataset, hexveil: Hexveil) -> None:
    file, path = dataset.write(f"{DATE}.csv", HEADER + rows(DATE, 5_500) + rows(NEXT, 1_000)), dataset.folder / "m.toml"
    made = hexveil("init", file, "--to", path, *USUAL)
    assert made.returncode == 0, made.stderr
    assert f"{DATE} was read: 5,500 rows kept" in made.stdout
    path.write_text(path.read_text().replace("[storage]", "[publish]\nmap = false\n[storage]"))
    ran = hexveil("run", "--config", path, "--date", NEXT)
    assert ran.returncode == 0, ran.stderr
    assert "1,000 of 1,000 records, 100.0%" in ran.stdout


def test_so_is_one_that_the_trial_finds_beside_it(dataset: Dataset, hexveil: Hexveil) -> None:
    file = dataset.write(f"{DATE}-1.csv", HEADER + rows(DATE, 100))
    dataset.write(f"{DATE}-2.csv", HEADER + rows(NEXT, 100))
    made = hexveil("init", file, "--to", dataset.folder / "m.toml", *USUAL)
    assert made.returncode == 0, made.stderr
    assert "these are not the local days of all records: every day reads all files" in made.stdout
    assert load_config(dataset.folder / "m.toml").dataset.files == (f"raw/{DATE}-1.csv",)


@pytest.mark.quick(1)
@pytest.mark.parametrize("names", ["capmetro_austin_2016-11-24_27.csv.gz", "*.csv.gz"])
def test_the_real_file_of_four_days_is_one(real_data: Path, dataset: Dataset, hexveil: Hexveil, names: str) -> None:
    path = dataset.folder / "m.toml"
    made = hexveil("init", *sorted(real_data.glob(names)), "--to", path, *USUAL)
    assert made.returncode == 0, made.stderr
    assert "{date}" not in " ".join(load_config(path).dataset.files)
    assert re.search(r"was read: [\d,]{6} rows kept", made.stdout)
