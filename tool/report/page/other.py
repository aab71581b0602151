"""Section of the documents of every other command: their rows as they are."""
from __future__ import annotations

from html import escape
from typing import Any

from documents import Document, text
from parts import Section, component, folded, heading, paragraph, plain_table, table_data


def other_sections(documents: list[Document]) -> list[Section]:
    sections = []
    for command in dict.fromkeys(document.command for document in documents):
        html, data = "", {}
        for document in (each for each in documents if each.command == command):
            html += heading(3, document.title) + _summary(document)
            if document.results:
                key = f"{document.key}-rows"
                data[key] = table_data(_columns(document), document.results)
                html += component("table", key, f"Rows of {command}, {document.title}")
            else:
                html += paragraph("No rows.")
        sections.append(Section(command or "unnamed command", html, data))
    return sections


def notes_section(documents: list[Document]) -> list[Section]:
    html = ""
    for document in documents:
        if document.notes:
            items = "".join(f"<li>{escape(note)}</li>" for note in document.notes[:200])
            more = len(document.notes) - 200
            if more > 0:
                items += f"<li>and {more} more, in the document</li>"
            html += folded(f"{document.name} ({len(document.notes)})", f"<ul>{items}</ul>")
    return [Section("Notes", html)] if html else []


def _columns(document: Document) -> list[tuple[str, str, str]]:
    names = dict.fromkeys(name for row in document.results for name in row)
    return [(name, name.replace("_", " "), _kind([row.get(name) for row in document.results])) for name in names]


def _kind(values: list[Any]) -> str:
    known = [value for value in values if value is not None]
    numeric = known and all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in known)
    return "number" if numeric else "text"


def _summary(document: Document) -> str:
    rows = [[escape(name), escape(text(value))] for name, value in document.summary.items()]
    return plain_table(f"Summary of {document.name}", ["name", "value"], rows) if rows else ""
