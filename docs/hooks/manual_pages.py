"""The tool's manual as Markdown, from what the tool itself prints: `flagos-diag man`."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

_ESCAPES = {"\\-": "-", "\\(aq": "'", "\\(ga": "`", "\\(dq": '"', "\\&": "", "\\e": "\\"}


def _plain(text: str) -> str:
    return re.sub(r"\\-|\\\(aq|\\\(ga|\\\(dq|\\&|\\e", lambda found: _ESCAPES[found.group()], text)


def _code(text: str) -> str:
    """A line of words in bold and italics, an option and its values, say, as one piece of code."""
    if "\\f" not in text:
        return _prose(text)
    words = re.sub(r"\\f[BIR]", "", text)
    return f"`{_plain(words).strip()}`"


def _prose(text: str) -> str:
    words = re.sub(r"\\f[BI](.*?)\\fR", lambda found: f"`{found.group(1)}`", text)
    return re.sub(r"(?<!`)<(\w+)>", r"&lt;\1&gt;", _plain(words)).replace("*", "\\*")


def to_markdown(roff: str) -> str:
    """Of the macros that man_page.cpp writes; raises ValueError for another one."""
    lines: list[str] = []
    term = False
    for line in roff.splitlines():
        macro, _, rest = line.partition(" ")
        if not line.startswith("."):
            if term:
                lines += ["", f"- {_code(line)}: "]
            elif lines and lines[-1].startswith("- ") and lines[-1].endswith(": "):
                lines[-1] += _prose(line)
            else:
                lines.append(_code(line) if line.startswith("\\f") else _prose(line))
            term = False
        elif macro == ".TH":
            lines.append("# flagos-diag")
        elif macro == ".SH":
            lines += ["", f"## {_plain(rest).capitalize()}", ""]
        elif macro == ".SS":
            lines += ["", f"### {_plain(rest)}", ""]
        elif macro == ".TP":
            term = True
        elif macro in (".PP", ".br"):
            lines.append("")
        else:
            raise ValueError(f"flagos-diag man writes {macro!r}, which docs/hooks/manual_pages.py does not know")
    return "\n".join(lines).replace(": \n", "\n") + "\n"


def page(root: Path) -> str:
    """Raises FileNotFoundError where there is no tool. FLAGOS_DIAG names one elsewhere than in build/tool."""
    tool = Path(os.environ.get("FLAGOS_DIAG") or root / "build" / "tool" / "flagos-diag")
    if not tool.is_file():
        raise FileNotFoundError(f"{tool} is not there; build it with ./start --version, or set FLAGOS_DIAG to its path")
    environment = {**os.environ, "FLAGOS_TARGET": "cpu"}
    done = subprocess.run([tool, "man"], env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"{tool} man: {done.stderr.strip() or f'exit status {done.returncode}'}")
    return to_markdown(done.stdout)
