"""Section of a check-op document: operators x situations, operators of one pattern of verdicts in one line."""
from __future__ import annotations

from typing import Any

from documents import Document, text
from parts import Section, component, folded, heading, paragraph, section_for, table_data, tiles

COLUMNS = [
    ("op", "op", "code"),
    ("situation", "situation", "text"),
    ("verdict", "verdict", "verdict"),
    ("predicted", "predicted", "text"),
    ("observed", "observed", "text"),
    ("reason", "reason", "code"),
    ("note", "note", "text"),
]


def check_op_sections(documents: list[Document]) -> list[Section]:
    return section_for("Fast path by situation", documents, _part)


def _part(document: Document) -> tuple[str, dict[str, Any]]:
    key = document.key
    heat = _patterns(document)
    disagreements = [row for row in document.results if row.get("agrees") is False]
    errors = [row for row in document.results if row.get("verdict") == "error"]
    data: dict[str, Any] = {f"{key}-heat": heat}
    html = heading(3, document.title) + tiles(_counts(document, heat, len(disagreements)))
    html += heading(4, "Verdicts by situation")
    html += paragraph("Operators with the same verdict in every situation share a line. Press a line for names.")
    html += component("heat", f"{key}-heat", f"Verdicts by operator and situation, {document.title}")
    html += heading(4, "Disagreements of prediction and observation")
    if disagreements:
        data[f"{key}-disagreements"] = table_data(COLUMNS, disagreements)
        html += component("table", f"{key}-disagreements", f"Disagreements, {document.title}")
    else:
        html += paragraph("None.")
    if errors:
        data[f"{key}-errors"] = table_data(COLUMNS, errors)
        html += folded(f"Calls that threw ({len(errors)})", component("table", f"{key}-errors", "Calls that threw"))
    return html, data


def _patterns(document: Document) -> dict[str, Any]:
    """{"situations": [...], "groups": [[[ops], [[verdict, reason], ...]], ...]}, largest group first."""
    situations = list(dict.fromkeys(text(row.get("situation")) for row in document.results))
    place = {name: number for number, name in enumerate(situations)}
    of_op: dict[str, list[Any]] = {}
    for row in document.results:
        cells = of_op.setdefault(text(row.get("op")), [("", "")] * len(situations))
        cells[place[text(row.get("situation"))]] = (text(row.get("verdict")), text(row.get("reason")))
    groups: dict[tuple[Any, ...], list[str]] = {}
    for op, cells in of_op.items():
        groups.setdefault(tuple(cells), []).append(op)
    largest_first = sorted(groups.items(), key=lambda group: -len(group[1]))
    return {"situations": situations, "groups": [[ops, cells] for cells, ops in largest_first]}


def _counts(document: Document, heat: dict[str, Any], disagreements: int) -> list[tuple[str, Any, str]]:
    verdicts: dict[str, int] = {}
    for row in document.results:
        name = text(row.get("verdict"))
        verdicts[name] = verdicts.get(name, 0) + 1
    counts = [
        ("operators", sum(len(ops) for ops, _ in heat["groups"]), ""),
        ("patterns", len(heat["groups"]), ""),
        ("disagreements", disagreements, "bad" if disagreements else "good"),
    ]
    return counts + [(name, verdicts[name], "") for name in sorted(verdicts, key=verdicts.get, reverse=True)]
