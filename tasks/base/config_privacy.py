"""The section of a configuration on privacy: what a day may cost, in which currency, and how it is planned."""

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from dpmath.core.currency import EXPONENTIAL, GAUSSIAN, LAPLACE, Currency, currency_of
from tasks.base.config_types import Number, Positive, Section
from tasks.proposals.mechanisms import MECHANISMS, Mechanism

LEAST_EPSILON_PER_DAY = Decimal("1e-6")
DEFAULT_DELTA = Decimal("1e-6")
_OF_SOME_MECHANISMS = ("target_error", "target_error_variance", "cell_epsilon")


def _known_mechanism(name: str) -> str:
    if name not in MECHANISMS:
        raise ValueError(f"must be one of {', '.join(MECHANISMS)}")
    return name


MechanismName = Annotated[
    str, AfterValidator(_known_mechanism), WithJsonSchema({"enum": list(MECHANISMS), "type": "string"})
]


Definition = Literal["pure", "zcdp", "gaussian"]


class Privacy(Section):
    """What one day's release may cost a user, and how the day is planned."""

    protects: Literal["values"] = Field(default="values", exclude_if=lambda what: what == "values")
    """What is secret: the `values`; who was where, and how often, is public. With `presence` that is secret too, which
    is another model with other settings: see docs/how-to/presence.md."""
    epsilon_per_day: Number = Field(ge=LEAST_EPSILON_PER_DAY, le=Decimal(1_000_000))
    """The most privacy loss (epsilon) that one day's release may cost any one user."""
    definition: Definition = "zcdp"
    """What losses are counted in: `zcdp`, the rho of zero-concentrated DP, `gaussian`, or `pure` epsilon. With `zcdp`
    each epsilon of this file is turned into the largest rho that stays within it at `delta`, and rho is what adds up:
    over many days it grows far more slowly. But one day buys less for a user of few published cells: see `hexveil plan
    --year`. `gaussian` is for `estimated` only, whose noise is Gaussian alone: the same epsilon and delta then allow 10
    to 16 % more rho. It never changes after the first release."""
    delta: Number | None = Field(default=None, ge=Decimal("1e-30"), le=Decimal("1e-4"))
    """For `zcdp` and `gaussian` only: the delta at which an epsilon is meant: no set of outcomes is more likely for one
    dataset than e^epsilon times its probability for a neighbour, plus delta. At most 0.0001; without it 0.000001. It
    never changes after the first release."""
    noise: Literal["laplace", "gaussian"] = "laplace"
    """What noise the sums get. `gaussian` needs `definition = "zcdp"`, and errs less there for the same cost.
    Mechanisms that average arrays take `laplace` only. `estimated` takes `laplace` with `pure` and else `gaussian`,
    whatever this says."""
    mechanism: MechanismName = "estimated"
    """How the day is published. `estimated` publishes every cell, estimated from one noisy measurement of the whole map
    and from earlier releases, with intervals. `planned` publishes the cells whose error it can promise whatever the
    values are. The others are those of the papers."""
    target_error: Positive | None = None
    """The promise: the largest expected error of each published mean, in the value's unit. Cells that cannot keep it
    are withheld. More than half the range counts as half. Set it for sparse data. Without it `planned` publishes
    every cell with the smallest possible worst error, or nothing; `clip-user` withholds only cells that are no better
    than the middle of the range. For `estimated` it is no promise, but half the width that a cell's 95 % interval may
    have: a cell with a wider one gets the value of a larger area that holds it, as `mean_area` says."""
    target_error_variance: Positive | None = None
    """The same promise for the variance, in the square of the value's unit."""
    count: Literal["records", "cells"] | None = Field(default=None, exclude_if=lambda count: count != "records")
    """For `planned` with a target only: whether the cells that it publishes should hold the most `records`, or be the
    most `cells`. Most `cells` prefers cells of few records and few users, which cost least. The default is `records`.
    The ledger records it if it is `records`."""
    cell_epsilon: Number | None = Field(default=None, ge=LEAST_EPSILON_PER_DAY)
    """For `levy` and `quantile` only, and required there: what one cell costs a user, as pure epsilon."""

    @model_validator(mode="before")
    @classmethod
    def _default_delta(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.get("definition", "zcdp") != "pure" and given.get("delta") is None:
            return {**given, "delta": DEFAULT_DELTA}
        return given

    @model_validator(mode="before")
    @classmethod
    def _default_count(cls, given: Any) -> Any:
        return {"count": "records", **given} if isinstance(given, dict) and _chooses_cells(given) else given

    @model_validator(mode="after")
    def _what_the_definition_can(self) -> Self:
        if self.definition == "pure" and self.delta is not None:
            raise ValueError('pure epsilon has no delta: remove delta, or definition = "pure"')
        if self.definition == "gaussian" and not self.row.noise_by_definition:
            raise ValueError(
                f'definition = "gaussian" is for mechanism estimated, and not {self.mechanism}: use "zcdp"'
            )
        lacking = [noise for noise in self.draws if not self.currency.supports(noise)]
        if lacking:
            raise ValueError(f'{lacking[0]} noise has no pure epsilon: set definition = "zcdp", or noise = "laplace"')
        return self

    @model_validator(mode="after")
    def _what_the_mechanism_takes(self) -> Self:
        given = {name for name in _OF_SOME_MECHANISMS if getattr(self, name) is not None}
        given |= {"noise"} if self.noise == "gaussian" else set()
        refused = [f"{reason}: remove {name}" for name, reason in self.row.refuses.items() if name in given]
        if refused:
            raise ValueError(f"mechanism {self.mechanism} {', and '.join(refused)}")
        for name, meaning in self.row.needs.items():
            if name not in given:
                raise ValueError(f"mechanism {self.mechanism} needs {name}, {meaning}")
        return self

    @model_validator(mode="after")
    def _count_of_chosen_cells(self) -> Self:
        if self.count is not None and not _chooses_cells(self.model_dump()):
            raise ValueError("count is of use to mechanism planned with a target_error only: remove count")
        return self

    @model_validator(mode="after")
    def _a_day_pays_for_a_cell(self) -> Self:
        if self.cell_epsilon is None:
            return self
        cost = self.row.cell_cost(Fraction(self.cell_epsilon), self.currency)
        if cost > self.loss_per_day:
            raise ValueError(
                f"cell_epsilon = {self.cell_epsilon} must be at most epsilon_per_day"
                if self.definition == "pure"
                else f"cell_epsilon = {self.cell_epsilon} costs {self.currency.in_words(cost)} in zCDP, more than "
                "epsilon_per_day: lower cell_epsilon"
            )
        return self

    @property
    def row(self) -> Mechanism:
        """The row of the mechanism that ``mechanism`` names."""
        return MECHANISMS[self.mechanism]

    @property
    def currency(self) -> Currency:
        """What losses are counted in."""
        return currency_of(self.definition, self.delta)

    @property
    def loss_per_day(self) -> int:
        """The most that a day's release may cost any one user, in the unit of the currency."""
        return self.currency.within(self.epsilon_per_day)

    @property
    def sum_noise(self) -> str:
        """The noise that the sums get."""
        if self.row.noise_by_definition:
            return LAPLACE if self.definition == "pure" else GAUSSIAN
        return GAUSSIAN if self.noise == "gaussian" else LAPLACE

    @property
    def draws(self) -> tuple[str, ...]:
        """Every kind of draw that a release makes."""
        return (self.sum_noise,) + ((EXPONENTIAL,) if self.row.n_interval_draws else ())


def by_mechanism(mechanism: str, privacy: Privacy) -> Privacy:
    """Return the same budget and definition with another mechanism, and without what only some mechanisms take."""
    unused = ("target_error", "target_error_variance", "count", "cell_epsilon")
    return privacy.model_copy(update={"mechanism": mechanism, **dict.fromkeys(unused)})


def recorded_privacy(settings: dict[str, Any]) -> dict[str, Any]:
    """Return recorded settings of this section, with what they mean by leaving it out."""
    return {"count": "cells", **settings} if _chooses_cells(settings) else settings


def _chooses_cells(settings: dict[str, Any]) -> bool:
    """Return whether a mechanism that counts has a target, for which it withholds cells."""
    mechanism = MECHANISMS.get(str(settings.get("mechanism")))
    targets = (settings.get("target_error"), settings.get("target_error_variance"))
    return mechanism is not None and mechanism.counts and any(target is not None for target in targets)
