"""Small cities and surfaces for days of users whose presence is secret."""

from dataclasses import replace

import numpy as np

from dpmath.presence.basis import Basis, Grid, basis_of
from dpmath.presence.fields import Prior
from dpmath.presence.priors import prior_of
from tasks.records.synthetic_people import City, city_at


def a_city(n_people: int, n_rings: int, seed: int) -> City:
    """Return a city of hexagons in rings about a centre."""
    span = range(-n_rings, n_rings + 1)
    axial = np.array([(q, r) for q in span for r in span if abs(q + r) <= n_rings])
    places = np.column_stack([axial[:, 0] + axial[:, 1] / 2, axial[:, 1] * np.sqrt(3) / 2])
    return city_at(2.2 * places, n_people, seed)


def small() -> tuple[Grid, Basis]:
    """Return four hexagons of six slots each, and what surfaces over them are made of."""
    place = np.arange(4.0)
    grid = Grid(np.column_stack([place, place % 2]), 6)
    return grid, basis_of(grid)


def a_prior(level: float = 0.0) -> Prior:
    """Return what a surface is taken to be before anything is seen of it."""
    return replace(prior_of(2.0, 0.5, (0.5, 0.6, 0.4), (0.3, 0.25, 0.15), 1.0), level=level)
