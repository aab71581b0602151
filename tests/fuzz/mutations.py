"""Changes of a call, each small and drawn from a generator of its own, so that a finding can be had with fewer of them."""

from __future__ import annotations

import copy
import random
from typing import Any, Callable

from call_source import Call, python_binding, schema_of
from seeds import contiguous_strides, extent

FLOATING = ("float32", "float64", "float16", "bfloat16", "complex64", "complex128")
ALL_DTYPES = (*FLOATING, "int64", "int32", "int16", "int8", "uint8", "bool")
MOST_ELEMENTS = 1 << 16


def _arguments(call: Call, word: str) -> list[int]:
    """Positions of the arguments whose type has the word in it."""
    arguments = schema_of(call["op"]).arguments
    return [i for i, a in enumerate(arguments) if word in str(a.type) and "Device" not in str(a.type)]


def _pick(call: Call, rng: random.Random) -> dict | None:
    return rng.choice(call["tensors"]) if call["tensors"] else None


def _fit(call: Call, tensor: dict) -> None:
    """Grows the storage until the view lies in it."""
    storage = call["storages"][tensor["storage"]]
    storage["numel"] = max(storage["numel"], extent(tensor["size"], tensor["stride"], tensor["offset"]))


def _own_storage(call: Call, tensor: dict, **changes: Any) -> None:
    """A storage of its own for a tensor."""
    storage = {**copy.deepcopy(call["storages"][tensor["storage"]]), **changes}
    call["storages"].append(storage)
    tensor["storage"] = len(call["storages"]) - 1


def _resize(call: Call, rng: random.Random) -> None:
    """One size, wherever it stands, becomes another: shapes stay compatible."""
    sizes = sorted({n for t in call["tensors"] for n in t["size"]})
    if not sizes:
        return
    old, new = rng.choice(sizes), rng.choice([0, 1, 2, 3, 5, 7, 16, 33])
    for tensor in call["tensors"]:
        if old in tensor["size"]:
            tensor["size"] = [new if n == old else n for n in tensor["size"]]
            tensor["stride"] = contiguous_strides(tensor["size"])
            _fit(call, tensor)


def _one_size(call: Call, rng: random.Random) -> None:
    tensor = _pick(call, rng)
    if tensor and tensor["size"]:
        tensor["size"][rng.randrange(len(tensor["size"]))] = rng.choice([0, 1, 2, 4])
        tensor["stride"] = contiguous_strides(tensor["size"])
        _fit(call, tensor)


def _shape(call: Call, rng: random.Random) -> None:
    tensor = _pick(call, rng)
    if tensor:
        tensor["size"] = rng.choice([[], [0], [1], [0, 3], [1, 1, 1, 1, 1, 1], [2, 0, 2], [5]])
        tensor["stride"] = contiguous_strides(tensor["size"])
        _fit(call, tensor)


def _strides(call: Call, rng: random.Random) -> None:
    """The same shape laid out otherwise: permuted, with gaps, expanded, overlapping."""
    tensor = _pick(call, rng)
    if not tensor or not tensor["size"]:
        return
    kind, size = rng.choice(["permuted", "permuted", "gaps", "expanded", "overlapping"]), tensor["size"]
    if kind == "permuted":
        order = rng.sample(range(len(size)), len(size))
        laid_out = contiguous_strides([size[i] for i in order])
        tensor["stride"] = [laid_out[order.index(i)] for i in range(len(size))]
    elif kind == "gaps":
        tensor["stride"] = [2 * s + 1 for s in tensor["stride"]]
    elif kind == "expanded":
        tensor["stride"][rng.randrange(len(size))] = 0
    else:
        tensor["stride"] = [1] * len(size)
    _fit(call, tensor)


def _offset(call: Call, rng: random.Random) -> None:
    tensor = _pick(call, rng)
    if tensor:
        tensor["offset"] += rng.choice([1, 2, 3, 16])
        _fit(call, tensor)


def _dtype(call: Call, rng: random.Random) -> None:
    if not call["tensors"]:
        return
    new, tensor = rng.choice(ALL_DTYPES), rng.choice(call["tensors"])
    old = call["storages"][tensor["storage"]]["dtype"]
    if rng.random() < 0.5:
        return _own_storage(call, tensor, dtype=new)
    for storage in call["storages"]:
        storage["dtype"] = new if storage["dtype"] == old else storage["dtype"]
    return None


