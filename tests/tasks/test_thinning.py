"""Some of many records are taken evenly from all over them, whatever they hold."""

import pytest

from tasks.records.input_formats.thinning import evenly


@pytest.mark.parametrize("n_records", [0, 1, 9, 10, 19, 20, 21, 1_000, 12_345])
def test_between_n_and_twice_as_many_are_taken_at_equal_steps_from_the_first_on(n_records: int) -> None:
    kept = evenly(range(n_records), 10)
    assert min(n_records, 10) <= len(kept) <= 20
    step = kept[1] - kept[0] if len(kept) > 1 else 1
    assert kept == list(range(0, n_records, step))
