"""The mechanisms that a configuration may name. The row of a mechanism contains all that is stated about it.

To add one: write its function in ``dpmath``, and a row here. Functions of ``dpmath`` are imported when they are called:
every command reads a configuration, which needs the rows, and few commands plan. The default is ``estimated``
(``tasks.base.config_privacy``). Nothing is drawn here: a mechanism's kind draws (``tasks.kinds``).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpmath.cells.clipped_sum import ClippedSum
    from dpmath.core.cell_sums import CellSums
    from dpmath.core.currency import Currency
    from dpmath.noise.noisy_cell import NoisyCellSum
    from tasks.proposals.request import Proposal, Request

_COMMON = ("CKS-A2", "HV-L1", "HV-L3", "HV-L4", "HV-L7")
_ARRAYS = ("CPL-T2.3", "HV-L46", "HV-L47", *_COMMON)
_PROJECTED = ("STI-A2", "STI-E9", "HV-L40", "HV-L41", "HV-L42", *_ARRAYS)
_OUTSIDE = Fraction(1, 10)
_FINDS_COST = {"cell_epsilon": "finds itself what a cell costs"}
_LAPLACE_ONLY = {"noise": 'averages arrays, with noise = "laplace" only'}
_CLIPS_BY_VALUE = "can promise no error, because what it clips depends on the values"


@dataclass(frozen=True)
class Mechanism:
    """A mechanism.

    Attributes:
        name: Its name in the configuration.
        in_words: What it does, for people.
        kind: Its kind of release, a name in ``tasks.kinds.table.KINDS``.
        proposes: Makes a proposal for a request.
        theorems: The results in ``dpmath/THEOREMS.md`` that its releases rely on.
        draws_cell: For arrays: draws the noisy sum of one cell's array means.
        interval: For arrays: what half of a cell's epsilon buys, in words. It is an interval, drawn by the exponential
            mechanism, to which array means are projected. None if nothing is bought.
        n_interval_draws: For arrays: how many draws find that interval, each for an equal part of the half.
        counts: Whether it chooses the cells that keep a target so that they hold the most records, or are the most.
        refuses: Settings of ``[privacy]`` that it does not take, with the reason.
        needs: Settings of ``[privacy]`` that it needs, with their meaning.
        promises: Whether it promises an error before the draw. For that the clipping must not depend on the values.
        foresees: Whether it states an error before the draw, promised or expected.
        is_joint: Whether it estimates all cells together: covariates tell it something, and cells can be added up.
        has_percentiles: Whether it can also publish percentiles and shares above limits.
        noise_by_definition: Whether no setting says its noise, but the definition: Laplace in pure, else Gaussian.
        counts_itself: Whether it works in any currency itself. Others plan in pure epsilon, and are scaled.
    """

    name: str
    in_words: str
    kind: str
    proposes: "Callable[[Request], Proposal]"
    theorems: tuple[str, ...]
    draws_cell: "Callable[..., NoisyCellSum] | None" = None
    interval: str | None = None
    n_interval_draws: int = 0
    counts: bool = False
    refuses: dict[str, str] = field(default_factory=lambda: dict(_FINDS_COST))
    needs: dict[str, str] = field(default_factory=dict)
    promises: bool = True
    foresees: bool = True
    is_joint: bool = False
    has_percentiles: bool = False
    noise_by_definition: bool = False
    counts_itself: bool = False

    def cell_cost(self, cell_epsilon: Fraction, currency: "Currency") -> int:
        """Return what a cell costs whose interval and sum have a pure loss together, if an interval is bought."""
        from dpmath.arrays.sums import projected_cost

        return projected_cost(cell_epsilon, self.n_interval_draws, currency)

    @property
    def has_variance(self) -> bool:
        """Whether it can also publish the variance."""
        return self.promises


def _bounded(of: "Request", sums: "Sequence[CellSums]") -> "Proposal":
    from tasks.proposals.request import bounded

    return bounded(of, sums)


def _within_budgets(of: "Request", sums: "list[ClippedSum]") -> "Proposal":
    from dpmath.cells.safeguard import safeguarded

    return _bounded(of, safeguarded(of.occupancy, sums, of.epsilon, of.promise, of.budgets))


def _planned(of: "Request") -> "Proposal":
    from tasks.proposals.request import planned

    return planned(of)


def _clip_user(of: "Request") -> "Proposal":
    from dpmath.cells.clip_user import clip_user_sums

    return _bounded(of, clip_user_sums(of.occupancy, of.value_ranges, of.epsilon, of.target, of.budgets))


def _exact(of: "Request") -> "Proposal":
    from dpmath.cells.unsuppressed import exact_sums

    return _bounded(of, exact_sums(of.occupancy, of.value_ranges, of.epsilon, of.promise, of.budgets))


def _optimal_clipping(of: "Request") -> "Proposal":
    from dpmath.cells.unsuppressed import optimal_clipping_sums

    return _within_budgets(of, optimal_clipping_sums(of.occupancy, of.value_ranges, of.epsilon, of.target)[0])


def _baseline(of: "Request") -> "Proposal":
    from dpmath.cells.unsuppressed import baseline_sums

    return _within_budgets(of, baseline_sums(of.occupancy, of.value_ranges, of.epsilon, of.target)[0])


def _arrays(of: "Request", optimal: bool = False) -> "Proposal":
    from dpmath.arrays.choice import array_averaging_sums

    sums = array_averaging_sums(of.occupancy, of.value_ranges, of.epsilon, of.target, of.budgets, optimal)
    return _bounded(of, sums)


def _projected_arrays(of: "Request", n_interval_draws: int) -> "Proposal":
    from dpmath.arrays.choice import projected_array_sums
    from tasks.proposals.request import unbounded

    if of.cell_epsilon is None:
        raise ValueError("cell_epsilon is needed")
    (value_range,) = of.value_ranges
    sums = projected_array_sums(
        of.occupancy, value_range, of.epsilon, of.cell_epsilon, of.budgets, n_interval_draws=n_interval_draws
    )
    return unbounded(of, sums)


def _estimated(of: "Request") -> "Proposal":
    from tasks.proposals.request import estimated

    return estimated(of)


def _draw_average(*cell: Any) -> "NoisyCellSum":
    from dpmath.arrays.cell import array_averaging

    return array_averaging(*cell)


def _draw_levy(*cell: Any) -> "NoisyCellSum":
    from dpmath.arrays.intervals import levy

    return levy(*cell)


def _draw_quantile(*cell: Any) -> "NoisyCellSum":
    from dpmath.arrays.intervals import quantile

    return quantile(*cell, outside=_OUTSIDE)


def _projecting(
    name: str, in_words: str, theorems: tuple[str, ...], *, n_interval_draws: int, **other: Any
) -> Mechanism:
    """Return the row of a mechanism that buys an interval with so many draws."""
    proposes = partial(_projected_arrays, n_interval_draws=n_interval_draws)
    return Mechanism(
        name,
        in_words,
        "arrays",
        proposes,
        theorems,
        n_interval_draws=n_interval_draws,
        refuses={**_LAPLACE_ONLY, "target_error": _CLIPS_BY_VALUE, "target_error_variance": _CLIPS_BY_VALUE},
        needs={"cell_epsilon": "what one cell may cost a user"},
        promises=False,
        foresees=False,
        **other,
    )


_ROWS = (
    Mechanism(
        "baseline",
        "one epsilon for every cell, nothing clipped",
        "clipped",
        _baseline,
        ("CPL-T2.3", "STI-S3.2", "HV-L2", *_COMMON),
    ),
    Mechanism(
        "array-averaging",
        "STI: means of arrays of the median length",
        "arrays",
        _arrays,
        ("STI-A1", "STI-S3.3", "STI-L3.2", "HV-L43", *_ARRAYS),
        draws_cell=_draw_average,
        refuses=_LAPLACE_ONLY | _FINDS_COST,
    ),
    Mechanism(
        "opt-array-averaging",
        "STI: means of arrays of the length with the least promised error",
        "arrays",
        partial(_arrays, optimal=True),
        ("STI-A1", "STI-S3.3", "HV-L43", *_ARRAYS),
        draws_cell=_draw_average,
        refuses=_LAPLACE_ONLY | _FINDS_COST,
    ),
    Mechanism(
        "optimal-clipping",
        "BUC: one epsilon for every cell, each clipped by its optimal threshold",
        "clipped",
        _optimal_clipping,
        ("CPL-T2.3", "BUCv-T1", "HV-L2", *_COMMON),
    ),
    Mechanism(
        "clip-user",
        "CLIP-USER: users in many cells are suppressed, the others clipped by each cell's optimal threshold",
        "clipped",
        _clip_user,
        ("CPL-A1", "BUCv-T1", "HV-L2", *_COMMON),
    ),
    Mechanism(
        "exact",
        "no suppression or clipping: each cell its own noise, charged exactly",
        "clipped",
        _exact,
        ("HV-L2", *_COMMON),
    ),
    Mechanism(
        "planned",
        "the planner: clipping and noise of all cells together, for the least loss or the most records",
        "clipped",
        _planned,
        ("HV-L5", "HV-L6", "HV-L8", "HV-L2", *_COMMON),
        counts=True,
    ),
    Mechanism(
        "estimated",
        "the whole map: every cell estimated from one noisy measurement a day, with what earlier releases tell",
        "estimated",
        _estimated,
        ("CKS-A2", "HV-L52", "HV-L53", "HV-E1", "HV-E2", "HV-E3", "HV-E4", "HV-E5", "HV-E6"),
        refuses=_FINDS_COST | {"target_error_variance": "has no variance"},
        promises=False,
        is_joint=True,
        has_percentiles=True,
        noise_by_definition=True,
        counts_itself=True,
    ),
    _projecting(
        "levy",
        "STI: array means projected to an interval about their median, drawn from the values",
        ("STI-S3.4", "STI-A3", *_PROJECTED),
        draws_cell=_draw_levy,
        interval="about the median array mean, of three times the radius for gamma = 0.2",
        n_interval_draws=1,
    ),
    _projecting(
        "quantile",
        "STI: array means projected to an interval between two of their quantiles, drawn from the values",
        ("STI-S3.5", "HV-L44", *_PROJECTED),
        draws_cell=_draw_quantile,
        interval="from the quantile 0.1 to the quantile 0.9 of the array means",
        n_interval_draws=2,
    ),
)

MECHANISMS = {row.name: row for row in _ROWS}
PROMISING = tuple(row.name for row in _ROWS if row.promises)
"""The mechanisms that promise an error before the draw."""
FORESEEING = tuple(sorted((row.name for row in _ROWS if row.foresees), key=lambda name: name in PROMISING))
"""The mechanisms that state an error before the draw: those that expect one, then those that promise it."""


def propose(mechanism: str, request: "Request") -> "Proposal":
    """Return what the mechanism of that name would publish; no promise is worse than what the midpoint keeps."""
    if request.target is not None:
        request = replace(request, target=min(request.target, Fraction(1, 2)))
    if not MECHANISMS[mechanism].counts:
        request = replace(request, count="cells")
    proposes = MECHANISMS[mechanism].proposes
    if request.currency.name == "pure" or MECHANISMS[mechanism].counts_itself:
        return proposes(request)
    from tasks.proposals.scaled import scaled_proposal

    return scaled_proposal(proposes, request)
