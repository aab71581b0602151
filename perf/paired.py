"""Statistics of arms that took turns, for overhead.py and decode.py."""

from __future__ import annotations

import math
import statistics


def median_interval(values: list[float]) -> tuple[float, float, float]:
    """The median and its 95% interval, without a guess at the distribution."""
    ordered = sorted(values)
    n = len(ordered)
    low = max(0, math.floor(n / 2 - 0.98 * math.sqrt(n)) - 1)
    return statistics.median(ordered), ordered[low], ordered[n - 1 - low]
