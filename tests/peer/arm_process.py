"""One arm of a comparison, on flagos or on the target, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def run_arm(script: str, device: str, **variables: str) -> dict[str, Any]:
    """What `script`, beside this file, prints for `device` as the JSON of its last line. RuntimeError if it fails."""
    done = subprocess.run([sys.executable, str(Path(__file__).with_name(script)), device],
                          env={**os.environ, **variables}, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{script} {device} {variables}:\n{done.stderr[-4000:]}")
    return json.loads(done.stdout.splitlines()[-1])
