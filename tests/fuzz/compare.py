"""Runs a call on the target, twice, and on flagos, on and off, and says what differs."""

from __future__ import annotations

import ctypes
from typing import Any, Callable

from call_source import Call
from known import reason_of
from observe import TARGET, compiled, observe

ARMS = ("target", "target again", "on", "off")
_M_PERTURB = -6  # malloc.h: fills memory as it is handed out, so that a kernel that reads it uninitialised shows
_LIBC = ctypes.CDLL(None)


def flattened(value: Any, path: tuple = ()) -> dict[tuple, Any]:
    """An observation as path -> leaf."""
    if isinstance(value, dict):
        items = [(path + (key,), each) for key, each in value.items()]
    elif isinstance(value, list):
        items = [(path + (at,), each) for at, each in enumerate(value)] + [(path + ("length",), len(value))]
    else:
        return {path: value}
    found: dict[tuple, Any] = {}
    for key, each in items:
        found.update(flattened(each, key) if isinstance(each, (dict, list)) else {key: each})
    return found


def differences(one: dict, other: dict) -> dict[tuple, tuple]:
    """Paths at which two flattened observations differ, with both values."""
    return {path: (one.get(path, "absent"), other.get(path, "absent"))
            for path in {**one, **other} if one.get(path, "absent") != other.get(path, "absent")}


def kind_of(found: dict[tuple, tuple]) -> str:
    """What differs, in a word or two; the most telling where several do."""
    names = {path[-1] if isinstance(path[-1], str) else path[0] for path in found}
    names |= {path[0] for path in found if path[0] in ("error", "setup", "backward_error", "memory")}
    for name in ("error", "backward_error", "setup", "device", "dtype", "length", "size", "stride", "is", "shares", "version",
                 "grad_fn", "requires_grad", "values", "memory"):
        if name in names:
            return name
    return sorted(map(str, names))[0]


def _short(value: Any) -> str:
    text = value.hex() if isinstance(value, bytes) else str(value)
    return text if len(text) <= 300 else f"{text[:300]}... ({len(text)})"


def mixes_as_only_the_cpu_may(call: Call) -> bool:
    """Whether the CPU as the target sees no mixture where there is one.

    Tensors of the host with dimensions are its own, and its kernels don't look for meta tensors.
    """
    kinds = [(call["storages"][t["storage"]]["device"], bool(t["size"])) for t in call["tensors"]]
    return TARGET == "cpu" and (("cpu", True) in kinds or {"meta", "flagos"} <= {kind for kind, _ in kinds})


def judged(call: Call, enter: Callable[[int], None] = lambda arm: None) -> dict:
    """{outcome: same | known | finding | error, kind, detail}; `enter` is told of each arm before it runs."""
    scope, seen = compiled(call), []
    for number, (device, fast) in enumerate(((TARGET, True), (TARGET, True), ("flagos", True), ("flagos", False))):
        enter(number)
        _LIBC.mallopt(_M_PERTURB, 0x55 if number == 1 else 0xAA)
        try:
            seen.append(flattened(observe(call, scope, device, fast)))
        finally:
            _LIBC.mallopt(_M_PERTURB, 0)
    enter(len(ARMS))
    target, again, on, off = seen
    unsteady = set(differences(target, again))
    arms = [("off against on", on, off)]
    if not mixes_as_only_the_cpu_may(call):
        arms.insert(0, (f"on against {TARGET}", target, on))
    for name, expected, got in arms:
        found = {p: v for p, v in differences(expected, got).items() if p not in unsteady}
        if found:
            kind = kind_of(found)
            first = next((p for p in found if kind in p), next(iter(found)))
            detail = f"{name}: {'.'.join(map(str, first))}: {_short(found[first][0])} | {_short(found[first][1])}"
            reason = reason_of(call, kind, detail)
            return {"outcome": "known" if reason else "finding", "kind": kind, "detail": detail, "reason": reason}
    return {"outcome": "error" if ("error",) in target or ("setup",) in target else "same", "kind": "", "detail": ""}
