"""MkDocs hook: adds the generated pages, and turns links to files of the tree into links within the site."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import header_pages  # noqa: E402
import manual_pages  # noqa: E402
import readme_pages  # noqa: E402
from mkdocs.exceptions import PluginError  # noqa: E402
from mkdocs.structure.files import File, Files  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]


def on_files(files: Files, config: Any) -> Files:
    try:
        made = readme_pages.pages(ROOT)
        made["cpp-api.md"] = header_pages.page(ROOT)
        made["manual.md"] = manual_pages.page(ROOT)
    except (OSError, ValueError) as error:
        raise PluginError(f"no site: {error}") from error
    made["LICENSE.txt"] = (ROOT / "LICENSE").read_text(encoding="utf-8")
    for name, content in made.items():
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    return readme_pages.links(markdown, "../")
