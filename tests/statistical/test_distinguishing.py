"""An adversary who knows everything but one heavy user's values, and tries to tell all-low from all-high."""

import math
import shutil

import numpy as np
import pytest
from distinguishing import bound_beyond
from scipy.stats import beta
from support import CLIP_USER, DATE, HEADER, Dataset, drawn_noise

from dpmath.core.accounting import LOSS_UNITS, ExactIntArray
from dpmath.core.currency import GAUSSIAN
from tasks.kinds.table import load_plan
from tasks.planning.plan import plan_release
from tasks.release import draw

pytestmark = [pytest.mark.statistical, pytest.mark.theorem("HV-L1")]

N_DRAWS = 100_000
N_GAUSSIAN = 200_000
FALSE_ALARM = 1e-9
HEAVY_USER = "bus11"


def prepared(dataset: Dataset, value: int) -> tuple[ExactIntArray, ExactIntArray]:
    """Return the clipped sums before noise and the inverse scales, with every value of one user as given."""
    path = dataset.folder / "raw" / "day.csv"
    rows = path.read_text().splitlines()[1:]
    changed = [row.rsplit(",", 1)[0] + f",{value}" if row.startswith(HEAVY_USER) else row for row in rows]
    dataset.write("day.csv", HEADER + "\n".join(changed) + "\n")
    dataset.prepare()
    plan = load_plan(plan_release.fn(DATE, dataset.config), dataset.config)
    sums = draw._private_totals(DATE, plan, [], dataset.config, "read/cell_sum")["private_mean_sum"]
    return np.array([int(one) for one in sums], dtype=object), plan.cells["mean_inverse_scale"].to_numpy().astype(
        object
    )


def low_and_high(dataset: Dataset) -> tuple[ExactIntArray, ExactIntArray, ExactIntArray]:
    """Return the sums with all of the user's values at their lowest, at their highest, and the scales of both."""
    low, inverse_scale = prepared(dataset, 0)
    secret = dataset.folder / "store" / "private" / "user-key"
    kept = secret.read_bytes()
    shutil.rmtree(dataset.folder / "store")
    secret.parent.mkdir(parents=True)
    secret.write_bytes(kept)
    high, same_scale = prepared(dataset, 100)
    assert (inverse_scale == same_scale).all()
    return low, high, inverse_scale


def lower_bound_on_loss(low: ExactIntArray, high: ExactIntArray, inverse_scale: ExactIntArray) -> float:
    """Return what the loss is at least, wrong once in 1e9 runs: the event is that no sum is above the low one."""
    counts = []
    for sums in (low, high):
        scales = np.tile(inverse_scale, N_DRAWS)
        noisy = (drawn_noise(scales).reshape(N_DRAWS, -1) + sums).astype(np.int64)
        counts.append(int((noisy <= low.astype(np.int64)).all(axis=1).sum()))
    often = beta.ppf(FALSE_ALARM / 2, counts[0], N_DRAWS - counts[0] + 1)
    seldom = beta.ppf(1 - FALSE_ALARM / 2, counts[1] + 1, N_DRAWS - counts[1])
    return math.log(often / seldom)


def test_the_adversary_learns_no_more_than_claimed_and_more_if_the_noise_is_halved(busy_dataset: Dataset) -> None:
    busy_dataset.set(**CLIP_USER)
    low, high, inverse_scale = low_and_high(busy_dataset)
    claimed = 2.0
    assert 0.99 * claimed < sum((high - low) * inverse_scale) / LOSS_UNITS <= claimed, "the user is a worst one"
    assert 0.85 * claimed < lower_bound_on_loss(low, high, inverse_scale) <= claimed
    assert lower_bound_on_loss(low, high, 2 * inverse_scale) > claimed


@pytest.mark.theorem("HV-L49", "CKS-P12")
def test_under_zcdp_the_adversary_learns_no_more_than_claimed_and_more_if_sigma_is_halved(
    busy_dataset: Dataset,
) -> None:
    """The claim is what the account charges at delta 1e-4, at most 2. Each bound is wrong once in 1e9 runs."""
    busy_dataset.set(**CLIP_USER | {"definition": "zcdp"}, delta=0.0001, noise="gaussian")
    low, high, inverse_scale = low_and_high(busy_dataset)
    currency, delta = busy_dataset.config.privacy.currency, 1e-4
    moves = zip((high - low).tolist(), inverse_scale.tolist(), strict=True)
    claimed = float(currency.epsilon(sum(currency.of_noise(GAUSSIAN, int(by), int(scale)) for by, scale in moves)))
    assert 0.7 < claimed / 2 <= 1, "the user is one of the worst"
    assert 0.4 * claimed < bound_at_delta(low, high, inverse_scale, delta) <= claimed
    assert bound_at_delta(low, high, 2 * inverse_scale, delta) > claimed


def bound_at_delta(low: ExactIntArray, high: ExactIntArray, inverse_scale: ExactIntArray, delta: float) -> float:
    """Return what epsilon is at least at a delta: the events are that the likelihood of low passes a threshold."""
    scale = inverse_scale.astype(float) / LOSS_UNITS
    shift = (high - low).astype(float) * scale
    length = float(np.sqrt((shift**2).sum()))
    places = []
    for sums in (low, high):
        noise = drawn_noise(np.tile(inverse_scale, N_GAUSSIAN), GAUSSIAN).reshape(N_GAUSSIAN, -1)
        beyond_low = (noise + (sums - low)).astype(float) * scale
        places.append(-(beyond_low @ shift) / length)
    standard_deviations = np.linspace(0.5, 3, 26)
    return bound_beyond(places, standard_deviations, delta, FALSE_ALARM)
