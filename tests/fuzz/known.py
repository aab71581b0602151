"""Differences that are inherent, each with its reason. What can be fixed does not belong here."""

from __future__ import annotations

import fnmatch
import re
from typing import Any

# (operator without aten::, kind of difference, pattern in the detail, reason)
KNOWN: list[tuple[str, str, str, str]] = []


def reason_of(call: dict[str, Any], kind: str, detail: str) -> str:
    """Why this difference is expected; "" when it isn't."""
    name = call["op"].removeprefix("aten::")
    for operator, known_kind, pattern, reason in KNOWN:
        if fnmatch.fnmatchcase(name, operator) and known_kind in ("*", kind) and re.search(pattern, detail):
            return reason
    return ""
