"""An account in zCDP: every mechanism and rule under it; and a definition that a release makes final."""

import datetime as dt
import itertools
import json
import shutil
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from insider import forged
from screened import screen, write_day
from support import CLIP_USER, DATE, OF_SUMS_IN_BRIEF, Dataset, choose, later_day

from dpmath.core.accounting import LOSS_UNITS
from dpmath.core.conversion import epsilon_of_rho, rho_of_epsilon
from dpmath.core.currency import Concentrated, GaussianAlone
from dpmath.noise.sampling import NOISES
from tasks.account import ledger, private_files
from tasks.account.amendments import amend_budget
from tasks.account.budgets import Account
from tasks.account.chain import charges
from tasks.base import frames
from tasks.base.config import Config
from tasks.base.errors import BadConfig, BudgetExceeded, HexveilError, LedgerBroken
from tasks.kinds.table import load_plan
from tasks.planning.preview import preview_plan, preview_year
from tasks.planning.spread import spread_budget
from tasks.reporting.budget_report import report_budget
from tasks.reporting.registry import describe_deployment
from tasks.upkeep.backup import back_up
from tasks.upkeep.forget import forget_days
from tasks.upkeep.verify import verify_ledger

MILLIONTH = Fraction(1, 10**6)


def in_zcdp(dataset: Dataset, **settings: Any) -> Dataset:
    dataset.set(definition="zcdp", **settings)
    return dataset


def stored_rhos(dataset: Dataset, number: int = -1) -> dict[str, Fraction]:
    """Return each user's rho by a release, from widths and scales of its plan alone."""
    plan = load_plan(ledger.read_entries(dataset.config)[number].stated["plan"], dataset.config)
    scales = {(row["slot_start"], row["h3_cell"]): row["mean_inverse_scale"] for row in plan.cells.to_dicts()}
    rhos: Counter[str] = Counter()
    for pair in plan.pairs.to_dicts():
        share = Fraction(pair["mean_width"] * scales[pair["slot_start"], pair["h3_cell"]], LOSS_UNITS)
        rhos[pair["user_hash"]] += share**2 / 2  # type: ignore[assignment]
    return {user: Fraction(rho) for user, rho in rhos.items() if rho}


@pytest.mark.quick(1)
@pytest.mark.parametrize("mechanism", OF_SUMS_IN_BRIEF)
def test_each_mechanism_publishes_charges_and_verifies(uneven: Dataset, mechanism: str) -> None:
    choose(uneven, mechanism)
    in_zcdp(uneven).run_day()
    assert verify_ledger(uneven.config).n_releases == 1
    entry = ledger.read_entries(uneven.config)[0].stated
    limit = rho_of_epsilon(Fraction(uneven.config.privacy.epsilon_per_day), MILLIONTH)
    rho = Fraction(int(entry["loss"]), 1 << 101)
    assert 0 < rho <= limit
    assert entry["epsilon"] == f"{epsilon_of_rho(rho, MILLIONTH).normalize():f}"
    assert (entry["definition"], entry["delta"], entry["loss_unit"]) == ("zcdp", "0.000001", "2^-101")
    assert "pure" not in json.dumps(entry["guarantee"])
    losses = private_files.read_losses(private_files.plans(uneven.config), entry["losses"])
    assert max(losses.values()) == int(entry["loss"])


@pytest.mark.quick(1)
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("mechanism", ["planned", "clip-user"])
def test_a_release_costs_half_the_sum_of_squares_and_uses_its_limit(
    uneven: Dataset, mechanism: str, noise: str
) -> None:
    choose(uneven, mechanism, epsilon="4.0")
    uneven.set(target_error=None)
    in_zcdp(uneven, noise=noise).run_day()
    limit = rho_of_epsilon(Fraction(4), MILLIONTH)
    rhos = stored_rhos(uneven)
    assert 0.8 * limit < max(rhos.values()) <= limit, "scaled up until the worst user meets the limit"
    entry = ledger.read_entries(uneven.config)[0].stated
    stored = private_files.read_losses(private_files.plans(uneven.config), entry["losses"])
    assert {user: Fraction(loss, 1 << 101) for user, loss in stored.items()} == rhos
    assert entry["noise"]["distribution"].startswith(f"discrete {noise.title()}")
    assert ("CKS-A3" in entry["theorems"]) == (noise == "gaussian")
    assert verify_ledger(uneven.config).n_releases == 1


