"""Makes a call on one device and writes down all that a caller could tell of it."""

from __future__ import annotations

import contextlib
import re
import struct
from typing import Any

import torch

import flagos
from call_source import Call, source_of

TARGET = flagos.target()
_DEVICE = r"(?:flagos|privateuseone|privateuse1|cpu|cuda)"
# What names a device, a backend or an address in an error's text, and what stands in its place.
_ALIKE = [
    (re.compile(r"\n?Exception raised from.*", re.DOTALL), ""),
    (re.compile(r"/\S+\.(?:cpp|h):\d+: "), ""),  # where the same check stands
    (re.compile(r"Value: .*", re.DOTALL), ""),  # torch.ops prints the argument, hence its device
    (re.compile(rf"torch\.(?:{_DEVICE}\.)?(\w+)Tensor", re.IGNORECASE), r"\1Type"),
    (re.compile(rf"\b(Sparse|SparseCsr|Quantized|Autograd|NestedTensor)?{_DEVICE}(\w*Type)\b", re.IGNORECASE), r"\1\2"),
    (re.compile(rf"(Sparse|SparseCsr|Quantized|Autograd|NestedTensor){_DEVICE}\b", re.IGNORECASE), r"\1device"),
    (re.compile(rf"\b{_DEVICE}\b(:0)?", re.IGNORECASE), "device"),
    (re.compile(r"0x[0-9a-f]{6,}"), "0x"),
]
_NO_KERNEL = re.compile(r"Could not run '|has no kernel|no fallback")


def error_text(error: BaseException) -> str:
    """Type and text, with the names of devices and backends made alike."""
    text = str(error)
    if isinstance(error, NotImplementedError) and _NO_KERNEL.search(text):
        return "NotImplementedError: no kernel"
    for pattern, instead in _ALIKE:
        text = pattern.sub(instead, text)
    return f"{type(error).__name__}: {text}"


def storage_bytes(storage: torch.UntypedStorage) -> bytes:
    """What is in a storage of any device but meta."""
    if storage.nbytes() == 0 or storage.data_ptr() == 0:
        return b""
    return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage).cpu().numpy().tobytes()


def _plain(value: Any) -> Any:
    """A scalar so that equal means equal bits."""
    if isinstance(value, float):
        return struct.pack("<d", value)
    if isinstance(value, complex):
        return struct.pack("<dd", value.real, value.imag)
    return value.type if isinstance(value, torch.device) else value


