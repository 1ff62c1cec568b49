"""An account in zCDP: every mechanism and rule under it, and the one way from pure epsilon to it."""

import contextlib
import datetime as dt
import itertools
import json
import shutil
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from insider import forged
from support import DATE, OF_SUMS, Dataset, choose, drawn_noise, later_day

from dpmath.core.accounting import LOSS_UNITS
from dpmath.core.conversion import epsilon_of_rho, rho_of_epsilon
from dpmath.core.currency import Concentrated
from dpmath.noise.sampling import NOISES
from tasks.account import ledger, private_files
from tasks.account.amendments import amend_budget
from tasks.account.budgets import Account
from tasks.account.changes import Conversion
from tasks.account.definitions import loss_files
from tasks.base import frames
from tasks.base.config import Config
from tasks.base.errors import BadConfig, BudgetExceeded, HexveilError, LedgerBroken
from tasks.kinds.table import load_plan
from tasks.planning.preview import preview_plan, preview_year
from tasks.planning.spread import spread_budget
from tasks.reporting.budget_report import report_budget
from tasks.reporting.registry import describe_deployment
from tasks.upkeep.backup import back_up
from tasks.upkeep.convert import convert_ledger, proposed_conversion
from tasks.upkeep.forget import forget_days
from tasks.upkeep.verify import verify_ledger

MILLIONTH = Fraction(1, 10**6)


def in_zcdp(dataset: Dataset, more: str = "") -> Dataset:
    dataset.set("[budget]", f'definition = "zcdp"\n{more}\n[budget]')
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


@pytest.mark.parametrize("mechanism", OF_SUMS)
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


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("mechanism", ["planned", "clip-user"])
def test_a_release_costs_half_the_sum_of_squares_and_uses_its_limit(
    uneven: Dataset, mechanism: str, noise: str
) -> None:
    choose(uneven, mechanism, epsilon="4.0")
    uneven.set("target_error = 40.0", "")
    in_zcdp(uneven, f'noise = "{noise}"').run_day()
    limit = rho_of_epsilon(Fraction(4), MILLIONTH)
    rhos = stored_rhos(uneven)
    assert 0.8 * limit < max(rhos.values()) <= limit, "scaled up until the worst user meets the limit"
    entry = ledger.read_entries(uneven.config)[0].stated
    stored = private_files.read_losses(private_files.plans(uneven.config), entry["losses"])
    assert {user: Fraction(loss, 1 << 101) for user, loss in stored.items()} == rhos
    assert entry["noise"]["distribution"].startswith(f"discrete {noise.title()}")
    assert ("CKS-A3" in entry["theorems"]) == (noise == "gaussian")
    assert verify_ledger(uneven.config).n_releases == 1


def test_what_is_released_has_the_gaussian_noise_of_its_plan(uneven: Dataset) -> None:
    choose(uneven, "exact", epsilon="4.0")
    in_zcdp(uneven, 'noise = "gaussian"')
    asked: list[str] = []

    def noted(noise: str) -> Callable[..., np.ndarray]:
        return lambda scales, _: asked.append(noise) or drawn_noise(scales, noise)  # type: ignore[func-returns-value]

    with patch.dict(NOISES, {noise: noted(noise) for noise in NOISES}):
        uneven.run_day()
    assert set(asked) == {"discrete Gaussian"}


def test_the_variance_is_published_and_charged_too(uneven: Dataset) -> None:
    choose(uneven, "planned", epsilon="6.0")
    uneven.set("[storage]", "[statistics]\nvariance = true\n[storage]")
    in_zcdp(uneven, 'noise = "gaussian"').run_day()
    assert verify_ledger(uneven.config).n_releases == 1


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ('noise = "gaussian"', "discrete Gaussian noise has no pure epsilon"),
        ('delta = "1e-6"', "delta"),
        ("delta = 1e-6", "pure epsilon has no delta"),
        ('definition = "zcdp"\ndelta = 2e-4', r"less than or equal to Decimal\('0\.0001'\)"),
        ('definition = "zcdp"\ndelta = 0.0', "greater than or equal to"),
        ('definition = "renyi"', "'pure' or 'zcdp'"),
    ],
)
def test_what_has_no_meaning_is_refused_when_the_configuration_is_read(
    dataset: Dataset, keys: str, message: str
) -> None:
    dataset.set("[budget]", f"{keys}\n[budget]")
    with pytest.raises(BadConfig, match=message):
        _ = dataset.config


def test_gaussian_noise_is_refused_where_arrays_are_averaged(uneven: Dataset) -> None:
    choose(uneven, "array-averaging")
    in_zcdp(uneven, 'noise = "gaussian"')
    with pytest.raises(BadConfig, match='array-averaging averages arrays, with noise = "laplace" only'):
        _ = uneven.config


