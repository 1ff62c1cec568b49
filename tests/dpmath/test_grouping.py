from itertools import combinations_with_replacement, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmath.arrays.grouping import Grouping, best_fit, wrap_around

RECORDS = st.lists(st.integers(1, 12), min_size=1, max_size=9)
wraps = pytest.mark.theorem("STI-A1")
fits = pytest.mark.theorem("STI-A2")


def arrays_of(grouping: Grouping) -> list[dict[int, int]]:
    """Return, for each array, the places of each of its users."""
    arrays = [{} for _ in range(grouping.n_arrays)]
    for array, user, places in zip(grouping.array, grouping.user, grouping.n_places, strict=True):
        assert user not in arrays[array]
        arrays[array][int(user)] = int(places)
    return arrays


def by_size(records: list[int]) -> list[int]:
    return sorted(range(len(records)), key=lambda user: (-records[user], user))


def algorithm_1(records: list[int], length: int) -> list[dict[int, int]]:
    """Transcribe the paper's Algorithm 1, one place at a time."""
    n_arrays = sum(min(m, length) for m in records) // length
    places = [user for user in by_size(records) for _ in range(min(records[user], length))]
    arrays = [places[i * length : (i + 1) * length] for i in range(n_arrays)]
    return [{user: array.count(user) for user in array} for array in arrays]


def algorithm_2(records: list[int], length: int) -> list[dict[int, int]]:
    """Transcribe the paper's Algorithm 2."""
    arrays: list[dict[int, int]] = [{} for _ in records]
    for user in by_size(records):
        r = min(records[user], length)
        having_room = [array for array in arrays if length - sum(array.values()) >= r]
        fullest = max(sum(array.values()) for array in having_room)
        next(array for array in having_room if sum(array.values()) == fullest)[user] = r
    return [array for array in arrays if array]


@wraps
@fits
@settings(max_examples=300)
@given(st.data(), RECORDS)
def test_both_groupings_are_the_papers_algorithms(data: st.DataObject, records: list[int]) -> None:
    length = data.draw(st.integers(1, max(records)))
    assert arrays_of(wrap_around(np.array(records), length)) == algorithm_1(records, length)
    assert arrays_of(best_fit(np.array(records), length)) == algorithm_2(records, length)


@wraps
@fits
@settings(max_examples=300)
@given(st.data(), RECORDS)
def test_counts_are_as_the_paper_says(data: st.DataObject, records: list[int]) -> None:
    length = data.draw(st.integers(1, max(records)))
    wrapped, fitted = wrap_around(np.array(records), length), best_fit(np.array(records), length)
    clipped = np.minimum(records, length)
    assert wrapped.n_arrays == clipped.sum() // length <= fitted.n_arrays
    assert (wrapped.n_filled == length).all()
    assert (wrapped.n_kept <= clipped).all()
    assert wrapped.n_kept.sum() == wrapped.n_arrays * length
    assert wrapped.most_arrays_of_a_user <= 2
    assert (fitted.n_kept == clipped).all()
    assert (fitted.n_filled <= length).all()
    assert fitted.most_arrays_of_a_user == 1


@pytest.mark.theorem("STI-L4.1")
def test_more_samples_of_every_user_give_the_same_arrays_longer() -> None:
    for records in combinations_with_replacement(range(1, 6), 4):
        for length in range(1, max(records) + 1):
            for grouping in (wrap_around, best_fit):
                once = grouping(np.array(records), length)
                longer = grouping(10 * np.array(records), 10 * length)
                assert (once.array.tolist(), once.user.tolist()) == (longer.array.tolist(), longer.user.tolist())
                assert (10 * once.n_places).tolist() == longer.n_places.tolist()


@pytest.mark.theorem("STI-L4.2")
def test_more_users_fill_more_arrays_but_not_exactly_in_proportion() -> None:
    """The lemma's equalities hold for full arrays only: rests of WrapAround fill arrays, BestFit packs better."""
    for records in combinations_with_replacement(range(1, 6), 4):
        for length in range(1, max(records) + 1):
            total = int(np.minimum(records, length).sum())
            many = np.repeat(records, 3)
            assert wrap_around(many, length).n_arrays == 3 * total // length
            assert total / length <= best_fit(many, length).n_arrays / 3 <= best_fit(np.array(records), length).n_arrays
            if total % length == 0:
                assert wrap_around(many, length).n_arrays == 3 * wrap_around(np.array(records), length).n_arrays
    records = np.array([1, 2])
    assert (wrap_around(records, 2).n_arrays, wrap_around(np.repeat(records, 3), 2).n_arrays) == (1, 4)
    assert (best_fit(records, 2).n_arrays, best_fit(np.repeat(records, 3), 2).n_arrays) == (2, 5)


@wraps
@fits
@pytest.mark.parametrize("grouping", [wrap_around, best_fit])
def test_the_order_of_users_changes_only_who_of_equals_comes_first(grouping) -> None:
    sizes = {
        tuple(sorted(map(tuple, map(sorted, (one.values() for one in arrays_of(grouping(np.array(records), 3)))))))
        for records in permutations([5, 3, 2, 2, 1])
    }
    assert len(sizes) == 1


@wraps
@fits
@pytest.mark.parametrize("grouping", [wrap_around, best_fit])
@pytest.mark.parametrize(
    ("records", "length", "name"),
    [([], 1, "n_users"), ([1, 0], 1, "records"), ([3, 1], 0, "array_length"), ([3, 1], 4, "array_length")],
)
def test_bad_arguments_are_refused(grouping, records: list[int], length: int, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        grouping(np.array(records, dtype=np.int64), length)
