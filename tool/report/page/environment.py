"""Which documents a page is made of, and the environments their results hold for."""
from __future__ import annotations

from html import escape

from documents import Document, text
from parts import Section, plain_table


def environment_section(documents: list[Document]) -> Section:
    made_of = [
        [
            f'<span class="name">{escape(document.name)}</span>',
            escape(document.command),
            f"{len(document.results):,}",
            escape(text(document.summary.get("seconds")) or "not recorded"),
        ]
        for document in documents
    ]
    html = plain_table("Documents", ["document", "command", "results", "seconds"], made_of)
    html += plain_table("Environments", ["field", *[document.name for document in documents]], _fields(documents))
    return Section("Environment", html)


def _fields(documents: list[Document]) -> list[list[str]]:
    names = dict.fromkeys(name for document in documents for name in document.environment)
    rows = []
    for name in names:
        values = [text(document.environment.get(name)) or "not known" for document in documents]
        differs = ' <span class="badge warn">differs</span>' if len(set(values)) > 1 else ""
        rows.append([escape(name) + differs, *[escape(value) for value in values]])
    return rows