def _host_scalar(call: Call, rng: random.Random) -> None:
    """A tensor of the host without dimensions, which may stand among a device's."""
    tensor = _pick(call, rng)
    if tensor:
        tensor.update(size=[], stride=[], offset=0)
        _own_storage(call, tensor, device="cpu", numel=1, grad=False)


def _other_device(call: Call, rng: random.Random) -> None:
    tensor = _pick(call, rng)
    if tensor:
        _own_storage(call, tensor, device=rng.choice(["meta", "meta", "cpu"]))


def _none(call: Call, rng: random.Random) -> None:
    """None for an optional argument; for a tensor that is not optional, an undefined one."""
    found = _arguments(call, "Optional") or _arguments(call, "Tensor") if rng.random() < 0.8 else _arguments(call, "Tensor")
    if found:
        at = rng.choice(found)
        value = call["args"][at]
        if isinstance(value, dict) and value.get("list") and "Tensor" in str(schema_of(call["op"]).arguments[at].type):
            value["list"][rng.randrange(len(value["list"]))] = None
        else:
            call["args"][at] = None


def _list_length(call: Call, rng: random.Random) -> None:
    """0 to 300 tensors; all the same, or each one's own."""
    lists = [i for i in _arguments(call, "List[") if isinstance(call["args"][i], dict) and call["args"][i].get("list")]
    if not lists:
        return
    length, own = rng.choice([0, 1, 2, 3, 5, 9, 17, 70, 300]), rng.random() < 0.5
    same = rng.random() < 0.8
    for at in lists if same else [rng.choice(lists)]:
        old = call["args"][at]["list"]
        new = [old[i % len(old)] for i in range(length)]
        if own and length <= 70:
            new = [_copied(call, v) if i >= len(old) else v for i, v in enumerate(new)]
        call["args"][at] = {"list": new}


def _copied(call: Call, value: Any) -> Any:
    if not isinstance(value, dict) or "tensor" not in value:
        return value
    call["tensors"].append(copy.deepcopy(call["tensors"][value["tensor"]]))
    _own_storage(call, call["tensors"][-1])
    return {"tensor": len(call["tensors"]) - 1}


def _places(call: Call) -> list[tuple[Any, Any]]:
    """Where a tensor stands: (container, key)."""
    places: list[tuple[Any, Any]] = []
    for i, value in enumerate(call["args"]):
        if isinstance(value, dict) and "tensor" in value:
            places.append((call["args"], i))
        elif isinstance(value, dict) and "list" in value:
            places += [(value["list"], k) for k, v in enumerate(value["list"]) if isinstance(v, dict) and "tensor" in v]
    return places


def _same(call: Call, rng: random.Random) -> None:
    """The same tensor twice."""
    places = _places(call)
    if len(places) > 1:
        (a, i), (b, k) = rng.sample(places, 2)
        a[i] = copy.deepcopy(b[k])


def _overlap(call: Call, rng: random.Random) -> None:
    """A tensor on the memory of another: the same, or shifted."""
    if len(call["tensors"]) < 2:
        return
    one, other = rng.sample(call["tensors"], 2)
    one["storage"] = other["storage"]
    one["offset"] = other["offset"] + rng.choice([0, 0, 1, 2])
    _fit(call, one)


def _math_bit(call: Call, rng: random.Random) -> None:
    """A lazily conjugated or negated view."""
    tensor = _pick(call, rng)
    if not tensor:
        return
    dtype = call["storages"][tensor["storage"]]["dtype"]
    bit = rng.choice(["conj", "neg"]) if dtype.startswith("complex") else "neg"
    tensor[bit] = not tensor.get(bit)


def _grad(call: Call, rng: random.Random) -> None:
    """Leaves and results of differentiable calls; sometimes their gradients."""
    for tensor in call["tensors"]:
        storage = call["storages"][tensor["storage"]]
        if storage["dtype"] in FLOATING and rng.random() < 0.7:
            storage["grad" if rng.random() < 0.3 else "_"] = True
            tensor["grad"] = not storage.pop("_", False) is False
    call["backward"] = rng.random() < 0.7