class Observer:
    """Knows the storages and tensors a call was given, so that results can be told by what they share."""

    def __init__(self, storages: tuple, tensors: list[torch.Tensor], on: str) -> None:
        self.tensors = tensors
        self.on = on
        self.host = any(t.device.type == "cpu" for t in tensors)
        self.versions = [self.version(t) for t in tensors]
        self.names: dict[int, str] = {}
        self.kept: list[Any] = []
        for number, base in enumerate(storages):
            if base.device.type != "meta":
                self.name_of(base.untyped_storage(), f"s{number}")

    def name_of(self, storage: torch.UntypedStorage, name: str = "") -> str:
        """The same name for the same storage; in the order of results for those that the call made."""
        self.kept.append(storage)
        return self.names.setdefault(storage._cdata, name or f"new{len(self.names)}")

    @staticmethod
    def version(tensor: torch.Tensor) -> int:
        return -1 if tensor.is_inference() else tensor._version

    def device(self, tensor: torch.Tensor) -> str:
        """"device" for the one the call is made on. Given host tensors, the CPU as the target can't tell the two apart."""
        kind = tensor.device.type
        return "device" if kind == self.on or (self.host and kind == "cpu" == TARGET) else kind

    def tensor(self, tensor: torch.Tensor, before: int | None = None) -> dict:
        found = {
            "dtype": str(tensor.dtype), "size": tuple(tensor.shape), "layout": str(tensor.layout),
            "device": self.device(tensor),
            "conj": tensor.is_conj(), "neg": tensor.is_neg(), "requires_grad": tensor.requires_grad,
            "is_leaf": tensor.is_leaf, "grad_fn": type(tensor.grad_fn).__name__ if tensor.grad_fn is not None else None,
            "version": self.version(tensor) - (before or 0), "is_view": tensor._is_view(), "names": tensor.names,
            "inference": tensor.is_inference(), "zero": torch._C._dispatch_keys(tensor).has(torch._C.DispatchKey.ZeroTensor),
        }
        if tensor.layout == torch.strided:
            found.update(stride=tensor.stride(), offset=tensor.storage_offset())
        if tensor.device.type != "meta" and not found["zero"]:
            found.update(self.memory(tensor))
        return found

    def memory(self, tensor: torch.Tensor) -> dict:
        if tensor.layout != torch.strided:
            parts = sparse_parts(tensor.detach())
            return {"parts": [self.tensor(part) for part in parts]}
        storage = tensor.untyped_storage()
        host = tensor.detach()
        if tensor.dtype == torch.bool and tensor.is_neg():
            host = torch._neg_view(host)  # there is no negation of it to resolve
        with torch.no_grad():
            host = (host if tensor.is_quantized else host.resolve_conj().resolve_neg()).cpu()
            values = host.clone(memory_format=torch.contiguous_format).untyped_storage()
        return {"shares": self.name_of(storage), "nbytes": storage.nbytes(), "values": storage_bytes(values)}

    def tree(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            same = [i for i, t in enumerate(self.tensors) if t is value]
            return {"is": same[0]} if same else self.tensor(value)
        if isinstance(value, (list, tuple)):
            return [self.tree(each) for each in value]
        return _plain(value)


def sparse_parts(tensor: torch.Tensor) -> list[torch.Tensor]:
    """The dense tensors a sparse one is made of."""
    if tensor.layout == torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return [tensor.ccol_indices(), tensor.row_indices(), tensor.values()]
    return []


def differentiate(result: Any) -> None:
    """Backward of the sum of what requires grad."""
    flat = [t for t in torch.utils._pytree.tree_leaves(result) if isinstance(t, torch.Tensor) and t.requires_grad]
    if flat:
        sum((t.real if t.is_complex() else t).double().sum() for t in flat).backward()


def seed_generators() -> None:
    """torch.manual_seed() for the devices compared. It keeps a stack trace a call until CUDA is used, for every seed."""
    if TARGET == "cpu":
        torch.default_generator.manual_seed(0)
    else:
        torch.manual_seed(0)


MODES = {"": torch.enable_grad, "no_grad": torch.no_grad, "inference": torch.inference_mode}


def compiled(call: Call) -> dict[str, Any]:
    """The functions make and run of a call's source."""
    from call_source import noise

    scope: dict[str, Any] = {"torch": torch, "noise": noise}
    exec(compile(source_of(call), call["op"], "exec"), scope)  # noqa: S102: the fuzzer's own source
    return scope


def observe(call: Call, scope: dict[str, Any], on: str, fast: bool = True) -> dict:
    """What the call gives on device `on`. {"setup": text} when its arguments can't be made there."""
    # Process-wide too: autograd's threads follow that switch.
    flagos.set_redispatch_enabled(fast)
    try:
        try:
            storages, tensors = scope["make"](on)
        except Exception as error:  # noqa: BLE001: e.g. a negated view of integers
            return {"setup": error_text(error)}
        return _observed(call, scope, on, storages, tensors)
    finally:
        flagos.set_redispatch_enabled(True)


def _observed(call: Call, scope: dict[str, Any], on: str, storages: tuple, tensors: list) -> dict:
    watch, found = Observer(storages, tensors, on), {}
    seed_generators()
    result = None
    with contextlib.ExitStack() as stack:
        stack.enter_context(MODES[call["mode"]]())
        try:
            result = scope["run"](on, tensors)
            found["result"] = watch.tree(result)
        except Exception as error:  # noqa: BLE001: what it raises is what it gives
            found["error"] = error_text(error)
    found["arguments"] = [watch.tensor(t, before) for t, before in zip(tensors, watch.versions)]
    found["memory"] = [storage_bytes(base.untyped_storage()) if base.device.type != "meta" else b"" for base in storages]
    if call["backward"] and "error" not in found:
        try:
            differentiate(result)
            found["grads"] = [None if not t.is_leaf or t.grad is None else watch.tensor(t.grad) for t in tensors]
        except Exception as error:  # noqa: BLE001
            found["backward_error"] = error_text(error)
    return found