def test_what_is_released_has_the_gaussian_noise_of_its_plan(uneven: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    choose(uneven, "exact", epsilon="4.0")
    in_zcdp(uneven, noise="gaussian")
    asked: list[str] = []

    def noted(noise: str, draws: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
        return lambda *given: asked.append(noise) or draws(*given)  # type: ignore[func-returns-value]

    for noise, draws in [*NOISES.items()]:
        monkeypatch.setitem(NOISES, noise, noted(noise, draws))
    uneven.run_day()
    assert set(asked) == {"discrete Gaussian"}


def test_the_variance_is_published_and_charged_too(uneven: Dataset) -> None:
    choose(uneven, "planned", epsilon="6.0")
    uneven.set(variance=True)
    in_zcdp(uneven, noise="gaussian").run_day()
    assert verify_ledger(uneven.config).n_releases == 1


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            'definition = "pure"\nmechanism = "planned"\nnoise = "gaussian"',
            "discrete Gaussian noise has no pure epsilon",
        ),
        ('definition = "pure"\ndelta = 1e-6', "pure epsilon has no delta"),
        ('delta = "1e-6"', "delta"),
        ("delta = 2e-4", r"less than or equal to Decimal\('0\.0001'\)"),
        ('definition = "zcdp"\ndelta = 2e-4', r"less than or equal to Decimal\('0\.0001'\)"),
        ('definition = "zcdp"\ndelta = 0.0', "greater than or equal to"),
        ('definition = "renyi"', "'pure', 'zcdp' or 'gaussian'"),
        ('definition = "gaussian"\nmechanism = "planned"', 'mechanism estimated, and not planned: use "zcdp"'),
        ('definition = "gaussian"\ndelta = 2e-4', r"less than or equal to Decimal\('0\.0001'\)"),
    ],
)
def test_what_has_no_meaning_is_refused_when_the_configuration_is_read(
    dataset: Dataset, keys: str, message: str
) -> None:
    dataset.edit("[privacy]", f"[privacy]\n{keys}")
    with pytest.raises(BadConfig, match=message):
        _ = dataset.config


def test_gaussian_noise_is_refused_where_arrays_are_averaged(uneven: Dataset) -> None:
    choose(uneven, "array-averaging")
    in_zcdp(uneven, noise="gaussian")
    with pytest.raises(BadConfig, match='array-averaging averages arrays, with noise = "laplace" only'):
        _ = uneven.config


@pytest.mark.parametrize("said", ["", 'definition = "zcdp"', "delta = 1e-6"])
def test_the_default_is_zcdp_at_a_delta_of_a_millionth(dataset: Dataset, said: str) -> None:
    dataset.edit("[privacy]", f"[privacy]\n{said}")
    assert dataset.config.privacy.currency == Concentrated(Decimal("1e-6"))
    settings = dataset.config.public_settings()["privacy"]
    assert (settings["definition"], settings["delta"]) == ("zcdp", "0.000001")
    assert dataset.config.with_settings(dataset.config.public_settings()) == dataset.config


def test_no_user_passes_the_limit_over_days_revisions_and_clips(busy_dataset: Dataset) -> None:
    """Days at 2 under a limit of 3.5: rho, not epsilon, adds up, so two days and most of a third are paid."""
    busy_dataset.set(**CLIP_USER | {"target_error": 49.0}, epsilon_total=3.5)
    in_zcdp(busy_dataset, noise="gaussian")
    busy_dataset.run_day()
    busy_dataset.run_day(revision="again")
    for n in range(1, 5):
        try:
            busy_dataset.run_day(later_day(busy_dataset, n))
        except BudgetExceeded:
            break
    else:
        pytest.fail("the limit was never met")
    entries = ledger.read_entries(busy_dataset.config)
    total = sum((Counter(stored_rhos(busy_dataset, number)) for number in range(len(entries))), Counter())
    limit = rho_of_epsilon(Fraction("3.5"), MILLIONTH)
    assert 0.6 * limit < max(total.values()) <= limit
    assert Account(entries, busy_dataset.config).total == {user: int(rho * (1 << 101)) for user, rho in total.items()}
    assert sum(Fraction(one.stated["epsilon"]) for one in entries) > Fraction("3.5"), "epsilons do not add up"
    assert verify_ledger(busy_dataset.config).n_releases == len(entries) >= 3


