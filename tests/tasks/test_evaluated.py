"""The curator compares a released day with its values, and nobody else sees it."""

import json
import re

import h3
import numpy as np
import pytest
from support import DATE, Dataset, table

from flows.show import show_evaluation
from tasks.base.errors import HexveilError
from tasks.upkeep.evaluate import evaluate_day
from tasks.upkeep.forget import forget_days


def test_forgetting_a_day_removes_what_was_evaluated_without_noise(estimated: Dataset) -> None:
    estimated.run_day()
    _, path = evaluate_day(DATE, None, estimated.config)
    assert path.exists()
    forget_days([DATE], estimated.config)
    assert not path.exists()


def test_an_evaluation_compares_with_the_values_and_stays_private(
    estimated: Dataset, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    estimated.run_day()
    caplog.clear()
    evaluation, path = evaluate_day(DATE, None, estimated.config)
    assert path.is_relative_to(estimated.folder / "store" / "private")
    assert json.loads(path.read_text()) == evaluation
    assert caplog.text == ""
    assert capfd.readouterr().out == ""
    means = "select slot_start, h3_cell, sum(total_ticks) / sum(n_records) / 100 from user_cell"
    rows = estimated.query(f"{means} where local_date = date '{DATE}' group by all")
    true = {(start, h3.int_to_str(cell)): float(mean) for start, cell, mean in rows}
    found = table(estimated)
    records = found["n_records"].to_numpy()
    truth = np.array([true[start, cell] for start, cell in found.select("slot_start", "h3_cell").iter_rows()])
    error = found["mean"].to_numpy() - truth
    assert evaluation["mean_absolute_error"] == pytest.approx(np.average(np.abs(error), weights=records))
    constant = np.average(truth, weights=records)
    skill = 1 - np.average(error**2, weights=records) / np.average((truth - constant) ** 2, weights=records)
    assert evaluation["skill"] == pytest.approx(skill)
    inside = (found["mean_ci95_low"].to_numpy() <= truth) & (truth <= found["mean_ci95_high"].to_numpy())
    assert evaluation["coverage_of_cells"] == pytest.approx(inside.mean())
    assert sum(group["cells"] for group in evaluation["by_records"]) == found.height


@pytest.mark.filterwarnings("error")
def test_where_all_cells_have_one_mean_there_is_no_skill(
    estimated: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    with_value(estimated, "12.3")
    evaluation, path = evaluate_day(DATE, None, estimated.config)
    assert evaluation["skill"] is None
    assert evaluation["mean_absolute_error_of_best_constant"] == pytest.approx(0)
    assert evaluation["mean_absolute_error"] > 0
    assert json.loads(path.read_text()) == evaluation
    show_evaluation(evaluation, path, estimated.config)
    assert re.search(r"skill +-\s", capsys.readouterr().out)


def test_a_day_whose_values_cannot_be_read_has_nothing_to_compare(estimated: Dataset) -> None:
    with_value(estimated, "")
    with pytest.raises(HexveilError, match="has a value that can be read: nothing to compare"):
        evaluate_day(DATE, None, estimated.config)


def with_value(dataset: Dataset, value: str) -> None:
    """Run a day on which all records have one value."""
    for path in (dataset.folder / "raw").glob("*.csv"):
        header, *rows = path.read_text().splitlines()
        path.write_text("\n".join([header, *(f"{row.rpartition(',')[0]},{value}" for row in rows)]) + "\n")
    dataset.run_day()


def test_a_day_without_its_values_cannot_be_evaluated(estimated: Dataset) -> None:
    with pytest.raises(HexveilError, match="has not been released"):
        evaluate_day(DATE, None, estimated.config)
    estimated.run_day()
    forget_days([DATE], estimated.config)
    with pytest.raises(HexveilError, match="are not those of its release"):
        evaluate_day(DATE, None, estimated.config)
