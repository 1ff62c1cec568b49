"""Plans under zCDP are pure plans, scaled until the worst user's rho meets its limit."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from support import random_occupancy, slow

from dpmath.core.accounting import LOSS_UNITS
from dpmath.core.cell_sums import user_losses
from dpmath.core.currency import GAUSSIAN, LAPLACE, PURE, Concentrated
from tasks.proposals.mechanisms import MECHANISMS, PROMISING, propose
from tasks.proposals.request import Request

ZCDP = Concentrated(Decimal("1e-6"))


def requested(seed: int, noise: str, target: Fraction | None) -> Request:
    """Return a request in which a third of the users may lose nothing or little."""
    rng = np.random.default_rng(seed)
    occupancy = random_occupancy(rng, 12, 30)
    most = ZCDP.within(Decimal(6))
    left = [int(most * int(share)) // 4 for share in rng.choice([0, 1, 4, 8], occupancy.n_users)]
    budgets = np.array(left, dtype=object)
    return Request(occupancy, [50], Fraction(6), target, budgets, None, ZCDP, noise)


@pytest.mark.quick(4)
@pytest.mark.theorem("HV-L48", "HV-L49")
@pytest.mark.parametrize(
    ("noise", "target", "n_examples"),
    [
        (LAPLACE, None, 1),
        (GAUSSIAN, Fraction(2, 5), 1),
        *(slow(noise, target, 4) for noise in (LAPLACE, GAUSSIAN) for target in (None, Fraction(2, 5))),
    ],
)
@pytest.mark.parametrize("mechanism", PROMISING)
def test_no_user_passes_a_limit_of_rho_and_those_with_nothing_left_spend_nothing(
    mechanism: str, target: Fraction | None, noise: str, n_examples: int
) -> None:
    if noise == GAUSSIAN and MECHANISMS[mechanism].kind == "arrays":
        pytest.skip("arrays have Laplace noise only")
    published = 0
    for seed in range(n_examples):
        request = requested(seed, noise, target)
        proposal = propose(mechanism, request)
        losses = user_losses(request.occupancy, proposal.sums, ZCDP)
        assert request.budgets is not None
        assert (losses <= np.minimum(request.budgets, ZCDP.within(Decimal(6)))).all()
        assert proposal.loss == max(losses)
        assert proposal.epsilon_lower_bound is None
        published += int(proposal.sums[0].published.sum())
    assert published


def test_a_plan_for_many_cells_is_larger_than_the_safe_one() -> None:
    """A pure limit of sqrt(2 rho) is safe; users of several cells may have more."""
    rng = np.random.default_rng(5)
    occupancy = random_occupancy(rng, 40, 60)
    request = Request(occupancy, [50], Fraction(4), None, None, None, ZCDP, GAUSSIAN)
    scaled = propose("planned", request)
    safe = Fraction(ZCDP.pure_within(ZCDP.within(Decimal(4))), LOSS_UNITS)
    unscaled = propose("planned", Request(occupancy, [50], safe, None, None))
    assert 0.97 * ZCDP.within(Decimal(4)) < scaled.loss <= ZCDP.within(Decimal(4))
    n_scaled, n_unscaled = (int(one.sums[0].published.sum()) for one in (scaled, unscaled))
    assert n_scaled > n_unscaled
    assert max(user_losses(occupancy, unscaled.sums, PURE)) <= safe * LOSS_UNITS
