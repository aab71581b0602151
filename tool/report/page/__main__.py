"""Writes the page of `flagos-diag report` to standard output.

Called as: python3 page [--] FILE...; the files are documents of flagos-diag. Needs plotly, for the plotly.js it brings.
"""
from __future__ import annotations

import sys

import assembly
from documents import DocumentError, read_documents


def main() -> int:
    arguments = sys.argv[2:] if sys.argv[1:2] == ["--"] else sys.argv[1:]
    if not arguments:
        print("usage: python3 page FILE... >report.html", file=sys.stderr)
        return 2
    try:
        page = assembly.page_of(read_documents(arguments))
    except DocumentError as error:
        print(error, file=sys.stderr)
        return 2
    sys.stdout.buffer.write(page.encode("utf-8", "replace"))
    return 0


if __name__ == "__main__":
    try:
        code = main()
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)