@pytest.mark.slow
def test_a_window_counts_rho_within_it(busy_dataset: Dataset) -> None:
    busy_dataset.set(**CLIP_USER | {"target_error": 49.0}, epsilon_total=2.7, window_days=2)
    in_zcdp(busy_dataset)
    for n in range(4):
        busy_dataset.run_day(later_day(busy_dataset, n) if n else DATE)
    entries = ledger.read_entries(busy_dataset.config)
    days = [Counter(stored_rhos(busy_dataset, number)) for number in range(4)]
    limit = rho_of_epsilon(Fraction("2.7"), MILLIONTH)
    assert all(max((one + other).values()) <= limit for one, other in itertools.pairwise(days))
    assert max(sum(days, Counter()).values()) > limit
    assert entries[-1].stated["epsilon_window_after"] is not None
    assert verify_ledger(busy_dataset.config).n_releases == 4


def test_a_spread_gives_every_day_an_even_share_of_the_rho_that_is_left(busy_dataset: Dataset) -> None:
    in_zcdp(busy_dataset)
    dates = [DATE + dt.timedelta(days=n) for n in range(100)]
    epsilon = spread_budget.fn(dates, busy_dataset.config).privacy.epsilon_per_day
    currency = busy_dataset.config.privacy.currency
    assert 100 * currency.within(epsilon) <= currency.within(Decimal(5))
    assert 100 * currency.within(epsilon * Decimal("1.0001")) > currency.within(Decimal(5))
    assert epsilon > Decimal(5) / 13, "a hundredth of the rho is about a tenth of the epsilon"


def test_what_is_shown_is_true_in_either_definition(busy_dataset: Dataset) -> None:
    busy_dataset.with_map()
    in_zcdp(busy_dataset).run_day()
    entry = ledger.read_entries(busy_dataset.config)[0]
    manifest = json.loads(busy_dataset.published("manifest.json").read_text())
    sentence = (
        "each user, all values of the day: (2, 1e-6)-DP; everything released so far together: (2, 1e-6)-DP if its "
        "amounts were fixed in advance; the promise is the limit, (5, 1e-6)-DP for everything ever released"
    )
    assert manifest["in_words"] == sentence
    assert sentence in busy_dataset.published("map.html").read_text()
    report = report_budget([entry], busy_dataset.config)
    assert report.statement == (
        "Everything released so far together is (2, 1e-6)-DP for each user, if its amounts were fixed in advance. The "
        "promise is the limit: each user loses at most (5, 1e-6)-DP for everything ever released. Losses are "
        "counted in rho, which adds up; epsilons do not."
    )
    assert report.n_days_left == 4, "5 is 5.25 times the rho of 2, and a day of a little less is spent"
    described = describe_deployment([entry], busy_dataset.config)
    assert described["privacy_guarantee"]["delta"] == "0.000001"
    assert described["privacy_guarantee"]["spent_by_the_worst_user"] == entry.stated["epsilon_total_after"]


@pytest.mark.slow
def test_a_year_is_shown_under_both_definitions(busy_dataset: Dataset) -> None:
    busy_dataset.prepare()
    rows = preview_year(DATE, busy_dataset.config)
    assert [row["days"] for row in rows] == [1, 7, 28, 365]
    assert rows[-1]["pure_at_most"] == 730
    assert rows[-1]["zcdp_at_most"] == pytest.approx(72.64, abs=0.01)
    assert rows[-1]["pure_as_planned"] == pytest.approx(730, abs=0.01)
    for row in rows:
        assert row["pure_cells"] == row["zcdp_cells"] == 2
        assert row["pure_as_planned"] <= row["pure_at_most"]
        assert row["zcdp_as_planned"] <= row["zcdp_at_most"]
    assert not ledger.read_entries(busy_dataset.config)
    busy_dataset.run_day()
    assert preview_year(DATE, busy_dataset.config) == rows, "what was spent before is left aside"
    assert preview_year(DATE, prepared(in_zcdp(busy_dataset))) == rows


