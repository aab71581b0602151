"""Finds the examples of a Markdown file: its fenced blocks, and what comments before them say of how they are run.

    <!-- not run: REASON -->     it isn't
    <!-- needs: cuda -->         only on that target
    <!-- before: CODE -->        runs first, in the same program
    <!-- exit: 0 1 -->           each command may end with one of these; without it, with 0
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

_COMMENT = re.compile(r"<!--\s*(not run|needs|before|exit):\s*(.*?)\s*-->", re.DOTALL)
_FENCE = re.compile(r"((?:<!--(?:(?!-->).)*-->\s*)*)^```(\w*)[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)


@dataclass
class Example:
    file: Path
    line: int
    language: str
    code: str
    notes: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.file.name}:{self.line}"

    def commands(self) -> list[str]:
        """Of a console block: what follows the prompt. Raises ValueError for a block without a prompt."""
        found = re.findall(r"(?m)^\$ (.+)$", self.code)
        if not found:
            raise ValueError(f"{self.name}: a console block without a line that starts with '$ '")
        return found


def examples(file: Path) -> list[Example]:
    text = file.read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        comments, language, code = match.groups()
        line = text.count("\n", 0, match.start(2)) + 1
        notes = {kind: value for kind, value in _COMMENT.findall(comments)}
        found.append(Example(file, line, language, code, notes))
    return found