def test_the_default_delta_is_a_millionth(dataset: Dataset) -> None:
    assert in_zcdp(dataset).config.privacy.delta == Decimal("1e-6")
    assert dataset.config.public_settings()["privacy"]["delta"] == "0.000001"


def test_no_user_passes_the_limit_over_days_revisions_and_clips(busy_dataset: Dataset) -> None:
    """Days at 2 under a limit of 3.5: rho, not epsilon, adds up, so two days and most of a third are paid."""
    busy_dataset.set("epsilon_total = 5.0", "epsilon_total = 3.5")
    busy_dataset.set("target_error = 40.0", "target_error = 49.0")
    in_zcdp(busy_dataset, 'noise = "gaussian"')
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


def test_a_window_counts_rho_within_it(busy_dataset: Dataset) -> None:
    busy_dataset.set("epsilon_total = 5.0", "epsilon_total = 2.7\nwindow_days = 2")
    busy_dataset.set("target_error = 40.0", "target_error = 49.0")
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
    in_zcdp(busy_dataset).run_day()
    entry = ledger.read_entries(busy_dataset.config)[0]
    manifest = json.loads(busy_dataset.published("manifest.json").read_text())
    sentence = "each user, all values of the day: (2, 1e-6)-DP; everything released so far together: (2, 1e-6)-DP"
    assert manifest["in_words"] == sentence
    assert sentence in busy_dataset.published("map.html").read_text()
    report = report_budget([entry], busy_dataset.config)
    assert report.statement.startswith("Everything released so far together is (2, 1e-6)-DP for each user. Losses")
    assert report.n_days_left == 4, "5 is 5.25 times the rho of 2, and a day of a little less is spent"
    described = describe_deployment([entry], busy_dataset.config)
    assert described["privacy_guarantee"]["delta"] == "0.000001"
    assert described["privacy_guarantee"]["spent_by_the_worst_user"] == entry.stated["epsilon_total_after"]


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
        assert row["pure_plan_in_zcdp"] > row["zcdp_as_planned"]
    assert not ledger.read_entries(busy_dataset.config)
    busy_dataset.run_day()
    assert preview_year(DATE, busy_dataset.config) == rows, "what was spent before is left aside"
    assert preview_year(DATE, prepared(in_zcdp(busy_dataset))) == rows


def prepared(dataset: Dataset) -> Config:
    dataset.prepare()
    return dataset.config


@pytest.fixture
def pure(busy_dataset: Dataset) -> Dataset:
    """Return a dataset with two releases and an amendment in pure epsilon."""
    busy_dataset.set("epsilon_total = 5.0", "epsilon_total = 4.0")
    busy_dataset.run_day()
    busy_dataset.run_day(later_day(busy_dataset, 1))
    busy_dataset.set("epsilon_total = 4.0", "epsilon_total = 40.0")
    amend_budget("the board", busy_dataset.config)
    return busy_dataset


def test_a_conversion_counts_every_release_again_and_the_account_goes_on(pure: Dataset) -> None:
    before = ledger.read_entries(pure.config)
    expected = [stored_rhos(pure, number) for number in (0, 1)]
    in_zcdp(pure)
    proposed = proposed_conversion("fewer numbers", pure.config)
    entry = convert_ledger("fewer numbers", pure.config)
    assert isinstance(entry, Conversion)
    assert {key: entry.stated[key] for key in proposed} == proposed
    total = sum(map(Counter, expected), Counter())
    assert int(entry.stated["loss_total_after"]) == max(total.values()) * (1 << 101)
    assert entry.stated["epsilon_total_before"] == before[1].stated["epsilon_total_after"]
    folder = private_files.plans(pure.config)
    for number, rhos in enumerate(expected):
        found = private_files.read_losses(folder, entry.losses[before[number].stated["release_id"]])
        assert {user: Fraction(loss, 1 << 101) for user, loss in found.items()} == rhos
    assert verify_ledger(pure.config).n_releases == 2
    pure.run_day(later_day(pure, 2))
    assert verify_ledger(pure.config).n_releases == 3
    entries = ledger.read_entries(pure.config)
    assert [one.stated for one in entries[:3]] == [one.stated for one in before], "old lines stay byte for byte"
    total += Counter(stored_rhos(pure))
    assert int(entries[-1].stated["loss_total_after"]) == max(total.values()) * (1 << 101)
    assert loss_files(entries).keys() == {entries[n].stated["release_id"] for n in (0, 1, 4)}


def test_totals_that_are_lost_are_added_again_after_a_conversion(pure: Dataset) -> None:
    in_zcdp(pure)
    convert_ledger("fewer numbers", pure.config)
    kept = Account(ledger.read_entries(pure.config), pure.config).total
    for path in private_files.totals(pure.config).iterdir():
        path.unlink()
    assert Account(ledger.read_entries(pure.config), pure.config).total == kept