def prepared(dataset: Dataset) -> Config:
    dataset.prepare()
    return dataset.config


def released_in(dataset: Dataset, lines: str) -> Dataset:
    """Return a dataset with one release, with its definition written so."""
    dataset.edit("[privacy]", f"[privacy]\n{lines}")
    dataset.run_day()
    return dataset


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('definition = "pure"', "", r'pure epsilon, .* zCDP at delta 0\.000001\..*definition = "pure"$'),
        ("", 'definition = "pure"', r'at delta 0\.000001, .* pure epsilon\..*"zcdp" and delta = 0\.000001$'),
        ("delta = 1e-6", "delta = 1e-7", r"at delta 0\.000001, .*at delta 0\.0000001\. .* and delta = 0\.000001$"),
    ],
    ids=["to the default", "to pure epsilon", "another delta"],
)
def test_another_definition_or_delta_is_refused_once_there_is_a_release(
    busy_dataset: Dataset, before: str, after: str, said: str
) -> None:
    released_in(busy_dataset, f"{before}\n# its definition")
    lines = ledger.ledger_path(busy_dataset.config).read_bytes()
    tomorrow = later_day(busy_dataset, 1)
    busy_dataset.edit(f"{before}\n# its definition", after)
    busy_dataset.set(epsilon_total=50.0)
    busy_dataset.prepare(tomorrow)
    for refused in (
        lambda: busy_dataset.run_day(tomorrow),
        lambda: busy_dataset.run_day(revision="again"),
        lambda: preview_plan(tomorrow, busy_dataset.config),
        lambda: spread_budget.fn([tomorrow], busy_dataset.config),
        lambda: amend_budget("why", busy_dataset.config),
    ):
        with pytest.raises(HexveilError, match=f"the ledger counts losses in .*{said}"):
            refused()
    assert ledger.ledger_path(busy_dataset.config).read_bytes() == lines
    assert verify_ledger(busy_dataset.config).n_releases == 1, "what was released is verified all the same"


@pytest.mark.slow
def test_verify_names_a_line_of_another_definition_or_delta(busy_dataset: Dataset) -> None:
    released_in(busy_dataset, "")
    busy_dataset.run_day(later_day(busy_dataset, 1))
    path = ledger.ledger_path(busy_dataset.config)
    first, second = path.read_bytes().splitlines(keepends=True)
    for other in ({"delta": "0.0000001"}, {"definition": "pure", "delta": None, "loss_unit": "2^-50"}):
        path.write_bytes(first + forged(second, **other))
        (busy_dataset.config.storage_path / "private" / "ledger-head").unlink(missing_ok=True)
        (busy_dataset.config.storage_path / "release.duckdb").unlink(missing_ok=True)
        with pytest.raises(LedgerBroken, match=r"entry 2 .*counted by another definition or delta"):
            verify_ledger(busy_dataset.config)


def test_forgetting_keeps_the_losses_that_a_plan_only_looked_at_shares_with_a_release(
    uneven: Dataset, tmp_path: Path
) -> None:
    choose(uneven, "levy")
    in_zcdp(uneven).run_day()
    named = {entry.losses for entry in charges(ledger.read_entries(uneven.config))}
    for name in named:
        frames.write_json(
            private_files.plans(uneven.config),
            {"settings": {"date": str(DATE)}, "files": {"losses": name}, "certificate": {}},
        )
    forget_days([DATE], uneven.config)
    assert verify_ledger(uneven.config).n_releases == 1
    back_up(tmp_path / "copy", uneven.config)


