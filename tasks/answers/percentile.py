"""Between which published limits a percentile of the records is."""

from dataclasses import replace

import polars as pl

from tasks.answers.answer import Answer, answer, check_has_shares, days_of, period_asked
from tasks.answers.published import Published
from tasks.answers.question import Question
from tasks.base.errors import HexveilError
from tasks.output_formats.columns import share_above


def between_limits(published: Published, question: Question, percentile: int) -> Answer:
    """Return between which published limits a percentile is.

    Above the lower one are surely more records than beyond the percentile, above the other surely fewer. More could
    not be said honestly: percentiles of cells do not add up, shares do.

    Raises:
        HexveilError: The files cannot answer it.
    """
    if question.compare:
        raise HexveilError("percentiles are not compared; compare shares above a limit, with --above")
    check_has_shares(published)
    dates = days_of(published, period_asked(published, question), question)
    (lower, upper), limits = published.bounds(dates), published.limits(dates)
    if not limits:
        raise HexveilError("no limit has shares on all of these days; ask about fewer")
    answers = [answer(published, replace(question, above=limit)) for limit in limits]
    low, high = pl.lit(float(lower)), pl.lit(float(upper))
    share, named = 1 - percentile / 100, pl.DataFrame(answers[0].table)
    for limit, one in zip(limits, answers, strict=True):
        name = share_above(limit)
        named = named.with_columns(one.table[f"{name}_ci95_low"], one.table[f"{name}_ci95_high"])
        low = pl.when(pl.col(f"{name}_ci95_low") > share).then(float(limit)).otherwise(low)
    for limit in reversed(limits):
        name = share_above(limit)
        high = pl.when(pl.col(f"{name}_ci95_high") < share).then(float(limit)).otherwise(high)
    kept = [name for name in named.columns if not name.startswith("share_above_")]
    at = kept.index("n_records") + 1
    ends = low.alias(f"p{percentile}_ci95_low"), high.alias(f"p{percentile}_ci95_high")
    about = f"Between which published limits percentile {percentile} of the records is, in {published.unit}, at 95 %."
    return replace(
        answers[0],
        table=named.select(*kept[:at], *ends, *kept[at:]),
        notes=(about, *answers[0].notes[1:]),
        title=f"Percentile {percentile} of {published.quantity}{answers[0].title[answers[0].title.index(',') :]}",
        shown=f"p{percentile}",
    )
