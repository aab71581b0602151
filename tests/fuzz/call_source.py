"""A call, as data, and the Python source that makes it: the fuzzer runs that source, so that a reproducer is what ran.

A call is a dict that JSON can hold:
  op          "aten::add.Tensor"
  via         "ops" (torch.ops, arguments on a stack) or "python" (the Python binding, typed arguments)
  storages    [{device, dtype, numel, fill: {seed, low, high, special}, grad}]; device is flagos, cpu or meta
  tensors     [{storage, size, stride, offset, conj, neg, grad, zero}], views of the storages, in elements
  args        one value for each argument of the schema: null, a bool, number or string, or one of {"tensor": i},
              {"list": [...]}, {"dtype": name}, {"device": name}, {"layout": name}, {"memory_format": name},
              {"complex": [re, im]}, {"float": "nan"}, {"generator": seed}, {"omit": true}
  mode        "", "no_grad" or "inference"
  backward    whether the sum of the results that require grad is differentiated
"""

from __future__ import annotations

import inspect
from typing import Any

import torch

Call = dict[str, Any]


def noise(numel, dtype, seed, low=None, high=None, special=False):
    """Seeded data: normal for a floating dtype, else integers of low..high; special sprinkles what arithmetic treats apart."""
    generator = torch.Generator().manual_seed(seed)
    if dtype.is_floating_point or dtype.is_complex:
        wide = torch.complex64 if dtype.is_complex else torch.float32
        data = torch.randn(numel, dtype=wide, generator=generator).to(dtype)
        if special:
            values = [float("nan"), float("inf"), -float("inf"), -0.0, 0.0, 1e-40, 65504.0]
            for at in range(0, numel, 3):
                data[at] = values[(at // 3 + seed) % len(values)]
        return data
    low, high = (0, 1) if dtype == torch.bool else (-4 if low is None else low, 4 if high is None else high)
    return torch.randint(low, max(high, low) + 1, (numel,), generator=generator).to(dtype)


def schema_of(op: str) -> Any:
    """The schema of an overload by its full name."""
    return overload_of(op)._schema


def overload_of(op: str) -> Any:
    """The overload torch.ops has by that name; AttributeError when it has none."""
    name, _, overload = op.removeprefix("aten::").partition(".")
    return getattr(getattr(torch.ops.aten, name), overload or "default")


def python_binding(op: str) -> str | None:
    """The binding that takes the same arguments by name, as Python source; None where there is none."""
    name = op.removeprefix("aten::").partition(".")[0]
    for path in ("torch._C._VariableFunctions", "torch._C._nn", "torch._C._special", "torch._C._linalg", "torch._C._fft"):
        module = getattr(torch._C, path.rpartition(".")[2])
        if hasattr(module, name):
            return f"{path}.{name}"
    return None


def value_source(value: Any) -> str:
    """Python source of an argument; tensors are t[i]."""
    if not isinstance(value, dict):
        return repr(value)
    (kind, inner), *_ = value.items()
    if kind == "tensor":
        return f"t[{inner}]"
    if kind == "list":
        return _list_source(inner)
    if kind == "device":
        return "device" if inner == "flagos" else f'torch.device("{inner}")'
    if kind == "complex":
        return f"complex({float(inner[0])!r}, {float(inner[1])!r})".replace("nan", 'float("nan")')
    if kind == "generator":
        return f"torch.Generator(device).manual_seed({inner})"
    if kind == "float":
        return f'float("{inner}")'
    return f"torch.{inner}"  # dtype, layout, memory_format


def _list_source(items: list) -> str:
    """Runs of the same element are written once: lists have up to 300."""
    parts, at = [], 0
    while at < len(items):
        end = at
        while end < len(items) and items[end] == items[at]:
            end += 1
        one = value_source(items[at])
        parts.append(f"[{one}] * {end - at}" if end - at > 1 else f"[{one}]")
        at = end
    return " + ".join(parts) if parts and any("*" in p for p in parts) else f"[{', '.join(value_source(i) for i in items)}]"


def _storage_source(number: int, storage: dict) -> list[str]:
    fill = ", ".join(f"{key}={value!r}" for key, value in storage["fill"].items())
    device = "device" if storage["device"] == "flagos" else f'"{storage["device"]}"'
    copy = ".clone()" if storage["device"] == "cpu" else f".to({device}, copy=True)"
    lines = [f"s{number} = noise({storage['numel']}, torch.{storage['dtype']}, {fill}){copy}"]
    if storage.get("grad"):
        lines.append(f"s{number} = s{number}.requires_grad_().clone()")
    return lines


def _tensor_source(call: Call, tensor: dict) -> str:
    number = tensor["storage"]
    if tensor.get("zero"):
        dtype = call["storages"][number]["dtype"]
        return f"torch._efficientzerotensor({tensor['size']}, dtype=torch.{dtype}, device=device)"
    text = f"s{number}.as_strided({tensor['size']}, {tensor['stride']}, {tensor['offset']})"
    text = f"{text}.conj()" if tensor.get("conj") else text
    text = f"torch._neg_view({text})" if tensor.get("neg") else text
    return f"{text}.detach().requires_grad_()" if tensor.get("grad") else text


def arguments_source(call: Call) -> str:
    """The arguments between the call's brackets."""
    parts = []
    binding = call["via"] == "python"
    for argument, value in zip(schema_of(call["op"]).arguments, call["args"]):
        if isinstance(value, dict) and "omit" in value:
            continue
        named = argument.kwarg_only or binding or len(parts) and "=" in parts[-1].partition("(")[0]
        name = "input" if binding and argument.name == "self" else argument.name
        parts.append(f"{name}={value_source(value)}" if named else value_source(value))
    return ", ".join(parts)


def source_of(call: Call) -> str:
    """Source of make(device) -> (storages, tensors) and of run(device, t) -> result."""
    made = [line for number, storage in enumerate(call["storages"]) for line in _storage_source(number, storage)]
    storages = "".join(f"s{number}, " for number in range(len(call["storages"])))
    tensors = [f"    t.append({_tensor_source(call, tensor)})" for tensor in call["tensors"]]
    name, _, overload = call["op"].removeprefix("aten::").partition(".")
    function = python_binding(call["op"]) if call["via"] == "python" else f"torch.ops.aten.{name}.{overload or 'default'}"
    return "\n".join([
        "def make(device):",
        *(f"    {line}" for line in made),
        "    t = []",
        *tensors,
        f"    return ({storages}), t",
        "",
        "def run(device, t):",
        f"    return {function}({arguments_source(call)})",
        "",
    ])


def reproducer(call: Call) -> str:
    """A program that makes the call on the target and on flagos, on and off, and prints what each gives."""
    mode = {"": "torch.enable_grad()", "no_grad": "torch.no_grad()", "inference": "torch.inference_mode()"}[call["mode"]]
    return "\n".join([
        "import torch, flagos", "", inspect.getsource(noise), source_of(call),
        "for device, on in ((flagos.target(), True), (\"flagos\", True), (\"flagos\", False)):",
        f"    with flagos.redispatch(on), {mode}:",
        "        torch.manual_seed(0)",
        "        storages, t = make(device)",
        "        try:",
        "            result = run(device, t)",
        *(["            r = result if isinstance(result, (list, tuple)) else [result]",
           "            sum((x.real if x.is_complex() else x).double().sum() for x in r if x.requires_grad).backward()"]
          if call["backward"] else []),
        "            print(device, on, result, t)",
        "        except Exception as error:",
        "            print(device, on, type(error).__name__, error)", ""])
