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

Most other boxes lie in two hexagons; ``edge_boxes`` tells on which side of the edge a place of them lies. The few
records that are left are grouped by their places, and asked for together: for one row in forty, say, of each vector
that the engine works on, to call the function would cost more than what it does.
"""

import h3

from tasks.base import warehouse
from tasks.occupancy.edge_boxes import edge_boxes

_LEAST_BOXED = 7 / 8
"""Of fewer records in boxes the others are no longer few, and groups of their places would take much memory."""


def define_places(connection: warehouse.Connection) -> None:
    """Make ``record()``, and an empty table for it to take hexagons from."""
    for made in ("scratch/boxes_per_degree", "scratch/empty_box", "scratch/record"):
        warehouse.run(connection, made)


def find_cells(connection: warehouse.Connection, day: dict[str, object]) -> bool:
    """Make ``record()``, and fill the table ``box`` that it takes the hexagons of records from.

    What is missing there is asked for, so that this table decides how fast, and never which hexagon. A transaction
    would keep what is only needed on the way until its end, so this is done before one begins.

    Args:
        connection: Of the warehouse.
        day: The date of a day that was validated.

    Returns:
        Whether so many records lie in boxes that the others are better asked for apart.
    """
    define_places(connection)
    warehouse.run(connection, "scratch/seen_box", day)
    cells = [cell for (cell,) in warehouse.rows(connection, "read/corner_cells")]
    bent = {"bent": [cell for cell in cells if len(h3.get_icosahedron_faces(h3.int_to_str(cell))) > 1]}
    connection.register("edge_box", edge_boxes(warehouse.frame(connection, "read/divided_boxes", bent)))
    warehouse.run(connection, "scratch/box", bent)
    share = warehouse.rows(connection, "read/boxed_share")[0][0]
    warehouse.run(connection, "scratch/drop_seen_box")
    return share is not None and share > _LEAST_BOXED