def test_the_registry_says_what_was_drawn_and_not_only_what_will_be(busy_dataset: Dataset) -> None:
    busy_dataset.set(**CLIP_USER | {"definition": "zcdp"}, epsilon_total=4.0)
    released_in(busy_dataset, "")
    busy_dataset.set(epsilon_total=40.0)
    amend_budget("the board", busy_dataset.config)
    busy_dataset.set(noise="gaussian")
    described = describe_deployment(ledger.read_entries(busy_dataset.config), busy_dataset.config)
    algorithms = described["algorithms"]
    assert algorithms["noise"] == "discrete Laplace on integers, drawn exactly"
    assert algorithms["noise_of_the_next_release"].startswith("discrete Gaussian")
    assert "HV-L48" in algorithms["proofs"]
    assert "CKS-A3" not in algorithms["proofs"]
    (change,) = described["privacy_guarantee"]["changes"]
    assert change.partition(": ")[2] == "the budget was loosened from 4.0 to 40.0: the board"


def test_cells_with_intervals_use_the_limit_and_a_cell_too_dear_is_refused(uneven: Dataset) -> None:
    choose(uneven, "levy", epsilon="10.0", cell_epsilon="2.0")
    in_zcdp(uneven).run_day()
    entry = ledger.read_entries(uneven.config)[0].stated
    assert entry["cells"]["published"] >= 2
    uneven.set(cell_epsilon=8.0)
    with pytest.raises(BadConfig, match=r"cell_epsilon = 8\.0 costs \(\S+, 1e-6\)-DP in zCDP.*lower cell_epsilon"):
        _ = uneven.config


@pytest.mark.slow
def test_an_account_in_zcdp_is_backed_up_restored_and_goes_on(busy_dataset: Dataset, tmp_path: Path) -> None:
    released_in(busy_dataset, "")
    total = Account(ledger.read_entries(busy_dataset.config), busy_dataset.config).total
    back_up(tmp_path / "copy", busy_dataset.config)
    shutil.rmtree(busy_dataset.folder / "store")
    shutil.copytree(tmp_path / "copy", busy_dataset.folder / "store")
    assert verify_ledger(busy_dataset.config).n_releases == 1
    assert Account(ledger.read_entries(busy_dataset.config), busy_dataset.config).total == total
    busy_dataset.run_day(later_day(busy_dataset, 1))
    assert verify_ledger(busy_dataset.config).n_releases == 2


def test_days_are_forgotten_in_zcdp_and_the_account_still_verifies(busy_dataset: Dataset) -> None:
    in_zcdp(busy_dataset, noise="gaussian").run_day()
    forget_days([DATE], busy_dataset.config)
    assert verify_ledger(busy_dataset.config).n_releases == 1


def test_a_dataset_may_begin_in_zcdp_with_another_delta(busy_dataset: Dataset) -> None:
    in_zcdp(busy_dataset, delta=1e-9).run_day()
    entry = ledger.read_entries(busy_dataset.config)[0]
    assert entry.stated["in_words"].startswith("each user, all values of the day: (2, 1e-9)-DP")
    assert int(entry.stated["loss"]) <= Concentrated(Decimal("1e-9")).within(Decimal(2))
    assert verify_ledger(busy_dataset.config).n_releases == 1


def test_gaussian_noise_alone_pays_for_all_that_an_estimate_asks(dataset: Dataset) -> None:
    """Screening, percentiles and users who are short: the count that screens has no finer noise than a loss."""
    screen(dataset, "gaussian", "estimated", total="600")
    dataset.set(percentiles=[50])
    for number in range(2):
        write_day(dataset, 0, DATE + dt.timedelta(days=number), n_buses=340)
        dataset.run_day(DATE + dt.timedelta(days=number))
    assert verify_ledger(dataset.config).n_releases == 2
    first, second = charges(ledger.read_entries(dataset.config))
    currency = dataset.config.privacy.currency
    assert currency == GaussianAlone(Decimal("1e-6"))
    assert int(second.stated["loss"]) < int(first.stated["loss"]) <= currency.within(Decimal(400))
    assert int(second.stated["loss_total_after"]) <= currency.within(Decimal(600))
    count = first.stated["screening"]
    assert (count["verdict"], int(count["loss"])) == ("go on", currency.finest**2)
    with pytest.raises(HexveilError, match=r"in Gaussian DP at delta 0\.000001, and the configuration in zCDP"):
        in_zcdp(dataset).run_day(DATE + dt.timedelta(days=2))
