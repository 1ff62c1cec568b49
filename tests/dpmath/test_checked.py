"""How the check's counts are read: as functions of the classes' variances."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import ndtr

from dpmath.estimate.checked import _as_moved, _Counts, _told, _Variances
from dpmath.estimate.state import N_CLASSES, class_covariance

N_USERS, N_PAIRS = 1_000, 10_000


def some_counts(rng: np.random.Generator) -> _Counts:
    """Return the counts of pairs of random classes, and of users; each varies by its class and by the last."""
    user, of_class = rng.integers(0, N_USERS, N_PAIRS), rng.integers(0, N_CLASSES - 1, N_PAIRS)
    by_class = np.zeros((N_PAIRS + N_USERS, N_CLASSES))
    by_class[np.arange(N_PAIRS), of_class] = rng.uniform(1, 50, N_PAIRS)
    by_class[:, -1] = rng.uniform(1, 10, len(by_class))
    rest = rng.uniform(0, 20, len(by_class))
    whole = by_class.sum(axis=1) + rest
    items = (np.append(user, np.arange(N_USERS)), np.append(of_class, np.full(N_USERS, N_CLASSES - 1)))
    weight = np.ones((N_USERS, N_CLASSES))
    return _Counts.of(_Variances(csr_array(by_class), rest, whole), 1.25 * np.sqrt(whole), items, weight)


@pytest.mark.theorem("HV-E5")
def test_counts_are_those_of_normal_residuals_and_rise_with_the_logs_as_their_differences() -> None:
    rng = np.random.default_rng(1)
    counts = some_counts(rng)
    assert counts.expected(np.zeros(N_CLASSES)) == pytest.approx(2 * ndtr(-1.25) * counts.of_item.sum(axis=1))
    logs, step = rng.normal(size=N_CLASSES), 1e-5
    differences = [
        (counts.expected(logs + step * one) - counts.expected(logs - step * one)) / (2 * step)
        for one in np.eye(N_CLASSES)
    ]
    assert counts.slopes(logs) == pytest.approx(np.transpose(differences), abs=1e-6)


@pytest.mark.theorem("HV-E5")
@pytest.mark.parametrize("log", [-1.2, 0.8])
def test_multipliers_are_found_from_counts_without_noise_and_nothing_is_told_by_noise_alone(log: float) -> None:
    counts, prior = some_counts(np.random.default_rng(2)), class_covariance()
    truth = np.append(np.full(N_CLASSES - 1, log), 0.0)
    found, after = _told(counts, counts.expected(truth), 0.0, prior)
    assert np.abs(found - truth).max() < 0.35, "what the prior holds back"
    assert (np.diag(after) < np.diag(prior)).all()
    found, after = _told(counts, counts.expected(truth), 1e9, prior)
    assert found == pytest.approx(np.zeros(N_CLASSES), abs=1e-6)
    assert after == pytest.approx(prior)


@pytest.mark.theorem("HV-E5")
def test_what_was_told_is_forgotten_as_far_as_the_scale_moved_and_no_further() -> None:
    before = class_covariance()
    known = 0.3 * before
    assert _as_moved(known, 0.0) == pytest.approx(known)
    assert _as_moved(before, 2.0) == pytest.approx(before), "nothing was told"
    some, far = (np.diag(_as_moved(known, moved)) for moved in (0.3, 7.0))
    assert some[:-1] == pytest.approx(np.diag(known)[:-1] + 0.7 * 0.09)
    assert (far <= np.diag(before)).all()
    assert far[-1] == known[-1, -1], "what users have in common has no such scale"
