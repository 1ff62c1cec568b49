"""Cells: finds boxes of latitude and longitude that lie in one hexagon, so that few records need a call of H3.

A box is used if its four corners, moved outwards by a hundredth of its width, lie in one hexagon. That hexagon must lie
on one face of H3's icosahedron. Then every point of the box lies in the hexagon:

- On one face, a hexagon of H3 is regular in the gnomonic projection, which shows great circles as straight lines. So
  the hexagon is an intersection of half-spaces through the Earth's centre. If it contains the four moved corners, it
  contains all that great circles between them enclose.
- These great circles enclose the box. Its meridian sides are great circles. Its parallels are not: over a width of w
  radians a great circle leaves a parallel by at most w^2 / 16, towards the pole. So it cuts into the moved box on the
  side away from the pole. As w is at most about a degree, that is less than a seventh of the hundredth of w.
- The rest of the hundredth is at least 10^-11 radians, for hexagons of resolution 11 at 89 degrees of latitude. That is
  more than H3's rounding: about 10^-15 radians, plus 10^-16 divided by the distance from the centre of a face. At the
  border of the hexagon around that centre, this is less than a hundredth of a hundredth of a box.

Most other boxes lie in two hexagons; for these, ``edge_boxes`` computes on which side of the edge a place lies. The few
records that are left are grouped by place, and H3 is called once per place. A call for, say, one row in forty of each
vector of the engine would cost more than the work itself.
"""

import h3

from tasks.base import warehouse
from tasks.occupancy.edge_boxes import edge_boxes

_LEAST_BOXED = 7 / 8
"""With a smaller share in boxes, the other records are many, and groups of their places would take much memory."""


def define_places(connection: warehouse.Connection) -> None:
    """Create ``record()``, and the empty table that it takes hexagons from."""
    for made in ("scratch/boxes_per_degree", "scratch/empty_box", "scratch/means_missing", "scratch/record"):
        warehouse.run(connection, made)


def find_cells(connection: warehouse.Connection, day: dict[str, object]) -> bool:
    """Create ``record()``, and fill the table ``box`` that it takes the hexagons of records from.

    For records outside boxes, H3 is called. So the table changes the speed, but never the hexagon. Call this before a
    transaction begins, because a transaction would keep the intermediate tables until its end.

    Args:
        connection: Connection to the warehouse.
        day: The date of a validated day.

    Returns:
        Whether so many records lie in boxes that it is faster to place the others separately.
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
