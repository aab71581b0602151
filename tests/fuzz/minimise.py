"""Makes a finding small: fewer mutations, then a simpler call, as long as the same difference shows."""

from __future__ import annotations

import copy
from typing import Callable

from call_source import Call
from child import Child
from mutations import mutated


def signature(answer: dict) -> tuple:
    """What has to stay for two answers to be the same finding."""
    return (answer["outcome"], answer["kind"], answer.get("arm"))


def fewer_mutations(child: Child, call: Call, chosen: list, wanted: tuple) -> list:
    """Drops mutations one by one."""
    at = 0
    while at < len(chosen):
        trial = chosen[:at] + chosen[at + 1:]
        if signature(child.judge(mutated(call, trial))) == wanted:
            chosen = trial
        else:
            at += 1
    return chosen


def _simpler(call: Call) -> list[Callable[[Call], None]]:
    """Steps that leave out one thing each."""
    steps: list[Callable[[Call], None]] = [
        lambda c: c.update(mode=""), lambda c: c.update(backward=False), lambda c: c.update(via="ops")]
    for i, tensor in enumerate(call["tensors"]):
        for key in ("conj", "neg", "grad", "zero"):
            if tensor.get(key):
                steps.append(lambda c, i=i, key=key: c["tensors"][i].pop(key))
        if tensor["offset"]:
            steps.append(lambda c, i=i: c["tensors"][i].update(offset=0))
    for i, storage in enumerate(call["storages"]):
        if storage.get("grad"):
            steps.append(lambda c, i=i: c["storages"][i].pop("grad"))
        if storage["fill"].get("special"):
            steps.append(lambda c, i=i: c["storages"][i]["fill"].pop("special"))
    for i, value in enumerate(call["args"]):
        if isinstance(value, dict) and len(value.get("list", [])) > 1:
            steps.append(lambda c, i=i: c["args"][i].update(list=c["args"][i]["list"][:1]))
    return steps


def without_unused(call: Call) -> Call:
    """The call without the tensors and storages that no argument names."""
    call, tensors, storages = copy.deepcopy(call), [], []

    def renumbered(value: object) -> object:
        if isinstance(value, dict) and "tensor" in value:
            tensor = call["tensors"][value["tensor"]]
            if not any(tensor is t for t in tensors):
                tensors.append(tensor)
            return {"tensor": next(i for i, t in enumerate(tensors) if t is tensor)}
        return {"list": [renumbered(v) for v in value["list"]]} if isinstance(value, dict) and "list" in value else value

    call["args"] = [renumbered(value) for value in call["args"]]
    for tensor in tensors:
        if tensor["storage"] not in storages:
            storages.append(tensor["storage"])
        tensor["storage"] = storages.index(tensor["storage"])
    return {**call, "tensors": tensors, "storages": [call["storages"][i] for i in storages]}


def simplified(child: Child, call: Call, wanted: tuple) -> Call:
    """Leaves out what the difference does not need."""
    for step in [*_simpler(call), None]:
        trial = without_unused(call) if step is None else copy.deepcopy(call)
        if step is not None:
            step(trial)
        if trial != call and signature(child.judge(trial)) == wanted:
            call = trial
    return call