def _number(call: Call, rng: random.Random) -> None:
    """Another number, also far out of range."""
    def other(value: Any) -> Any:
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            return rng.choice([-2, -1, 0, 1, 2, 3, 5, 64, 2**31, 2**63 - 1, -2**63])
        if isinstance(value, float) or isinstance(value, dict) and "float" in value:
            return rng.choice([0.0, -0.0, 1.0, -1.5, {"float": "nan"}, {"float": "inf"}, 1e-30])
        if isinstance(value, dict) and "dtype" in value:
            return {"dtype": rng.choice(ALL_DTYPES)}
        return value

    at = rng.randrange(len(call["args"])) if call["args"] else None
    if at is None:
        return
    value = call["args"][at]
    if isinstance(value, dict) and value.get("list"):
        k = rng.randrange(len(value["list"]))
        value["list"][k] = other(value["list"][k])
    else:
        call["args"][at] = other(value)


def _out(call: Call, rng: random.Random) -> None:
    """What a call writes to: of another shape, empty, or an input."""
    arguments = schema_of(call["op"]).arguments
    written = [i for i, a in enumerate(arguments) if a.alias_info is not None and a.alias_info.is_write]
    written = [i for i in written if isinstance(call["args"][i], dict) and "tensor" in call["args"][i]]
    if not written:
        return
    at = rng.choice(written)
    if rng.random() < 0.4 and call["tensors"]:
        call["args"][at] = {"tensor": rng.randrange(len(call["tensors"]))}
        return
    call["args"][at] = _copied(call, call["args"][at])
    tensor = call["tensors"][-1]
    tensor["size"] = rng.choice([[0], [1], [2, 3], [], [4, 1, 5], tensor["size"][::-1]])
    tensor["stride"] = contiguous_strides(tensor["size"])
    _fit(call, tensor)


def _special_data(call: Call, rng: random.Random) -> None:
    for storage in call["storages"]:
        storage["fill"] = {**storage["fill"], "special": True}


def _zero_tensor(call: Call, rng: random.Random) -> None:
    tensor = _pick(call, rng)
    if tensor:
        tensor["zero"] = True


def _generator(call: Call, rng: random.Random) -> None:
    for at in _arguments(call, "Generator"):
        call["args"][at] = {"generator": rng.randrange(9)}


def _binding(call: Call, rng: random.Random) -> None:
    """The Python binding, whose arguments are typed all the way; dtypes as numbers are torch.ops' alone."""
    if python_binding(call["op"]) is not None:
        call["via"] = "python"


def _mode(call: Call, rng: random.Random) -> None:
    call["mode"] = rng.choice(["no_grad", "inference"])


MUTATIONS: dict[str, Callable[[Call, random.Random], None]] = {
    f.__name__.lstrip("_"): f for f in (
        _resize, _one_size, _shape, _strides, _offset, _dtype, _host_scalar, _other_device, _none, _list_length, _same,
        _overlap, _math_bit, _grad, _number, _out, _special_data, _zero_tensor, _generator, _binding, _mode)
}
# Seldom, since they mostly end in an error, or meet few arguments.
WEIGHTS = {"other_device": 0.4, "zero_tensor": 0.3, "generator": 0.3, "grad": 2.0, "binding": 2.0, "strides": 2.0, "dtype": 1.5}


def drawn(rng: random.Random) -> list[tuple[str, int]]:
    """Names and seeds of the mutations of one call."""
    names = list(MUTATIONS)
    chosen = rng.choices(names, [WEIGHTS.get(name, 1.0) for name in names], k=rng.choice([0, 1, 1, 2, 2, 3, 4]))
    return [(name, rng.randrange(1 << 30)) for name in chosen]


def mutated(call: Call, chosen: list[tuple[str, int]]) -> Call:
    """The call with the mutations applied in order; `call` stays as it is."""
    call = copy.deepcopy(call)
    for name, seed in chosen:
        MUTATIONS[name](call, random.Random(seed))
    return call


def is_small(call: Call) -> bool:
    """Whether the call's memory is worth the time to compare it."""
    return sum(storage["numel"] for storage in call["storages"]) <= MOST_ELEMENTS
