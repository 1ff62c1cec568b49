"""What CLIP-USER and pseudo-users do to one occupancy, and its averages over the synthetic ones of Figures 3 to 8."""

from collections.abc import Sequence

import numpy as np

from dpmath.core.occupancy import Occupancy
from dpmath.papers.clip_user import clip_user_dropping, degradation_factor
from dpmath.papers.dropping import CellRelease, dropped_errors
from dpmath.papers.pseudo_users import capped_records, pseudo_user_sizes
from tests.bench.cities import cpl

UPPER = 65
"""Bound on a speed, km/h."""

GAMMAS = (3, 6, 9)
"""What the records of each cell's heaviest user are multiplied by, less one: of Figures 3 and 6, 4 and 7, 5 and 8."""

EPSILONS = tuple(np.geomspace(0.1, 1, 10).tolist())
"""Privacy loss of one cell; the paper gives the range."""

N_COLLECTIONS = 10

Row = dict[str, float]


def suppressed_release(occupancy: Occupancy, release: CellRelease) -> Row:
    """Return K and the worst-case error over the cells, before anything and after suppression and pseudo-users.

    The cell of least error is left alone, as in the paper's experiments; ``factor_sparing_no_cell`` is without that.
    ``worst_cell_sizes`` is how many sizes of pseudo-users (15) chose from in the cell of the largest error.
    """
    kept = clip_user_dropping(occupancy, release, spare_best_cell=True)
    capped = capped_records(occupancy, kept, pseudo_user_sizes(occupancy, kept, release))
    everyone, errors = np.ones(kept.size, dtype=bool), dropped_errors(occupancy, capped, release)
    in_worst_cell = kept & (occupancy.cell == errors.argmax())
    return {
        "original_factor": degradation_factor(occupancy, everyone),
        "factor": degradation_factor(occupancy, kept),
        "factor_sparing_no_cell": degradation_factor(occupancy, clip_user_dropping(occupancy, release)),
        "original_error": float(dropped_errors(occupancy, occupancy.n_records, release).max()),
        "suppressed_error": float(dropped_errors(occupancy, occupancy.n_records * kept, release).max()),
        "error": float(errors.max()),
        "worst_cell_sizes": float(np.ptp(occupancy.n_records[in_worst_cell])) + 1,
    }


def measured(
    gamma: float, rng: np.random.Generator, n_collections: int = N_COLLECTIONS, epsilons: Sequence[float] = EPSILONS
) -> list[Row]:
    """Return, for each epsilon, the averages over collections of records, as the paper has them.

    Args:
        gamma: What the records of each cell's heaviest user are multiplied by, less one.
        rng: Draws the collections; one seed for each gamma makes them alike.
        n_collections: Collections of records, 10 in the paper.
        epsilons: Privacy losses of one cell.

    Returns:
        A row for each epsilon, with the errors as (11) adds them up, and the losses P = K epsilon.
    """
    collections = [cpl(gamma, rng) for _ in range(n_collections)]
    rows = []
    for epsilon in epsilons:
        found = [suppressed_release(occupancy, CellRelease(epsilon, UPPER)) for occupancy in collections]
        row = {key: float(np.mean([one[key] for one in found])) for key in found[0]}
        losses = {"original_loss": row["original_factor"] * epsilon, "loss": row["factor"] * epsilon}
        rows.append({"gamma": gamma, "epsilon": epsilon} | losses | row)
    return rows
