"""Why a call took the fast path, or did not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, overload

import torch

from flagos._library import library
from flagos._stats import OpCounts, thread_stats
from flagos._tool import results


@dataclass(frozen=True)
class Verdict:
    """How an operator is carried out in one situation."""

    op: str
    situation: str  # one of flagos-diag check-op: "plain", "conj", ...; "call" for a call that was made
    verdict: str  # "fast", "full", "view", "composite", "fallback", "error", "n/a" or "unknown"
    reason: str | None = None  # of a "full" or "fallback": "FP-CONJ" and so on
    help: str | None = None  # what the reason means and what can be done
    counts: dict[str, OpCounts] = field(default_factory=dict)  # of a call that was made: every operator that ran

    def __str__(self) -> str:
        words = [f"{self.op} ({self.situation}): {self.verdict}", self.reason, self.help and f"- {self.help}"]
        return " ".join(word for word in words if word)


def _reason_help(code: str | None) -> str | None:
    found: bytes | None = library().flagos_reason_help(code.encode()) if code else None
    return found.decode() if found else None


def _by_name(op: str) -> list[Verdict]:
    return [
        Verdict(
            row["op"], row["situation"], row["verdict"], row["reason"], _reason_help(row["reason"]) or row.get("note")
        )
        for row in results("check-op", op)
    ]


def _operator(name: str) -> Any:
    """torch.ops.aten.add.Tensor for "add.Tensor" or "aten::add.Tensor"."""
    namespace, _, rest = name.rpartition("::")
    packet, _, overload_name = rest.partition(".")
    found = getattr(getattr(torch.ops, namespace or "aten"), packet, None)
    if found is None or (overload_name and overload_name not in found.overloads()):
        raise ValueError(f"flagos.explain: there is no operator {name!r}. flagos-diag list names those there are.")
    return getattr(found, overload_name) if overload_name else found


def _full_name(op: Any) -> str | None:
    """ "aten::add.Tensor" of an overload; None of anything else that can be called."""
    if not isinstance(op, torch._ops.OpOverload):
        return None
    overload_name = op._schema.overload_name
    return f"{op._schema.name}.{overload_name}" if overload_name else str(op._schema.name)


def _verdict(counts: OpCounts, op: str) -> tuple[str, str | None]:
    if counts.refused:
        reason = max(counts.refused, key=lambda code: counts.refused[code])
        return ("fallback" if reason == "FP-NOKERNEL" else "full"), reason
    if counts.hits:
        return "fast", None
    kind: bytes = library().flagos_kernel_kind(op.encode())
    return kind.decode(), None


def _of_call(op: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]) -> Verdict:
    before = thread_stats()
    op(*arguments, **options)
    counted = {name: after.since(before.get(name, OpCounts())) for name, after in thread_stats().items()}
    counts = {name: each for name, each in counted.items() if each.calls}
    name = _full_name(op)
    shown = name or str(getattr(op, "__name__", op))
    if not counts:
        return Verdict(shown, "call", "n/a", None, "No flagos kernel ran. Is one of the tensors on flagos?")
    if name is not None and name not in counts:
        return Verdict(shown, "call", "composite", None, "PyTorch made it of the operators in `counts`.", counts)
    # A function's verdict is that of the operator in it which was refused most often.
    decisive = name or max(counts, key=lambda each: sum(counts[each].refused.values()))
    verdict, reason = _verdict(counts[decisive], decisive)
    return Verdict(shown, "call", verdict, reason, _reason_help(reason), counts)


@overload
def explain(op: str, /) -> list[Verdict]: ...


@overload
def explain(op: str, argument: Any, /, *arguments: Any, **options: Any) -> Verdict: ...


@overload
def explain(op: Callable[..., Any], /, *arguments: Any, **options: Any) -> Verdict: ...


def explain(op: str | Callable[..., Any], /, *arguments: Any, **options: Any) -> Verdict | list[Verdict]:
    """Says whether an operator takes the redispatch fast path, and why not.

    An operator's name alone, "add.Tensor", gives what `flagos-diag check-op` finds, a verdict for each situation. With
    arguments the operator is called with them, on this thread, and the verdict is of that call: `op` is then a name or
    anything that can be called (torch.add, a module). What the call raises is raised.

    A call is judged where it reaches a flagos kernel: a lazily conjugated argument, for instance, has been materialised
    by then, which shows as another operator in `counts`.
    """
    if isinstance(op, str):
        if not arguments and not options:
            return _by_name(op)
        return _of_call(_operator(op), arguments, options)
    return _of_call(op, arguments, options)
