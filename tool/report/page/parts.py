"""Pieces of HTML. Rows of results are data for the page's scripts (see table.js), never HTML."""
from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from html import escape
from typing import Any, Callable, Iterable

from documents import Document, Row, text


@dataclass
class Section:
    """Part of the page: a heading, HTML, and the data of the components in it by their key."""

    title: str
    html: str
    data: dict[str, Any] = field(default_factory=dict)

    @property
    def anchor(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")


def section_for(title: str, documents: list[Document],
                part: Callable[[Document], tuple[str, dict[str, Any]]]) -> list[Section]:
    """One section of the parts of all `documents`, one below the other; none when there are no documents."""
    if not documents:
        return []
    section = Section(title, "")
    for document in documents:
        html, data = part(document)
        section.html += html
        section.data.update(data)
    return [section]


def paragraph(words: str, kind: str = "") -> str:
    return f'<p{f" class={kind}" if kind else ""}>{escape(words)}</p>'


def heading(level: int, words: str) -> str:
    return f"<h{level}>{escape(words)}</h{level}>"


def component(kind: str, key: str, label: str) -> str:
    """A place that the script of that kind fills with the data of `key`. `label` is what a screen reader calls it."""
    data = f'data-component="{kind}" data-key="{escape(key)}" data-label="{escape(label)}"'
    return f'<div class="component" {data}></div>'


def folded(title: str, html: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{html}</details>"


def tiles(counts: Iterable[tuple[str, Any, str]]) -> str:
    """(name, number, tone) each; a tone is "", "good" or "bad"."""
    items = "".join(
        f'<div class="tile {tone}"><dt>{escape(name)}</dt><dd>{escape(grouped(value))}</dd></div>'
        for name, value, tone in counts
    )
    return f'<dl class="tiles">{items}</dl>'


def grouped(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else text(value)


def plain_table(caption: str, head: list[str], rows: list[list[str]]) -> str:
    """A small table without a script, row headers first. Cells are HTML."""
    columns = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>' + "".join(f"<td>{cell}</td>" for cell in row[1:]) + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
        f"<caption>{escape(caption)}</caption><thead><tr>{columns}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def table_data(columns: list[tuple[str, str, str]], rows: list[Row]) -> dict[str, Any]:
    """Data of a "table" component. A column is (field, heading, kind of table.js)."""
    return {
        "columns": [{"title": title, "kind": kind} for _, title, kind in columns],
        "rows": [[_cell(row.get(name), kind) for name, _, kind in columns] for row in rows],
    }


def _cell(value: Any, kind: str) -> Any:
    if kind in ("number", "ns", "ratio") and isinstance(value, (int, float)):
        return value if math.isfinite(value) else None
    return None if value is None else text(value)
