"""Announce a collection's periods: its artifacts and events. All of them are public: counts, means, the guarantee."""

import datetime as dt

from tasks.account.entry import Stated
from tasks.base import scheduler
from tasks.base.announcing import address, artifact_key, emit, show_markdown, show_verified
from tasks.base.errors import LedgerBroken
from tasks.base.markdown import table, text
from tasks.base.steps import step, step_seconds
from tasks.collect.config import CollectionConfig
from tasks.collect.late import Late
from tasks.collect.ledger import ESTIMATED, LOCALISED, OPENED, as_opened, entry_of, list_entries, published_folder
from tasks.collect.results import means_of, release_of
from tasks.collect.verify import verify_collection

_TOLD = {OPENED: "opened", LOCALISED: "localised", ESTIMATED: "released"}
_MAP = "map.html"


@step("event of {config.collection.name} {date}")
def emit_done(kind: str, date: dt.date, config: CollectionConfig) -> None:
    """Emit that a step of a period is done; a run that finds it done emits it again."""
    period = config.period_of(date)
    entries = list_entries(config)
    entry, of_period = _needed(kind, period, entries, config), as_opened(period, entries, config)
    counts = {"reports_used": entry["rows"]["used"]} if "rows" in entry else {}
    if kind == ESTIMATED:
        counts |= {"areas_published": entry["areas"]}
    told = {"date": period, "release_id": release_of(period, config), "epsilon": of_period.collection.alpha}
    emit(_TOLD[kind], config, **told, **counts)


@step("event of {config.collection.name} {date}, withheld")
def emit_period_withheld(date: dt.date, reason: str, config: CollectionConfig) -> None:
    """Emit that a period cannot go on, and why."""
    emit("withheld", config, date=config.period_of(date), whole_day=True, reason=reason)


@step("artifact of {config.collection.name} {date}")
def make_period_artifact(date: dt.date, late: list[Late], config: CollectionConfig) -> None:
    """Show how far a period is, its means, the late reports of any period, and the links to its files."""
    if not scheduler.in_flow_run():
        return
    period = config.period_of(date)
    entries = list_entries(config)
    made = [one for one in entries if one["period"] == period]
    folder = published_folder(period, config)
    links = {path.name: address(path, config) for path in sorted(folder.iterdir()) if path.is_file()}
    done = " and ".join(_TOLD[one["kind"]] for one in made[-1:])
    page = period_page(period, made, late, links, as_opened(period, entries, config))
    show_markdown("period", page, f"{period}: {done}", config)
    if _MAP in links:
        key = artifact_key("period-map", config)
        scheduler.show_link(links[_MAP], f"map of {period}", key, f"The map of {period}, for a browser")


@step("artifact of {config.collection.name} {first} to {last}")
def make_periods_artifact(
    first: dt.date, last: dt.date, problems: dict[str, str], late: list[Late], config: CollectionConfig
) -> None:
    """Show how far each period of a range is."""
    if not scheduler.in_flow_run():
        return
    how_far = {one["period"]: _TOLD[one["kind"]] for one in list_entries(config)}
    periods = [config.period_of(day) for day in config.periods(first, last)]
    rows = [(period, how_far.get(period, "not opened"), problems.get(period, "")) for period in periods]
    n_done = sum(how_far.get(period) == _TOLD[ESTIMATED] for period in periods)
    title = f"{n_done} of {len(periods)} periods released"
    parts = [f"# {text(config.name)}: {title}", table(("period", "done", "problem"), rows), *_late_table(late)]
    show_markdown("periods", "\n\n".join(parts), title, config)


@step("verify {config.collection.name}")
def check_collection(config: CollectionConfig) -> None:
    """Verify the ledger of a collection and show the result; if it does not hold, emit an event with the reason.

    Raises:
        LedgerBroken: Names the first entry that disagrees, and with what.
    """
    show_verified(lambda: verify_collection(config), config)


def period_page(
    period: str, made: list[Stated], late: list[Late], links: dict[str, str], config: CollectionConfig
) -> str:
    """Return the page on a period.

    Args:
        period: The period.
        made: Its entries in the ledger, oldest first.
        late: The rounds of all periods that have late reports.
        links: The addresses of its files by name.
        config: The configuration, with the settings of the period.
    """
    done = [(_TOLD[one["kind"]], f"{one['committed_at'][:16]}".replace("T", " ")) for one in made]
    lines = [
        (f"round {number}: {reason}", n)
        for number, kind in ((1, LOCALISED), (2, ESTIMATED))
        for one in made
        if one["kind"] == kind
        for reason, n in one["rows"].items()
    ]
    parts = [
        f"# {text(config.name)} {period}",
        " · ".join(f"[{name}]({link})" for name, link in links.items()),
        table(("done", "at, UTC"), done),
    ]
    if lines:
        parts.append(table(("lines of reports", "lines"), lines))
    if made and made[-1]["kind"] == ESTIMATED:
        means = means_of(made[-1], config)
        names = ("area", f"mean, {config.value.unit}", "from", "to", "devices, round 1", "devices, round 2")
        columns = ("area", "mean", "mean_ci95_low", "mean_ci95_high", "n_round_1", "n_round_2")
        parts.append(table(names, means.select(columns).rows()))
    parts += _late_table(late)
    steps = [(name.replace("_", " "), round(took)) for name, took in step_seconds().items()]
    parts.append(table(("step of this run", "seconds"), steps))
    parts.append(
        f"Each device loses epsilon {config.collection.alpha} at most in a {config.collection.period}, by local "
        "differential privacy: it randomised its report before it sent it."
    )
    return "\n\n".join(parts)


def _late_table(late: list[Late]) -> list[str]:
    rows = [(f"{one.period}, round {one.round}", one.n_reports) for one in late]
    return [table(("late, of a round that was closed; not used", "reports"), rows)] if rows else []


def _needed(kind: str, period: str, entries: list[Stated], config: CollectionConfig) -> Stated:
    entry = entry_of(kind, period, entries)
    if entry is None:
        raise LedgerBroken(f"{kind} of {period} is not in the ledger of {config.name}; restore the file from backup")
    return entry
