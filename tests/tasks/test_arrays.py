"""Arrays as files: what was written is read back."""

from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from dpmath.core.currency import Concentrated
from dpmath.core.occupancy import Occupancy
from dpmath.estimate.bounded_sums import BoundedSums
from dpmath.estimate.questions import Spread
from dpmath.estimate.taken import Read
from tasks.base.errors import LedgerBroken
from tasks.kinds.estimated.stored_arrays import Arrays, read_arrays, write_arrays
from tasks.kinds.estimated.stored_questions import read_questions, write_questions

EDGES = [edge for bits in (8, 16, 32) for edge in (-(1 << bits - 1) - 1, -(1 << bits - 1), (1 << bits - 1) - 1)]
WHOLE = st.sampled_from([*EDGES, *(-1 - edge for edge in EDGES), 0, -(1 << 63), (1 << 63) - 1])
SHAPES = arrays_of.array_shapes(min_dims=0, min_side=0)
ONES = st.one_of(
    arrays_of.arrays(np.int64, SHAPES, elements=WHOLE),
    arrays_of.arrays(np.float64, SHAPES, elements=st.floats(width=64)),
    arrays_of.arrays(np.uint64, SHAPES),
    arrays_of.arrays("<U15", SHAPES),
)


def same(found: Arrays, written: Arrays) -> None:
    assert found.keys() == written.keys()
    for name, array in written.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


@given(written=st.dictionaries(st.sampled_from(["names", "0.measured.loading", "covariance", "basis.knots"]), ONES))
def test_arrays_are_read_back_as_they_were(tmp_path_factory: pytest.TempPathFactory, written: Arrays) -> None:
    folder = tmp_path_factory.mktemp("arrays")
    name = write_arrays(folder, written)
    assert write_arrays(folder, written) == name  # there is no time or chance in a file
    same(read_arrays(folder, name), written)


def test_a_spread_is_read_back_and_costs_the_same(tmp_path: Path) -> None:
    alone = Occupancy(np.array([0]), np.array([0]), np.array([3]), 1, 1)
    asked = Spread(BoundedSums(np.array([[1 << 19]]), 12345, "l2"), 100, 700_000)
    name = write_questions(tmp_path, [(asked, np.array([5], dtype=object))], Read())
    [(found, answers)] = read_questions(tmp_path, name, alone, 100, "l2")
    assert isinstance(found, Spread)
    assert (found.centre, found.value_range, answers.tolist()) == (700_000, 100, [5])
    currency = Concentrated(Decimal("1e-6"))
    assert found.losses(currency).tolist() == asked.losses(currency).tolist()


def test_a_changed_file_is_told(tmp_path: Path) -> None:
    name = write_arrays(tmp_path, {"mean": np.zeros(3)})
    path = tmp_path / name
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(LedgerBroken, match="was changed"):
        read_arrays(tmp_path, name)