def test_there_is_one_way_and_no_way_back(pure: Dataset) -> None:
    with pytest.raises(HexveilError, match=r'set privacy\.definition = "zcdp" in the configuration first'):
        convert_ledger("why", pure.config)
    in_zcdp(pure)
    with pytest.raises(HexveilError, match="hexveil ledger convert --config"):
        pure.run_day(later_day(pure, 2))
    assert "ledger convert" in preview_refusal(pure)
    with pytest.raises(HexveilError, match="give a reason why the definition"):
        convert_ledger(" ", pure.config)
    pure.set("epsilon_total = 40.0", "epsilon_total = 41.0")
    with pytest.raises(HexveilError, match="looser than the budget in force"):
        convert_ledger("why", pure.config)
    pure.set("epsilon_total = 41.0", "epsilon_total = 40.0")
    convert_ledger("why", pure.config)
    with pytest.raises(HexveilError, match="no second conversion"):
        convert_ledger("why", pure.config)
    pure.set('definition = "zcdp"', 'definition = "zcdp"\ndelta = 1e-7')
    with pytest.raises(HexveilError, match=r"at delta 0\.000001, and the configuration says 0\.0000001: it never"):
        pure.run_day(later_day(pure, 2))
    pure.set('definition = "zcdp"\ndelta = 1e-7', "")
    for refused in (lambda: pure.run_day(later_day(pure, 2)), lambda: amend_budget("why", pure.config)):
        with pytest.raises(HexveilError, match="there is no way back"):
            refused()


def preview_refusal(dataset: Dataset) -> str:
    dataset.prepare(later_day(dataset, 2))
    with pytest.raises(HexveilError) as caught:
        preview_plan(later_day(dataset, 2), dataset.config)
    return str(caught.value)


def test_forgetting_keeps_the_losses_that_a_conversion_names(uneven: Dataset, tmp_path: Path) -> None:
    """A plan that was only looked at may have the same losses, byte for byte, as what the conversion counts."""
    choose(uneven, "levy")
    uneven.run_day()
    in_zcdp(uneven)
    uneven.set("epsilon_per_day = 40.0", "epsilon_per_day = 39.0")
    convert_ledger("fewer numbers", uneven.config)
    uneven.prepare()
    with contextlib.suppress(HexveilError):
        preview_plan(DATE, uneven.config)
    named = set(loss_files(ledger.read_entries(uneven.config)).values())
    stored = {path.name for path in private_files.plans(uneven.config).iterdir()}
    assert named <= stored
    for name in named:  # as if the plan that was looked at had them
        frames.write_json(
            private_files.plans(uneven.config),
            {"settings": {"date": str(DATE)}, "files": {"losses": name}, "certificate": {}},
        )
    forget_days([DATE], uneven.config)
    assert verify_ledger(uneven.config).n_releases == 1
    back_up(tmp_path / "copy", uneven.config)


def test_a_conversion_is_of_the_account_that_was_agreed_to(pure: Dataset) -> None:
    busy = pure.config
    in_zcdp(pure)
    agreed = proposed_conversion("why", pure.config)
    pure.config_file.write_text(pure.config_file.read_text().replace('definition = "zcdp"', ""))
    pure.run_day(later_day(pure, 2))
    pure.set("[budget]", 'definition = "zcdp"\n[budget]')
    with pytest.raises(HexveilError, match="a release was made since the account was shown"):
        convert_ledger("why", pure.config, agreed)
    assert busy.privacy.definition == "pure"


def test_the_registry_says_what_was_drawn_and_not_only_what_will_be(pure: Dataset) -> None:
    in_zcdp(pure, 'noise = "gaussian"')
    convert_ledger("fewer numbers", pure.config)
    algorithms = describe_deployment(ledger.read_entries(pure.config), pure.config)["algorithms"]
    assert algorithms["noise"] == "discrete Laplace on integers, drawn exactly"
    assert algorithms["noise_of_the_next_release"].startswith("discrete Gaussian")
    assert "HV-L48" in algorithms["proofs"]
    assert "CKS-A3" not in algorithms["proofs"]
    guarantee = describe_deployment(ledger.read_entries(pure.config), pure.config)["privacy_guarantee"]
    assert [change.partition(": ")[2] for change in guarantee["changes"]] == [
        "the budget was loosened from 4.0 to 40.0: the board",
        "pure epsilon -> zCDP at delta 0.000001: fewer numbers",
    ]


