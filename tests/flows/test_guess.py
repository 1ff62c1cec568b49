"""A map that is no better than one number for the whole day says so first, and what would help."""

from decimal import Decimal

import numpy as np
import pytest
from estimates import day, released, write_day
from support import DATE, Dataset, Hexveil, table

from tasks.account.said_first import said_first
from tasks.planning.preview import preview_plan
from tasks.planning.released_spread import released_spread


@pytest.fixture
def few(dataset: Dataset) -> Dataset:
    """Return a dataset whose 24 users tell nothing at the epsilon of a day."""
    dataset.set(mechanism="estimated", target_error=None, definition="zcdp", epsilon_per_day=0.05, epsilon_total=100.0)
    for number in range(2):
        write_day(dataset, day(number), seed=number)
    return dataset


def enough_in(guess: str) -> Decimal:
    return Decimal(guess.split("epsilon_per_day of about ")[1].split(",", maxsplit=1)[0])


def test_plan_run_and_the_pages_say_first_that_a_map_is_a_guess(few: Dataset, hexveil: Hexveil) -> None:
    few.with_map()
    planned = hexveil("plan", "--config", few.config_file, "--date", DATE)
    first, *_ = planned.stdout.splitlines()
    assert first.startswith("The expected error of ")
    assert "no better than that of a constant: a guess, nothing being released yet, is that the best" in first
    assert "as many users, would make it better" in first
    ran = hexveil("run", "--config", few.config_file, "--date", DATE)
    assert ran.returncode == 0, ran.stderr
    (entry,) = released(few)
    sentence = entry.said_first
    assert sentence is not None
    assert sentence.startswith("This map is a guess: its mean is unsure by ")
    lines = ran.stdout.splitlines()
    assert lines[lines.index(entry.release_id) - 1] == sentence
    shown = few.published("map.html").read_text()
    assert shown[shown.index("</h1>") + len("</h1>") :].lstrip().startswith(f"<p><strong>{sentence}")
    assert sentence in (few.config.storage_path / "published" / "index.html").read_text()
    explored = hexveil(
        *("explore", "--config", few.config_file, "--date", DATE, "--resolution", few.config.grid.h3_resolution),
        *("--slot", few.config.grid.slot_minutes, "--epsilon", 0.05, "--epsilon", 50),
    )
    assert explored.stdout.startswith("With the present settings a map is a guess"), explored.stderr
    assert "epsilon 50 would be enough" in " ".join(explored.stdout.split())


@pytest.mark.slow
def test_the_epsilon_that_is_said_to_be_enough_is(few: Dataset) -> None:
    few.prepare(DATE)
    enough = enough_in(preview_plan(DATE, few.config)["guess"])
    for share, is_guess in ((Decimal("0.75"), True), (1, False)):
        few.set(epsilon_per_day=float(enough * share))
        few.prepare(DATE)
        assert (preview_plan(DATE, few.config)["guess"] is not None) == is_guess


def test_a_map_is_a_guess_if_its_cells_differ_less_than_its_mean_is_unsure(few: Dataset) -> None:
    """The published numbers decide: the error of the map and of the best constant, both as the map expects them."""
    few.set(epsilon_per_day=50.0)
    few.run_day(DATE)
    (entry,) = released(few)
    published, stated = table(few), entry.stated["whole_day"]
    records, mean = published["n_records"].to_numpy(), published["mean"].to_numpy()
    about = mean - np.average(mean, weights=records)
    assert float(stated["spread"]) == pytest.approx(np.sqrt(np.average(about**2, weights=records)), rel=0.01)
    assert entry.said_first is None
    of_map = float(np.average(published["mean_sd"].to_numpy() ** 2, weights=records))
    of_constant = released_spread([entry], few.config)
    assert of_constant is not None
    expected = float(stated["spread"]) ** 2 + of_map - float(stated["mean_sd"]) ** 2
    assert of_constant**2 * np.pi / 2 == pytest.approx(expected, rel=0.02)
    assert of_map < expected, "so it is no guess"
    for spread in (stated["mean_sd"], "0"):
        forged = {**entry.stated, "whole_day": {**stated, "spread": spread}}
        assert str(said_first(forged)).startswith("This map is a guess")


@pytest.mark.slow
def test_what_the_owner_guesses_makes_a_first_map_better(few: Dataset) -> None:
    def guess() -> str:
        few.prepare(DATE)
        found: str = preview_plan(DATE, few.config)["guess"]
        return found

    without = guess()
    assert "value.typical and value.spread help" in without
    few.set(value={"typical": 40, "spread": 12.5})
    assert "value.typical" not in guess()
    assert enough_in(guess()) < enough_in(without)
