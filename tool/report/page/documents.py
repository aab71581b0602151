"""The documents a page is made of."""
from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCHEMA = "flagos-diag/1"

Row = dict[str, Any]


class DocumentError(Exception):
    """A file is no document of flagos-diag; the text names it and says what to do."""


@dataclass
class Document:
    key: str  # tells it from the page's other documents; fit for an HTML id
    name: str  # of the file, without its directory: a page may be published
    command: str
    environment: Row
    summary: Row
    notes: list[str]
    results: list[Row]

    @property
    def title(self) -> str:
        """What a heading calls it."""
        target = self.environment.get("target")
        return f"{self.name} ({target} target)" if target else self.name


def read_documents(files: list[str]) -> list[Document]:
    return [_read(Path(file), f"d{number}") for number, file in enumerate(files)]


def _read(file: Path, key: str) -> Document:
    remedy = "Make one with: flagos-diag COMMAND --format json --output FILE"
    try:
        content = json.loads(file.read_text(encoding="utf-8", errors="replace"))
    except OSError as error:
        raise DocumentError(f"{file}: {error.strerror}. {remedy}") from None
    except (ValueError, RecursionError):
        raise DocumentError(f"{file}: is not one JSON document. {remedy}") from None
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise DocumentError(f"{file}: is not of schema {SCHEMA}. {remedy}")
    return Document(
        key=key,
        name=file.name,
        command=str(content.get("command", "")),
        environment=_object(content.get("environment")),
        summary=_object(content.get("summary")),
        notes=[*(f"warning: {warning}" for warning in _list(content.get("warnings"))),
               *(str(note) for note in _list(content.get("notes")))],
        results=[row for row in _list(content.get("results")) if isinstance(row, dict)],
    )


def _object(value: Any) -> Row:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def number(row: Row, field: str) -> float | None:
    """A finite number, else None; other versions may leave fields out."""
    value = row.get(field)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return value


def text(value: Any) -> str:
    """For people: nothing for null, yes and no, a list as its items."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(text(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{name} {text(item)}" for name, item in value.items())
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)
