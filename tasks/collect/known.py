"""What the configuration of a collection says publicly: the protocol, the devices, and the error to expect."""

from typing import Any

from dpmath.local.collector import one_report_moves
from dpmath.local.design import central_error, expected_local_error
from tasks.collect.config import CollectionConfig


def plan_collection(config: CollectionConfig) -> list[dict[str, Any]]:
    """Return the error to expect for several numbers of devices in an area; nothing is collected.

    Returns:
        A row for each number of devices, errors in the unit of the value.
    """
    protocol = config.protocol
    known, tick = config.crowd(protocol), float(config.value.tick)
    expected, least = config.collection.expected_devices, config.collection.least_devices
    rows = []
    for n in sorted({2 * least, expected // 4, expected, 4 * expected, 16 * expected}):
        if n >= 2 * least:
            error = expected_local_error(n, protocol, known)
            rows.append(
                {
                    "devices": n,
                    "expected_error": error * tick,
                    "one_device_moves": one_report_moves(n // 2, protocol.n_bins // 2, protocol, known) * tick,
                    "error_with_a_trusted_curator": central_error(n, protocol) * tick,
                }
            )
    return rows
