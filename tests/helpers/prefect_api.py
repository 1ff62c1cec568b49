"""What a Prefect server without a password answers."""

import json
import urllib.request
from typing import Any


def asked(server: dict[str, str], what: str) -> list[dict[str, Any]]:
    """Return the server's ``flow_runs`` or ``task_runs``, of which a test makes fewer than 200."""
    url = f"{server['PREFECT_API_URL']}/{what}/filter"
    request = urllib.request.Request(url, b'{"limit": 200}', {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        found: list[dict[str, Any]] = json.load(answer)
    return found
