"""Differences that are inherent, each with its reason. What can be fixed does not belong here."""

from __future__ import annotations

import fnmatch
import json
import re
from typing import Any

import torch

_NAMES_DEVICES = r"same device|to have device|different devices|expected device|cross-device|cpu tensor|CPU tensor|device mismatch|on device|type .* should be the same"

# "composite ..." stands for operators whose insides are dispatched one by one.
# (operator without aten::, kind of difference, pattern in the detail, reason)
KNOWN: list[tuple[str, str, str, str]] = [
    ("*", "grad_fn", r"\| CppFunction$", "run on the target above autograd (lib/ops/as_target.cpp), so the node is ours"),
    ("composite *out*", "version", "", "resize_output() skips the dispatcher for a tensor that is_cpu(), so that no version counts; CUDA does as flagos"),
    ("composite *out*", "error", "cannot resize variables that require grad", "as for version counters: resize_ is called through autograd"),
    ("_foreach_*out", "version", "", "as for composites; seen where a list mixes devices, which is an error after the resize"),
    ("*", "backward_error", "is at version", "as for version counters"),
    *((recurrent, "version", r"grads\.", "the terms of a gradient are added inside the one node, not in the gradient itself")
      for recurrent in ("lstm.*", "gru.*", "rnn_tanh.*", "rnn_relu.*", "*_cell", "rms_norm")),
    ("instance_norm", "is_view", "", "run on the target above autograd; the result is of a node of ours, no view"),
    ("_to_cpu", "device", "", "moves to the CPU, which as the target can not be told from the device"),
    ("_shape_as_tensor", "device", "", "makes its result on the CPU, for CUDA too"),
    ("_rowwise_prune", "device", "", "the CPU's code without a device check; makes results on the CPU"),
    ("choose_qparams_optimized", "device", "", "the CPU's code without a device check; makes results on the CPU"),
    ("fbgemm_*", "device", "", "the CPU's code without a device check; makes results on the CPU"),
    ("*pin*memory*", "error", "", "what may be pinned is the CPU's memory; a device's can't be"),
    ("*", "error", "cannot pin", "what may be pinned is the CPU's memory; a device's can't be"),
    ("tensor_split.tensor_indices_or_sections", "error", "to be on device", "the indices must be on the CPU; CUDA does as flagos"),
    ("one_hot", "error", "non-negative", "asked of the CPU only; other devices leave it to scatter's own check"),
    ("block_diag", "shares", r"grads\.", "the gradient of a host scalar is on the host, a copy; on the CPU as the target a view"),
    ("_pa*_pa*_sequence*", "error", "'lengths' argument", "lengths must be on the CPU; CUDA does as flagos"),
    ("*mkldnn*", "*", "", "MKL-DNN tensors are the CPU's"),
    ("quantized_*_cell", "error", "matmul is not supported with quantized", "fused cells first, as for CUDA, which says the same"),
    ("unbind_copy.int_out", "error", "don't support automatic differentiation",
     "asked below autograd, where a tensor shown to the target has no gradient; nothing is recorded on either side"),
    ("special_*_polynomial_*", "values", "", "the target's own: returns a variable it never set where the input is NaN"),
    ("native_group_norm", "values", "", "the CPU's kernel reads weights as memory, whatever their strides; flagos fills it"),
    ("_scaled_dot_product_fused_attention_overrideable*", "error", "not implemented|no kernel|IndexError",
     "PyTorch's place for a device's own kernel, where flagos has one and the CPU has not"),
    ("_thnn_fused_*_cell*", "error", "no kernel", "flagos has the cells that the CPU lacks, for its recurrent layers"),
    ("*quantile*", "error", "q values must be in the range", "asked of the CPU only, where q is read without waiting"),
]
# With the CPU as the target, where a host tensor is one of its own.
KNOWN_OF_HOST_SCALARS = "a host tensor among a device's, as CUDA refuses it too; the CPU as the target can't tell them apart"


def has_foreign_tensors(call: dict[str, Any]) -> bool:
    """Whether tensors of another device than the call's are among the arguments."""
    return any(call["storages"][t["storage"]]["device"] != "flagos" for t in call["tensors"])


def is_without_device(call: dict[str, Any]) -> bool:
    """Whether it is a factory's call that says nowhere where the result should be: out=None is the overload without out."""
    names_device = '{"device": "flagos"}' in json.dumps(call["args"])
    has_out = call["op"].endswith("out") and call["args"][-1] is not None
    return not names_device and not has_out and (call["op"].endswith("out") or not call["tensors"])


def is_composite(name: str) -> bool:
    """Whether autograd sees what the operator calls, and not the operator."""
    def has(key: str) -> bool:
        return torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", key)
    return has("CompositeImplicitAutograd") or (has("CompositeExplicitAutograd") and not has("Autograd"))


def concerns(pattern: str, name: str) -> bool:
    """Whether an entry's first field means the operator."""
    composites = pattern.removeprefix("composite ")
    return fnmatch.fnmatchcase(name, composites) and (composites == pattern or is_composite(name))


def reason_of(call: dict[str, Any], kind: str, detail: str) -> str:
    """Why this difference is expected; "" when it isn't."""
    name = call["op"].removeprefix("aten::")
    for operator, known_kind, pattern, reason in KNOWN:
        if concerns(operator, name) and known_kind in ("*", kind) and re.search(pattern, detail):
            return reason
    if detail.startswith("on against cpu"):
        if has_foreign_tensors(call) and (kind == "device" or kind.endswith("error") and re.search(_NAMES_DEVICES, detail)):
            return KNOWN_OF_HOST_SCALARS
        if kind == "device" and is_without_device(call):
            return "no device is named, so that the CPU is meant"
    return ""
