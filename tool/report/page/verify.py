"""Section of a verify document: counts, kernel parity, findings with the line that replays each."""
from __future__ import annotations

from typing import Any

from documents import Document, Row, text
from parts import Section, component, folded, heading, paragraph, section_for, table_data, tiles

COLUMNS = [
    ("op", "op", "code"),
    ("case", "case", "text"),
    ("call", "call", "number"),
    ("arms", "arms", "text"),
    ("reason", "reason", "text"),
    ("reproduce", "reproduce", "command"),
    ("max_abs_diff", "largest difference", "number"),
    ("first_diff", "first difference", "text"),
]
KERNEL_COLUMNS = [
    ("op", "op", "code"),
    ("case", "case", "text"),
    ("arms", "arms", "text"),
    ("kernels", "kernels", "text"),
    ("reproduce", "reproduce", "command"),
]
# Counts of the summary, in the order of the tiles.
COUNTS = ["ops", "cases", "equal", "different", "nondeterministic", "refused_by_native", "native_crashed",
          "not_applicable"]
# Objects of the summary that explain what was not compared: (field, title, heading of the name, of the value).
LEFT_OUT = [
    ("native_crashes", "Native crashes", "reproduce", "end"),
    ("contents_not_compared", "Contents not compared", "op", "why"),
    ("unknown", "Operators without known arguments", "op", "why"),
]


def verify_sections(documents: list[Document]) -> list[Section]:
    return section_for("Results: on, off and native", documents, _part)


def _part(document: Document) -> tuple[str, dict[str, Any]]:
    rows = [{**row, "arms": f"{text(row.get('arm_a'))} against {text(row.get('arm_b'))}"} for row in document.results]
    data: dict[str, Any] = {}
    html = heading(3, document.title) + tiles(_counts(document))
    html += heading(4, "Kernel parity") + _kernel_parity(document, rows, data)
    html += heading(4, "Findings")
    findings = [row for row in rows if row.get("equal") is False or row.get("kernels_equal") is False]
    if findings:
        html += _table(document, "findings", "Findings", COLUMNS, findings, data)
    else:
        html += paragraph("None: every case that could be compared is equal.")
    unsteady = [row for row in rows if row.get("equal") is None and "equal" in row]
    if unsteady:
        table = _table(document, "unsteady", "Nondeterministic cases", COLUMNS, unsteady, data)
        html += folded(f"Nondeterministic: native differs from itself ({len(unsteady)})", table)
    return html + _left_out(document, data), data


def _counts(document: Document) -> list[tuple[str, Any, str]]:
    tones = {"different": "bad", "equal": "good"}
    found = [name for name in COUNTS if name in document.summary]
    return [
        (name.replace("_", " "), document.summary[name], tones.get(name, "") if document.summary[name] else "")
        for name in found
    ]


def _kernel_parity(document: Document, rows: list[Row], data: dict[str, Any]) -> str:
    compared = [row for row in rows if isinstance(row.get("kernels_equal"), bool)]
    counted = document.summary.get("kernels")
    if not compared and not counted:
        return paragraph("Not recorded. On the cuda target, verify --kernels compares the kernels launched.", "absent")
    unequal = [row for row in compared if not row["kernels_equal"]]
    html = tiles([
        ("rows with kernels", len(compared), ""),
        ("same kernels", len(compared) - len(unequal), "good" if len(compared) > len(unequal) else ""),
        ("other kernels", len(unequal), "bad" if unequal else ""),
    ]) if compared else ""
    if counted:
        html += paragraph(f"Kernels: {text(counted)}.")
    if unequal:
        html += _table(document, "kernels", "Cases with other kernels", KERNEL_COLUMNS, unequal, data)
    return html


def _left_out(document: Document, data: dict[str, Any]) -> str:
    html = ""
    for field, title, name_title, value_title in LEFT_OUT:
        found = document.summary.get(field)
        if isinstance(found, dict) and found:
            kind = "command" if name_title == "reproduce" else "code"
            columns = [("name", name_title, kind), ("value", value_title, "text")]
            rows = [{"name": name, "value": value} for name, value in found.items()]
            html += folded(f"{title} ({len(rows)})", _table(document, field, title, columns, rows, data))
    return html


def _table(document: Document, name: str, title: str, columns: list[tuple[str, str, str]], rows: list[Row],
           data: dict[str, Any]) -> str:
    key = f"{document.key}-{name}"
    data[key] = table_data(columns, rows)
    return component("table", key, f"{title}, {document.title}")
