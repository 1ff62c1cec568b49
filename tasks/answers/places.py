"""The areas that are asked about, and which share of each hexagon is in them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import h3
import numpy as np
import shapely
from scipy.sparse import csr_array, eye_array
from shapely.affinity import scale, translate
from shapely.geometry.base import BaseGeometry

from dpmath.core.occupancy import IntArray
from dpmath.joint.factors import entries
from dpmath.joint.products import FloatArray
from tasks.base.errors import HexveilError
from tasks.output_formats.geography import outline

WHOLE = "all"
"""The name of everything as one area."""
BOTH_SIDES = 10.0
"""A hexagon within so many degrees of the 180th meridian is looked for on both sides of a plane map."""
_WHOLE = 1 - 1e-9


class Areas(Protocol):
    """Areas, of which a hexagon may be in several, or in one by a share."""

    def shares(self, cells: Sequence[str], /) -> tuple[list[str], csr_array]:
        """Return the names of the areas, A in all, and which share of each hexagon is in each: shape (H, A)."""
        ...

    def n_hexagons(self, name: str, resolution: int, /) -> float | None:
        """Return how many hexagons large an area is; None: as many as have records."""
        ...

    def outlines(self, cells: Sequence[str], /) -> dict[str, BaseGeometry]:
        """Return the outline of each area in longitude and latitude, of the hexagons that have records."""
        ...


class Everything:
    """All hexagons as one area."""

    def shares(self, cells: Sequence[str]) -> tuple[list[str], csr_array]:
        """Return a whole for each."""
        return [WHOLE], csr_array(np.ones((len(cells), 1)))

    def n_hexagons(self, _name: str, _resolution: int) -> None:
        """Return that it is not known."""
        return

    def outlines(self, cells: Sequence[str]) -> dict[str, BaseGeometry]:
        """Return that of all hexagons."""
        return {WHOLE: _union(cells)}


class EachHexagon:
    """Every hexagon as an area of its own."""

    def shares(self, cells: Sequence[str]) -> tuple[list[str], csr_array]:
        """Return a whole for each in its own area."""
        return list(cells), csr_array(eye_array(len(cells)))

    def n_hexagons(self, name: str, resolution: int) -> float:
        """Return one on days of its own grid."""
        return float(h3.get_resolution(name) == resolution)

    def outlines(self, cells: Sequence[str]) -> dict[str, BaseGeometry]:
        """Return that of each hexagon."""
        return {cell: shapely.Polygon(outline(cell)) for cell in cells}


@dataclass(frozen=True)
class Hexagons:
    """Some hexagons as one area; one of a coarser resolution has all that are in it.

    Attributes:
        cells: The hexagons.

    Raises:
        HexveilError: Something is no H3 cell.
    """

    cells: frozenset[str]

    def __post_init__(self) -> None:
        """Check the hexagons."""
        for one in self.cells:
            if not h3.is_valid_cell(one):
                raise HexveilError(f"{one} is no H3 cell; give cells as statistics.csv has them in h3_cell")

    def shares(self, cells: Sequence[str]) -> tuple[list[str], csr_array]:
        """Return a whole for each hexagon that is one of them, or in one."""
        inside = [[not self.cells.isdisjoint(_with_parents(cell))] for cell in cells]
        return ["hexagons"], csr_array(np.array(inside, dtype=float))

    def n_hexagons(self, _name: str, resolution: int) -> float:
        """Return how many hexagons they have."""
        return float(sum(7.0 ** (resolution - h3.get_resolution(cell)) for cell in self.cells))

    def outlines(self, _cells: Sequence[str]) -> dict[str, BaseGeometry]:
        """Return that of these hexagons."""
        return {"hexagons": _union(sorted(self.cells))}


@dataclass(frozen=True)
class Outlines:
    """Areas with an outline each.

    Attributes:
        named: The outline of each area by its name, with longitudes as long as latitudes.
        squeeze: What a longitude is multiplied by.
        remarks: Sentences on what of the file is left out, or taken together.
    """

    named: dict[str, BaseGeometry]
    squeeze: float
    remarks: tuple[str, ...] = ()
    _known: dict[str, tuple[IntArray, FloatArray]] = field(default_factory=dict, compare=False, repr=False)
    """Which areas each hexagon is in, of those that were asked about, and by which share: days have the same ones."""

    def shares(self, cells: Sequence[str]) -> tuple[list[str], csr_array]:
        """Return the share of each hexagon's area that is in each of them."""
        new = [cell for cell in cells if cell not in self._known]
        if new:
            found = self._shares(new)
            _, columns, parts = entries(found)
            for number, cell in enumerate(new):
                here = slice(*found.indptr[number : number + 2])
                self._known[cell] = columns[here], parts[here]
        areas, share = zip(*(self._known[cell] for cell in cells), strict=True)
        ends = np.cumsum([0, *map(len, areas)])
        shape = (len(cells), len(self.named))
        return list(self.named), csr_array((np.concatenate(share), np.concatenate(areas), ends), shape=shape)

    def _shares(self, cells: Sequence[str]) -> csr_array:
        outlines = np.array(list(self.named.values()))
        every, cell_of = zip(
            *((one, row) for row, cell in enumerate(cells) for one in _on_both_sides(cell)), strict=True
        )
        polygons, cell_of = np.array([self._squeezed(one) for one in every]), np.array(cell_of)
        number, columns = shapely.STRtree(polygons).query(outlines, predicate="intersects")[::-1]
        inside = shapely.intersection(polygons[number], outlines[columns])
        parts = shapely.area(inside) / shapely.area(polygons[number])
        found = csr_array(
            (parts, (cell_of[number], columns)), shape=(len(cells), len(self.named))
        )  # adds up both sides
        rows, columns, share = entries(found)
        share = np.where(share > _WHOLE, 1.0, share)
        some = share > 1 - _WHOLE
        return csr_array((share[some], (rows[some], columns[some])), shape=found.shape)

    def n_hexagons(self, name: str, resolution: int) -> float:
        """Return the area over that of a hexagon in it."""
        centre = self.named[name].representative_point()
        cell = h3.latlng_to_cell(centre.y, centre.x / self.squeeze, resolution)
        return float(self.named[name].area / self._squeezed(shapely.Polygon(outline(cell))).area)

    def outlines(self, _cells: Sequence[str]) -> dict[str, BaseGeometry]:
        """Return those of the file."""
        return {name: scale(shape, 1 / self.squeeze, 1.0, origin=(0, 0)) for name, shape in self.named.items()}

    def seem_swapped(self, cells: Sequence[str]) -> bool:
        """Return whether some of these hexagons would be in the areas with latitude and longitude swapped alone."""
        tree = shapely.STRtree([shapely.Polygon(outline(cell)) for cell in cells])
        here = list(self.outlines([]).values())
        swapped = [shapely.transform(one, lambda at: at[:, ::-1]) for one in here]
        is_here, is_there = (tree.query(areas, predicate="intersects").size > 0 for areas in (here, swapped))
        return is_there and not is_here

    def geojson(self) -> bytes:
        """Return the areas as GeoJSON, each once, with its name, and the remarks if there are any."""
        features = [
            {"type": "Feature", "properties": {"name": name}, "geometry": shapely.geometry.mapping(shape)}
            for name, shape in self.outlines([]).items()
        ]
        remarks = {"remarks": list(self.remarks)} if self.remarks else {}
        return json.dumps({"type": "FeatureCollection", **remarks, "features": features}).encode()

    def _squeezed(self, geometry: BaseGeometry) -> BaseGeometry:
        return scale(geometry, self.squeeze, 1.0, origin=(0, 0))


def _on_both_sides(cell: str) -> list[BaseGeometry]:
    """Return a hexagon, and near the 180th meridian once more where it is at the other side of a plane map."""
    here = shapely.Polygon(outline(cell))
    west, _, east, _ = here.bounds
    if max(-west, east) < 180 - BOTH_SIDES:
        return [here]
    return [here, translate(here, -360.0 if east > 0 else 360.0)]


def _union(cells: Sequence[str]) -> BaseGeometry:
    return shapely.union_all([shapely.Polygon(outline(cell)) for cell in cells])


def _with_parents(cell: str) -> list[str]:
    return [cell, *(h3.cell_to_parent(cell, coarser) for coarser in range(h3.get_resolution(cell) - 1, -1, -1))]
