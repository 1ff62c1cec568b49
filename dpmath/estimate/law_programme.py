"""A day's questions about its records' law, after those about the map."""

from collections.abc import Generator, Sequence
from dataclasses import replace

import numpy as np

from dpmath.core.accounting import ExactIntArray
from dpmath.estimate import shrinkage
from dpmath.estimate.asked import Asked
from dpmath.estimate.law_bins import Bins
from dpmath.estimate.law_city import city_base, city_law, guesses, law_question, radius_of_shares, thresholds
from dpmath.estimate.law_design import LENGTH, Seen, shape_design, shape_question, shapes_after
from dpmath.estimate.law_layers import Layered
from dpmath.estimate.law_shape import Shapes, first_shapes
from dpmath.estimate.law_tilt import Laws, tables_of
from dpmath.estimate.measurement import ROOM_BITS
from dpmath.estimate.posterior import Estimate
from dpmath.estimate.questions import Question, Shrunk
from dpmath.estimate.whole import RADIUS

_ROOM_VARIANCE = 0.1
"""Of the room of one user's vector about the mean."""


def law_programme(
    found: Estimate, limits: Sequence[float], asked: Asked
) -> Generator[Question, tuple[Question, ExactIntArray], Estimate]:
    """Ask about the law of a day's records, and return the estimate with a state that knows what is told of it.

    Args:
        found: The estimate of the day.
        limits: The limits above which shares are published, in points.
        asked: The day, and what each question may cost.

    Source:
        HV-E4.
    """
    shapes = found.state.shapes
    if shapes is None:
        shapes = yield from _begun(found, limits, asked)
    else:
        shapes = shapes.later(asked.n_days)
    shapes = shapes.with_hexagons(asked.day)
    if shapes.n_tables:
        shapes = yield from _told(Seen(found, shapes), asked)
    return replace(found, state=replace(found.state, shapes=shapes))


def _begun(
    found: Estimate, limits: Sequence[float], asked: Asked
) -> Generator[Question, tuple[Question, ExactIntArray], Shapes]:
    """Ask about the city's law, and return the shapes before the day's own question about them."""
    bins, occupancy = Bins(asked.value_range), asked.day.occupancy
    trials = guesses(found, asked.reach, bins)
    points = thresholds(trials[0], limits)
    _, answers = yield law_question(trials[0], points, occupancy, asked.radius, asked.charges["law"].inverse_scale)
    ball = radius_of_shares(points.size) / max(float(asked.reach.sum()), 1e-9)
    found_off = np.array([int(one) for one in answers], dtype=np.float64) / RADIUS * ball
    noise = asked.noise("law") / RADIUS * ball
    likely, law, off = city_law(trials, points, found_off, noise)
    laws = Laws(city_base(likely, law, noise), bins.values, tables_of(law, bins.values))
    return first_shapes(laws, off, found.mean, occupancy.cell_records)


def _told(seen: Seen, asked: Asked) -> Generator[Question, tuple[Question, ExactIntArray], Shapes]:
    """Ask about the day's shapes and the mean room of the vectors, and return what is then known."""
    noise, reach = asked.noise("shape") / RADIUS, asked.reach
    loading, weight, part = shape_design(seen, noise, reach)
    inverse_scale = asked.charges["shape"].inverse_scale
    question, answers = yield shape_question(seen, loading, weight, asked.radius, inverse_scale)
    if not isinstance(question, Layered):
        raise ValueError("the answers are not those of a question about shapes")
    _, (total,) = yield Shrunk(asked.sums("shape shrink", 1 << ROOM_BITS))
    room, deviation = asked.share_of("shape shrink", int(total), 1 << ROOM_BITS)
    shrink = shrinkage.later(seen.shapes.shrink, asked.n_days)
    if reach.any():
        variance = deviation**2 + _ROOM_VARIANCE * float((reach**2).sum() / reach.sum() ** 2)
        shrink = shrinkage.updated(shrink, room, variance, LENGTH)
    share = float(shrinkage.kept(shrink, LENGTH, part).share)
    return replace(shapes_after(seen, question, answers, noise, share), shrink=shrink)
