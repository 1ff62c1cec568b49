"""Recompute: what each user of a stored plan loses, in any currency."""

from collections import Counter

from dpmath.core.currency import Currency
from tasks.account.screenings import screening_of
from tasks.base.config import Config
from tasks.kinds.stored_plan import StoredPlan
from tasks.kinds.table import kind_of


def recomputed_losses(plan: StoredPlan, config: Config, currency: Currency) -> dict[str, int]:
    """Return each user's loss by keyed hash, in a currency, from the stored plan."""
    losses = Counter(kind_of(config).losses(plan, config, currency))
    losses.update(recomputed_charges(plan, config, currency))
    return dict(losses)


def recomputed_charges(plan: StoredPlan, config: Config, currency: Currency) -> dict[str, int]:
    """Return what the screening costs each user that a stored plan asks, by keyed hash, in a currency."""
    screening = screening_of(config)
    return {} if screening is None else dict.fromkeys(plan.charges, screening.loss(currency))
