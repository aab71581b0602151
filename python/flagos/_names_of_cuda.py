"""Names of torch.cuda, torch.xpu and torch.mtia that torch.flagos lacks, each with its reason or remedy."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from flagos._devices import on_cuda

# Names of torch.cuda which torch.flagos has on the CUDA target only: they take no device, and ask for what is CUDA's.
CUDA_ONLY = frozenset(
    {
        "CUDAPluggableAllocator",
        "CudaError",
        "DeferredCudaCallError",
        "GreenContext",
        "MemPool",
        "_sleep",
        "change_current_allocator",
        "check_error",
        "cudaStatus",
        "cudart",
        "current_blas_handle",
        "gds",
        "get_arch_list",
        "get_gencode_flags",
        "green_contexts",
        "has_magma",
        "jiterator",
        "nvtx",
        "profiler",
        "tunable",
    }
)

_TYPED = 'a type of one backend and dtype, which PyTorch keeps for old programs; use torch.tensor(..., device="flagos")'
_TYPED_STORAGE = "a storage of one backend and dtype, which PyTorch keeps for old programs; use torch.UntypedStorage"
_ELEMENTS = "BFloat16 Bool Byte Char Double Float Half Int Long Short".split()

# What torch.flagos has on no target. The sentence completes "module 'torch.flagos' has no attribute ...: ".
ABSENT = {
    **{f"{element}Tensor": _TYPED for element in _ELEMENTS},
    **{f"{element}Storage": _TYPED_STORAGE for element in (*_ELEMENTS, "ComplexDouble", "ComplexFloat")},
    "MTIAGraph": "a graph of another vendor's; CUDAGraph is the CUDA target's",
    "XPUGraph": "a graph of another vendor's; CUDAGraph is the CUDA target's",
    "XPUPluggableAllocator": "an allocator of another vendor's; CUDAPluggableAllocator is the CUDA target's",
    "amp_definitely_not_available": "a question about torch.cuda; torch.flagos.is_available() is flagos'",
    "nccl": "it takes tensors of CUDA's own; torch.distributed runs NCCL on flagos tensors",
    "sparse": "types of one backend and dtype, which PyTorch keeps for old programs; use torch.sparse_coo_tensor()",
}


def of_cuda(module: ModuleType, name: str) -> Any:
    """What `module`, torch.cuda or a part of it, has by a name of CUDA_ONLY. Else the AttributeError of torch.flagos."""
    if name in CUDA_ONLY and on_cuda() and hasattr(module, name):
        return getattr(module, name)
    ours = module.__name__.replace("cuda", "flagos", 1)
    where = " on the CPU target" if name in CUDA_ONLY and not on_cuda() else ""
    why = f": {ABSENT[name]}" if name in ABSENT else ""
    raise AttributeError(f"module {ours!r} has no attribute {name!r}{where}{why}")
