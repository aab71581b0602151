"""Puts the page together: one file that needs no network."""
from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

from plotly.offline import get_plotlyjs

from ab_bench import ab_bench_sections
from check_op import check_op_sections
from documents import Document
from environment import environment_section
from other import notes_section, other_sections
from parts import Section
from verify import verify_sections

HERE = Path(__file__).parent
# In the order in which they need each other.
SCRIPTS = ["elements.js", "table.js", "plot.js", "forest.js", "times.js", "heat.js", "start.js"]


def page_of(documents: list[Document]) -> str:
    sections = sections_of(documents)
    data: dict[str, Any] = {}
    for section in sections:
        data.update(section.data)
    page = (HERE / "template.html").read_text(encoding="utf-8")
    content = {
        "STYLE": (HERE / "page.css").read_text(encoding="utf-8"),
        "CONTENTS": "".join(f'<li><a href="#{s.anchor}">{escape(s.title)}</a></li>' for s in sections),
        "SECTIONS": "".join(
            f'<section aria-labelledby="{s.anchor}"><h2 id="{s.anchor}">{escape(s.title)}</h2>{s.html}</section>'
            for s in sections
        ),
        "DATA": script_safe(data),
        "PLOTLY": get_plotlyjs(),
        "SCRIPTS": "\n".join((HERE / name).read_text(encoding="utf-8") for name in SCRIPTS),
    }
    pieces = page.split("@@")  # text and names by turns; never looks into what it has put in
    return "".join(content[piece] if number % 2 else piece for number, piece in enumerate(pieces))


def sections_of(documents: list[Document]) -> list[Section]:
    by_command: dict[str, list[Document]] = {"ab-bench": [], "check-op": [], "verify": []}
    others = []
    for document in documents:
        by_command.get(document.command, others).append(document)
    return [
        environment_section(documents),
        *ab_bench_sections(by_command["ab-bench"]),
        *check_op_sections(by_command["check-op"]),
        *verify_sections(by_command["verify"]),
        *other_sections(others),
        *notes_section(documents),
    ]


def script_safe(data: Any) -> str:
    """JSON that can't end the script element it stands in, whatever an operator or an error text holds."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
