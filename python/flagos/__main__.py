"""python -m flagos doctor: checks the installation. Any other command is flagos-diag's."""

from __future__ import annotations

import os
import sys

import flagos
from flagos._tool import find_tool, tool_environment

_USAGE = """usage: python -m flagos doctor | COMMAND [ARGS]

  doctor    is this installation in order?
  COMMAND   any of flagos-diag's, where there is one: check-op, verify, stats, explain, routes, ...
"""


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_USAGE, end="")
        return 0
    if flagos._torch_error is not None:
        if arguments[0] == "doctor":
            print(f"FAIL torch      {flagos._torch_error}\n     tool       {find_tool() or 'was not found'}")
        else:
            print(flagos._torch_error, file=sys.stderr)
        return 2
    if arguments[0] == "doctor":
        from flagos._doctor import doctor

        return doctor(arguments[1:])
    tool = find_tool()
    if tool is None:
        print(
            f"flagos: {arguments[0]} is a command of flagos-diag, which was not found. Build it with ./start in the "
            "source tree, and put build/tool on PATH.",
            file=sys.stderr,
        )
        return 2
    os.execve(tool, [tool, *arguments], tool_environment(tool))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
