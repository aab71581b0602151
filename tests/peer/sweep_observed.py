"""What a call leaves, as values that compare: results, or the error; and the first difference of two, in words."""

from __future__ import annotations

import re
from typing import Any

import torch
from torch.utils._pytree import tree_flatten

import flagos
from sweep_copies import tensors

TARGET = flagos.target()
_PARTS = {
    torch.sparse_coo: ("_indices", "_values"),
    torch.sparse_csr: ("crow_indices", "col_indices", "values"),
    torch.sparse_bsr: ("crow_indices", "col_indices", "values"),
    torch.sparse_csc: ("ccol_indices", "row_indices", "values"),
    torch.sparse_bsc: ("ccol_indices", "row_indices", "values"),
}


def _content(tensor: torch.Tensor) -> bytes:
    """The elements' bytes in logical order, on the host."""
    host = tensor.resolve_conj().resolve_neg().cpu().contiguous()
    return host.reshape(-1).view(torch.uint8).numpy().tobytes() if host.numel() else b""


def _tensor(tensor: torch.Tensor, device: str) -> dict[str, Any]:
    seen: dict[str, Any] = {
        "place": "as called" if tensor.device.type == torch.device(device).type else tensor.device.type,
        "layout": str(tensor.layout), "dtype": str(tensor.dtype), "requires_grad": tensor.requires_grad,
    }
    tensor = tensor.detach()
    if tensor.is_nested:
        return seen | {f"component {i}": _tensor(t, device) for i, t in enumerate(tensor.unbind())}
    seen["shape"] = tuple(tensor.shape)
    if tensor.layout in _PARTS:
        coalesced = {"coalesced": tensor.is_coalesced()} if tensor.layout == torch.sparse_coo else {}
        return seen | coalesced | {name: _tensor(getattr(tensor, name)(), device) for name in _PARTS[tensor.layout]}
    if tensor.layout != torch.strided:  # mkldnn
        return seen | {"content": _content(tensor.to_dense())}
    if tensor.is_quantized:
        return seen | {"scheme": str(tensor.qscheme()), "content": _content(tensor.int_repr()),
                       "values": _content(tensor.dequantize())}
    seen |= {"strides": tensor.stride(), "offset": tensor.storage_offset(), "conj": tensor.is_conj(),
             "neg": tensor.is_neg(), "zero tensor": tensor._is_zerotensor()}
    return seen if tensor._is_zerotensor() else seen | {"content": _content(tensor)}


def observe(tree: Any, device: str) -> list[Any]:
    """All leaves of a tree; what is no tensor by its repr, which tells -0.0 and NaN."""
    leaves = tree_flatten(tree)[0]
    return [_tensor(leaf, device) if isinstance(leaf, torch.Tensor) else told(repr(leaf)) for leaf in leaves]


def storage_of(tensor: torch.Tensor) -> int:
    """The address of a strided tensor's memory, 0 for others."""
    if tensor.layout != torch.strided or tensor.is_nested or tensor._is_zerotensor():
        return 0
    return tensor.untyped_storage().data_ptr()


def shared(results: Any, arguments: Any) -> list[tuple[int, int, bool]]:
    """Pairs of a result and an argument that share memory, and whether they are one tensor."""
    given = list(enumerate(tensors(arguments)))
    return [(i, j, result is argument) for i, result in enumerate(tensors(results)) for j, argument in given
            if storage_of(result) and storage_of(result) == storage_of(argument)]


def told(text: str) -> str:
    """A text without what names a device or an address."""
    text = re.sub(rf"flagos(:0)?|privateuse1|PrivateUse1|{TARGET}:0", TARGET, text)
    text = text.replace(f", device='{TARGET}'", "")
    types = "FloatType|DoubleType|Bool|Complex|Half|BFloat|Int|Long|Byte|Char|Short"
    return re.sub(rf"\b{TARGET.upper()}(?=({types}))|0x[0-9a-f]+", "", text)


_NO_KERNEL = re.compile(
    r"Could not run '(?P<op>[\w:.]+)' with arguments from the '(?P<key>\w+)' backend\..*"
    rf"|{TARGET}: (?P<our_op>[\w:.]+) has no kernel for (?P<our_key>\w+), the target of .*", re.DOTALL)


def raised(error: BaseException) -> tuple[str, str, str]:
    """An error as an observation. That the target has no kernel flagos says in words of its own: op and key count."""
    text = told(str(error))
    refused = _NO_KERNEL.fullmatch(text)
    if refused:
        text = f"no kernel of {refused['op'] or refused['our_op']} for {refused['key'] or refused['our_key']}"
    return ("raised", type(error).__name__, text)


def difference(expected: Any, got: Any) -> str:
    """The first difference in words, "" when there is none."""
    if isinstance(expected, tuple) or isinstance(got, tuple):
        if expected == got:
            return ""
        left, right = (f"{x[1]}: {x[2][:300]}" if isinstance(x, tuple) else "a result" for x in (expected, got))
        return f"{left} | against | {right}"
    for part, values in expected.items():
        if values == got.get(part):
            continue
        if not isinstance(values, list) or len(values) != len(got[part]):
            return f"{part}: {values} against {got.get(part)}"[:300]
        for number, (left, right) in enumerate(zip(values, got[part])):
            if left != right:
                return f"{part} {number}: {_leaf_difference(left, right)}"
    return ""


def _leaf_difference(left: Any, right: Any) -> str:
    if not (isinstance(left, dict) and isinstance(right, dict)):
        return f"{left} against {right}"[:300]
    for field in [*left, *(f for f in right if f not in left)]:
        one, other = left.get(field), right.get(field)
        if one == other:
            continue
        if field == "content" and one is not None and other is not None:
            return f"content: {_apart(one, other, left['dtype'])}"
        if isinstance(one, dict):
            return f"{field}: {_leaf_difference(one, other)}"
        return f"{field} {one} against {other}"[:300]
    return ""


def _apart(left: bytes, right: bytes, dtype: str) -> str:
    kind = getattr(torch, dtype.removeprefix("torch."))
    try:
        pair = [torch.frombuffer(bytearray(each), dtype=kind).to(torch.complex128) for each in (left, right)]
        count = int((pair[0] != pair[1]).sum())
        return f"{count} of {pair[0].numel()}, up to {float((pair[0] - pair[1]).abs().nan_to_num().max()):.3g}"
    except (TypeError, ValueError, RuntimeError):
        return "bytes differ"
