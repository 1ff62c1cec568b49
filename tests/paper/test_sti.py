"""What the claims on STI's figures rest on: the sizes, how wide Levy's interval is, and where Levy is the best."""

from pathlib import Path

import numpy as np
import pytest

from dpmath.arrays.intervals import concentration_radius
from dpmath.arrays.lengths import interval_length
from tests.paper import sti
from tests.paper.sti_claims import CLIPPING


@pytest.fixture
def austin(real_data: Path) -> sti.Sample:
    return sti.austin(real_data)


def test_the_papers_sizes_have_the_numbers_that_the_paper_gives() -> None:
    records = sti.records_like_the_papers()
    assert (records.size, np.median(records), records.max()) == (217, 46, 417)
    assert records.sum() == pytest.approx(17_166, rel=0.03)


def test_the_captions_have_austins_sizes(austin: sti.Sample) -> None:
    assert (austin.records.size, austin.records.sum()) == (71, 192)
    assert (austin.records.min(), austin.records.max()) == (1, 5)
    assert 1.8 < austin.records.max() / austin.records.mean() < 1.9


def test_levys_interval_is_the_whole_range_at_austins_sizes(austin: sti.Sample) -> None:
    """So half of epsilon buys nothing; with ten times the records it buys next to nothing."""
    for factor, least, most in ((1, 1, np.inf), (10, 0.3, 1 / 3)):
        records = factor * austin.records
        cell = sti.Sample(records, [], 1000).cell(sti.GROUPERS[sti.BEST_FIT], interval_length(records))
        assert least < concentration_radius(cell, sti.GAMMA) / cell.largest < most


def test_levy_is_the_best_with_a_thousand_times_austins_samples(austin: sti.Sample, rng: np.random.Generator) -> None:
    """Figure 3's claim, which fails for ten times."""
    rows = sti.sample_scaling(austin, rng, 60, factor=1000)
    errors = {name: sum(row["error"] for row in rows if row["mechanism"] == name) for name in CLIPPING}
    levy = errors.pop(sti.LEVY)
    assert all(2 * levy < other for other in errors.values())
