"""Many simulated devices at once: their reports under a protocol of dpmath.local, from numpy and not from its draws."""

from dataclasses import dataclass

import numpy as np

from dpmath.local.collector import LocalEstimate, estimated, localised
from dpmath.local.design import Crowd
from dpmath.local.protocol import LocalProtocol


@dataclass(frozen=True)
class Fleet:
    """Mean of each device's values, in ticks, and their number."""

    means: np.ndarray
    sizes: np.ndarray

    def weights(self, protocol: LocalProtocol) -> np.ndarray:
        size = protocol.effective_size
        return np.sqrt(np.minimum(self.sizes, size) / size)

    def truth(self, protocol: LocalProtocol) -> float:
        return float(np.average(self.means, weights=self.weights(protocol)))

    def part(self, chosen: np.ndarray) -> "Fleet":
        return Fleet(self.means[chosen], self.sizes[chosen])


def ballots(fleet: Fleet, protocol: LocalProtocol, rng: np.random.Generator) -> np.ndarray:
    """Return the ballot of each device, shape (devices, bins)."""
    flips = rng.random((fleet.means.size, protocol.n_bins)) < float(protocol.flip_probability)
    return _votes(fleet, protocol) ^ flips


def _votes(fleet: Fleet, protocol: LocalProtocol) -> np.ndarray:
    own = np.clip((fleet.means - protocol.left) // (2 * protocol.half_width), 0, protocol.n_bins - 1)
    near = np.abs(own[:, None] - np.arange(protocol.n_bins)) <= 1
    return near & (fleet.sizes >= protocol.effective_size)[:, None]


def vote_counts(fleet: Fleet, protocol: LocalProtocol, rng: np.random.Generator) -> list[int]:
    ones = _votes(fleet, protocol).sum(axis=0)
    flip = float(protocol.flip_probability)
    kept = rng.binomial(ones, 1 - flip) + rng.binomial(fleet.means.size - ones, flip)
    return kept.tolist()


def estimates(fleet: Fleet, number: int, protocol: LocalProtocol, rng: np.random.Generator) -> np.ndarray:
    """Return the report of round 2 of each device."""
    middle, weights = protocol.midpoint(number), fleet.weights(protocol)
    before = np.clip(np.floor(weights * fleet.means + (1 - weights) * middle + 0.5), *protocol.interval(number))
    stop = -np.expm1(-float(protocol.noise_rate(number)))
    noise = rng.geometric(stop, before.size) - rng.geometric(stop, before.size)
    return np.clip(before + noise, *protocol.domain(number)).astype(np.int64)


def estimate_sums(fleet: Fleet, number: int, protocol: LocalProtocol, rng: np.random.Generator) -> tuple[int, int, int]:
    reports = estimates(fleet, number, protocol, rng).astype(object)
    return reports.size, int(reports.sum()), int((reports**2).sum())


def collect(fleet: Fleet, protocol: LocalProtocol, known: Crowd, rng: np.random.Generator) -> tuple[LocalEstimate, int]:
    """Return the estimate of both rounds, and the bin."""
    first = rng.random(fleet.means.size) < 0.5
    n_votes = vote_counts(fleet.part(first), protocol, rng)
    number = localised(n_votes, protocol)
    sums = estimate_sums(fleet.part(~first), number, protocol, rng)
    return estimated(sums, number, protocol, known, (n_votes, int(first.sum()))), number
