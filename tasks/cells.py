"""Cells: boxes of latitude and longitude that lie in one hexagon, so that few records need to be asked for theirs.

A box is used if its four corners, moved outwards by a hundredth of its width, lie in one hexagon, and that hexagon on
one face of H3's icosahedron. Then every point of the box lies in the hexagon:

- On one face, a hexagon of H3 is a regular one in the gnomonic projection, which shows great circles as straight
  lines. So it is an intersection of half-spaces through the Earth's centre, and with the four moved corners it holds
  all that great circles between them enclose.
- That is the box and more. Its sides are meridians, which are great circles. A parallel is none: over a width of w
  radians a great circle leaves it by w^2 / 16 at most, towards the pole, and so cuts into the moved box on the side
  away from the pole. As w is about a degree at most, that is less than a seventh of the hundredth of w.
- What is left of the hundredth is 10^-11 radians or more, for hexagons of resolution 11 at 89 degrees of latitude, and
  more than H3's rounding: some 10^-15 radians, and over the distance from the centre of a face 10^-16, which is less
  than a hundredth of a hundredth of a box wherever that centre's own hexagon ends.

Records in no box are set apart and asked for together: for one row in nine, say, of each vector that the engine works
on, to call the function would cost more than what it does.
"""

import h3

from tasks import warehouse

_MOST_UNBOXED = 20_000_000
"""More are not set apart, for they would take much of the memory that grouping the day needs."""


def define_places(connection: warehouse.Connection) -> None:
    """Make ``record()``, and empty tables for it to take hexagons from."""
    warehouse.define(connection, "boxes_per_degree", "box", "unboxed", "record")


def find_cells(connection: warehouse.Connection, day: dict[str, object]) -> None:
    """Make ``record()``, and fill the tables ``box`` and ``unboxed`` that it takes the hexagons of records from.

    What is missing there it asks for, so that these tables decide how fast, and never which hexagon. A transaction
    would keep what is only needed on the way until its end, so this is done before one begins.

    Args:
        connection: Of the warehouse.
        day: The date of a day that was validated.
    """
    define_places(connection)
    warehouse.run(connection, "warehouse/box", day)
    cells = [cell for (cell,) in warehouse.rows(connection, "warehouse/box_cells")]
    bent = [cell for cell in cells if len(h3.get_icosahedron_faces(h3.int_to_str(cell))) > 1]
    warehouse.run(connection, "warehouse/clear_bent_box", {"cells": bent})
    if not cells:
        return
    n_unboxed = warehouse.changed(connection, "warehouse/unboxed_place", {**day, "most": _MOST_UNBOXED + 1})
    if n_unboxed <= _MOST_UNBOXED:
        warehouse.run(connection, "warehouse/unboxed")
    warehouse.run(connection, "warehouse/drop_unboxed_place")
