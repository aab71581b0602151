"""Pages that are sections of README.md and other files of the tree's root: said once, shown in both places."""

from __future__ import annotations

import re
from pathlib import Path

HOME = "index.md"
# Page of the site: the section of README.md that it is. What stands before the sections listed here is the home page.
SECTIONS = {
    "using.md": "Using it",
    "reasons.md": "Why a call did not take the fast path",
    "environment.md": "Environment variables",
    "measured.md": "Measured",
    "limits.md": "Limits",
}
FILES = {"contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}


def anchor(title: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-")


def _sections(text: str) -> dict[str, str]:
    """Second-level sections by title; "" is what comes before the first."""
    parts = re.split(r"(?m)^## (.+)$", text)
    return {"": parts[0], **{title.strip(): body for title, body in zip(parts[1::2], parts[2::2])}}


def _one_level_up(body: str) -> str:
    return re.sub(r"(?m)^#(#+ )", r"\1", body)


def pages(root: Path) -> dict[str, str]:
    """Raises ValueError for a section that README.md no longer has."""
    sections = _sections((root / "README.md").read_text(encoding="utf-8"))
    missing = [title for title in SECTIONS.values() if title not in sections]
    if missing:
        raise ValueError(f"README.md has no section {missing}; put right SECTIONS in docs/hooks/readme_pages.py")
    home = sections.pop("") + "".join(
        f"## {title}{body}" for title, body in sections.items() if title not in SECTIONS.values()
    )
    made = {HOME: home}
    for page, title in SECTIONS.items():
        made[page] = f"# {title}{_one_level_up(sections[title])}"
    for page, file in FILES.items():
        made[page] = (root / file).read_text(encoding="utf-8")
    return {page: links(text, "") for page, text in made.items()}


def links(markdown: str, up: str) -> str:
    """Links within the tree as links within the site; `up` leads from the page's file to the tree's root."""
    for page, title in SECTIONS.items():
        markdown = markdown.replace(f"]({up}README.md#{anchor(title)})", f"]({page})")
    for page, file in {HOME: "README.md", **FILES, "LICENSE.txt": "LICENSE"}.items():
        markdown = markdown.replace(f"]({up}{file})", f"]({page})")
    return markdown.replace("](docs/", "](") if not up else markdown