def test_cells_with_intervals_use_the_limit_and_a_cell_too_dear_is_refused(uneven: Dataset) -> None:
    choose(uneven, "levy", epsilon="10.0", cell_epsilon="2.0")
    in_zcdp(uneven).run_day()
    entry = ledger.read_entries(uneven.config)[0].stated
    assert entry["cells"]["published"] >= 2
    uneven.set("cell_epsilon = 2.0", "cell_epsilon = 8.0")
    with pytest.raises(BadConfig, match=r"cell_epsilon = 8\.0 costs \(\S+, 1e-6\)-DP in zCDP.*lower cell_epsilon"):
        _ = uneven.config


def test_nothing_is_converted_before_the_first_release(busy_dataset: Dataset) -> None:
    with pytest.raises(HexveilError, match="nothing was released yet"):
        convert_ledger("why", in_zcdp(busy_dataset).config)


def halve_a_loss(dataset: Dataset, entry: Conversion) -> str:
    """Replace a converted file of losses by one of half the losses, and return its name."""
    folder = private_files.plans(dataset.config)
    frame = private_files.read_frame(folder, next(iter(entry.losses.values())))
    return frames.write_frame(folder, frame.with_columns(pl.col("loss_units") // 2))


def test_verify_finds_a_conversion_that_counts_too_little(pure: Dataset) -> None:
    in_zcdp(pure)
    entry = convert_ledger("fewer numbers", pure.config)
    assert isinstance(entry, Conversion)
    changes = [
        {"losses": {**entry.losses, next(iter(entry.losses)): halve_a_loss(pure, entry)}},
        {"loss_total_after": str(int(entry.stated["loss_total_after"]) // 2)},
        {"epsilon_total_after": "0.1"},
        {"totals": "0" * 64},
        {"losses": dict(list(entry.losses.items())[:1])},
        {"definition_before": "zcdp"},
        {"reason": " "},
        {"reason": None},
        {"dataset": "other"},
        {"delta": "0.5"},
        {"delta": "x"},
        {"loss_left": "-1"},
        {"budget": {"epsilon_total": "400.0", "window_days": None}},
    ]
    path = ledger.ledger_path(pure.config)
    lines = path.read_bytes().splitlines(keepends=True)
    for change in changes:
        path.write_bytes(b"".join([*lines[:-1], forged(lines[-1], **change)]))
        note_head(pure)
        with pytest.raises(LedgerBroken, match=r"entry 4 \(conversion\)"):
            verify_ledger(pure.config)


def note_head(dataset: Dataset) -> None:
    """Let the head be forgotten, as an insider would."""
    (dataset.config.storage_path / "private" / "ledger-head").unlink(missing_ok=True)


def test_a_conversion_that_is_cut_off_is_finished_by_the_next_run(
    pure: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_zcdp(pure)

    def cut(*_: object) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr("tasks.account.commit.append_line", cut)
        with pytest.raises(HexveilError):
            convert_ledger("fewer numbers", pure.config)
    pure.run_day(later_day(pure, 2))
    kinds = [entry.kind for entry in ledger.read_entries(pure.config)]
    assert kinds == ["release", "release", "amendment", "conversion", "release"]
    assert verify_ledger(pure.config).n_releases == 3


def test_a_converted_account_is_backed_up_restored_and_goes_on(pure: Dataset, tmp_path: Path) -> None:
    in_zcdp(pure)
    convert_ledger("fewer numbers", pure.config)
    pure.run_day(later_day(pure, 2))
    total = Account(ledger.read_entries(pure.config), pure.config).total
    back_up(tmp_path / "copy", pure.config)
    shutil.rmtree(pure.folder / "store")
    shutil.copytree(tmp_path / "copy", pure.folder / "store")
    assert verify_ledger(pure.config).n_releases == 3
    assert Account(ledger.read_entries(pure.config), pure.config).total == total
    pure.run_day(later_day(pure, 3))
    assert verify_ledger(pure.config).n_releases == 4


def test_days_are_forgotten_in_zcdp_and_the_account_still_verifies(busy_dataset: Dataset) -> None:
    in_zcdp(busy_dataset, 'noise = "gaussian"').run_day()
    forget_days([DATE], busy_dataset.config)
    assert verify_ledger(busy_dataset.config).n_releases == 1


def test_a_dataset_may_begin_in_zcdp_with_another_delta(busy_dataset: Dataset) -> None:
    in_zcdp(busy_dataset, "delta = 1e-9").run_day()
    entry = ledger.read_entries(busy_dataset.config)[0]
    assert entry.stated["in_words"].startswith("each user, all values of the day: (2, 1e-9)-DP")
    assert int(entry.stated["loss"]) <= Concentrated(Decimal("1e-9")).within(Decimal(2))
    assert verify_ledger(busy_dataset.config).n_releases == 1
