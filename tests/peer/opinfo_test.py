"""PyTorch's own OpInfo samples on flagos against the target: values, and gradients where one process allows it.

opinfo_test.py [--samples N] [--only NAME ...] [--need N]: TAP on stdout, one case an entry of op_db. A case passes when
flagos gives the target's result bit for bit (dtype, shape, bytes), or both raise. Which target: FLAGOS_TARGET. With the
CUDA target only forward runs: a native CUDA backward next to any PrivateUse1 backend fails in the autograd engine
(pytorch issue 161129).
"""

from __future__ import annotations

import argparse
import sys
import warnings
from typing import Any, Iterator

import torch

import flagos  # noqa: F401
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_map

# Entries whose results are memory as it was found.
UNINITIALISED = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}
# Entries that can't be equal, each with its cause. One that is equal after all fails the run.
KNOWN = {
    "sgn": "moving the result to the host keeps a CPU zero tensor lazy but makes a device's dense; CUDA does as flagos",
    "tensor_split": "the sample's index tensor must be on the CPU, and this runner moves it; CUDA does as flagos",
    "as_strided.partial_views": "the sample is a view into a larger storage; a copy to another device has no offset",
}
KNOWN_ON_CUDA = {
    "histogram": "CUDA has no kernel; flagos runs it on the CPU, as FLAGOS_FALLBACK allows",
    "histogramdd": "as histogram",
    **{
        f"jiterator_{name}": "torch.cuda.jiterator takes CUDA tensors only"
        for name in ("unary", "binary", "4inputs_with_extra_args", "binary_return_by_ref", "2inputs_2outputs")
    },
}


def to_device(tree: Any, device: str, grad: bool) -> Any:
    """The sample with its tensors and devices on `device`, as leaves."""

    def move(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor):
            return leaf.detach().to(device).requires_grad_(leaf.requires_grad and grad)
        return torch.device(device) if isinstance(leaf, torch.device) else leaf

    return tree_map(move, tree)


def tensors(tree: Any) -> list[torch.Tensor]:
    """The tensors of a tree, in order."""
    return [leaf for leaf in tree_flatten(tree)[0] if isinstance(leaf, torch.Tensor)]


def fingerprint(tensor: torch.Tensor) -> tuple:
    """dtype, shape and bytes."""
    host = tensor.detach().cpu()
    if host.layout != torch.strided or host.is_quantized:
        host = host.to_dense()
    host = host.resolve_conj().resolve_neg().contiguous()
    data = host.reshape(-1).view(torch.uint8).numpy().tobytes() if host.numel() else b""
    return host.dtype, tuple(host.shape), data


def run(op: Any, sample: Any, device: str, grad: bool) -> list[tuple]:
    """Fingerprints of results, then of gradients."""
    arguments = to_device((sample.input, sample.args, sample.kwargs), device, grad)
    value, args, kwargs = arguments
    if "device" in kwargs:
        kwargs = {**kwargs, "device": device}
    torch.manual_seed(0)
    results = tensors(op(value, *args, **kwargs))
    if device == "flagos" and op.name != "to":
        strays = [t for t in results if t.device.type != device]
        if strays:
            raise RuntimeError(f"a result is on {strays[0].device}")
    prints = [fingerprint(t) for t in results]
    differentiable = [t for t in results if t.requires_grad]
    if differentiable:
        sum((t.real if t.is_complex() else t).double().sum() for t in differentiable).backward()
        prints += [fingerprint(t.grad) for t in tensors(arguments) if t.grad is not None]
    return prints


def attempt(op: Any, sample: Any, device: str, grad: bool) -> tuple[list | None, str]:
    """Fingerprints, or the error's first line."""
    try:
        return run(op, sample, device, grad), ""
    except Exception as error:  # noqa: BLE001: whatever the op raises is the result
        return None, (str(error).splitlines() or [type(error).__name__])[0][:160]


def judge(op: Any, samples: list, native: str, grad: bool) -> str:
    """"" when every sample agrees, else what the first that doesn't shows."""
    for number, sample in enumerate(samples):
        expected, native_error = attempt(op, sample, native, grad)
        got, error = attempt(op, sample, "flagos", grad)
        if expected is None and got is None:
            continue
        if got is None:
            return f"sample {number}: {native} has a result, flagos raises: {error}"
        if expected is None:
            return f"sample {number}: flagos has a result, {native} raises: {native_error}"
        if expected != got and not nondeterministic(op, sample, native, grad, expected):
            return f"sample {number}: bits differ"
    return ""


def nondeterministic(op: Any, sample: Any, device: str, grad: bool, first: list) -> bool:
    """Whether the target differs from itself: LAPACK's results depend on how memory is aligned, for one."""
    held = []
    for size in range(1, 400, 20):
        held.append(torch.empty(size))
        if attempt(op, sample, device, grad)[0] != first:
            return True
    return False


def entries(limit: int, grad: bool, only: list[str]) -> Iterator[tuple[str, Any, list]]:
    """Name, OpInfo and samples of each entry that has samples and initialised results."""
    for op in op_db:
        name = op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")
        if not op.dtypes or op.name in UNINITIALISED or (only and name not in only and op.name not in only):
            continue
        preferred = [d for d in (torch.float32, torch.complex64) if d in op.dtypes]
        dtype = preferred[0] if preferred else sorted(op.dtypes, key=str)[0]
        floating = dtype.is_floating_point or dtype.is_complex
        torch.manual_seed(0)
        try:
            samples = list(op.sample_inputs("cpu", dtype, requires_grad=grad and op.supports_autograd and floating))
        except Exception:  # noqa: BLE001: this entry has no samples for the dtype
            continue
        yield name, op, samples[:limit]


def main() -> int:
    """Command line; see the module's text."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--only", nargs="*", default=[])
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    native = flagos.target()
    grad = native == "cpu"
    known = KNOWN if native == "cpu" else KNOWN_ON_CUDA
    failed = count = same = 0
    for name, op, samples in entries(options.samples, grad, options.only):
        count += 1
        verdict = judge(op, samples, native, grad)
        same += not verdict
        excused = name in known and verdict
        ok = bool(excused) or (not verdict and name not in known)
        failed += not ok
        note = f" # SKIP {known[name]}" if excused else ""
        print(f"{'ok' if ok else 'not ok'} {count} - {name}{note}", flush=True)
        if not ok:
            print(f"# {verdict or 'equal, though it is listed as one that cannot be'}", flush=True)
    print(f"1..{count}")
    print(f"# {same} of {count} entries bit-identical to {native}")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
