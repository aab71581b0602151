"""The C++ API's page: each declaration of the public headers, with the comment that stands before it."""

from __future__ import annotations

import re
from pathlib import Path

HEADERS = ("target.h", "redispatch.h", "stats.h", "routes.h")
_INTRODUCTION = """# C++ API

`#include <flagos/flagos.h>` has all of it; every name is in namespace `flagos`. Each comment says what is thrown, who
owns what, and which thread may call the function.
"""


def _comment(lines: list[str]) -> str:
    text = [line.removeprefix("//").removeprefix(" ") for line in lines]
    # What is indented within a comment is a table: left as it is.
    return "\n".join("    " + line.strip() if line.startswith("  ") else line for line in text)


def _blocks(text: str) -> list[tuple[list[str], list[str]]]:
    """(comment, declarations) of each run of lines in the namespace; a class's body belongs to its declaration."""
    inside = text.split("namespace flagos {", 1)[1].rsplit("}  // namespace flagos", 1)[0]
    blocks: list[tuple[list[str], list[str]]] = []
    depth = 0
    comment: list[str] = []
    code: list[str] = []
    for line in [*inside.splitlines(), ""]:
        if depth == 0 and not line.strip():
            if comment or code:
                blocks.append((comment, code))
            comment, code = [], []
        elif depth == 0 and line.startswith("//") and not code:
            comment.append(line)
        else:
            code.append(line)
            depth += line.count("{") - line.count("}")
    return blocks


def _name(code: list[str]) -> str:
    """What the heading calls a declaration."""
    text = " ".join(code)
    kind = re.match(r"\s*(?:enum class|struct|class)\s+(?:\[\[\w+\]\]\s+)?(?:FLAGOS_API\s+)?(\w+)", text)
    alias = re.match(r"\s*using (\w+)", text)
    if kind or alias:
        return (kind or alias).group(1)  # type: ignore[union-attr]
    return ", ".join(f"{name}()" for name in dict.fromkeys(re.findall(r"FLAGOS_API[^;(]*?(\w+)\(", text)))


def _without_private(code: list[str]) -> list[str]:
    end = next((index for index, line in enumerate(code) if line.strip() == "private:"), None)
    return code if end is None else [*code[:end], code[-1]]


def page(root: Path) -> str:
    """Raises ValueError for a public function that would be missing from the page."""
    folder = root / "lib" / "include" / "flagos"
    parts = [_INTRODUCTION]
    for header in HEADERS:
        text = (folder / header).read_text(encoding="utf-8")
        title = text.splitlines()[0].removeprefix("// ").rstrip(".")
        parts.append(f"\n## {title}\n\n`flagos/{header}`\n")
        for comment, code in _blocks(text):
            if code:
                name = _name(code)
                if not name:
                    raise ValueError(f"{header}: no name found in {code[0]!r}; put right docs/hooks/header_pages.py")
                parts.append(f"\n### {name}\n")
            parts.append(f"\n{_comment(comment)}\n" if comment else "")
            if code:
                shown = "\n".join(_without_private(code)).replace("FLAGOS_API ", "")
                parts.append(f"\n```cpp\n{shown}\n```\n")
    made = "".join(parts)
    for header in HEADERS:
        for name in re.findall(r"FLAGOS_API[^;(]*?(\w+)\(", (folder / header).read_text(encoding="utf-8")):
            if f"{name}(" not in made:
                raise ValueError(f"{header}: {name}() is missing from the C++ API's page")
    return made
