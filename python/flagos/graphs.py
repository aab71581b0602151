"""CUDA graphs on the CUDA target. Flagos streams and memory are CUDA's, so PyTorch's own capture sees all of it."""

from __future__ import annotations

from typing import Any

import torch

from flagos._devices import needs_cuda, on_cuda

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables"]


def _check(what: str) -> None:
    if not on_cuda():
        raise RuntimeError(f"{needs_cuda(what)} Run the code without capturing it, or set FLAGOS_TARGET=cuda.")


def cuda_stream(stream: torch.Stream | None) -> torch.cuda.Stream | None:
    """The same stream as an object of CUDA's class, which torch.cuda's functions insist on."""
    if stream is None or isinstance(stream, torch.cuda.Stream):
        return stream
    kind = torch._C._autograd.DeviceType.CUDA
    return torch.cuda.Stream(  # type: ignore[no-untyped-call]
        stream_id=stream.stream_id, device_index=stream.device_index, device_type=kind.value
    )


class CUDAGraph(torch.cuda.CUDAGraph):
    """torch.cuda.CUDAGraph, which captures flagos too. Raises RuntimeError on the CPU target."""

    def __new__(cls, keep_graph: bool = False) -> CUDAGraph:
        _check("CUDAGraph")
        return super().__new__(cls, keep_graph)


class graph(torch.cuda.graph):
    """torch.cuda.graph: captures the work of a `with` block into `cuda_graph`, on `stream` (flagos' or CUDA's)."""

    def __init__(
        self,
        cuda_graph: torch.cuda.CUDAGraph,
        pool: Any = None,
        stream: torch.Stream | None = None,
        capture_error_mode: str = "global",
    ) -> None:
        _check("graph()")
        super().__init__(cuda_graph, pool, cuda_stream(stream), capture_error_mode)


def is_current_stream_capturing() -> bool:
    """Whether the current stream records a CUDA graph."""
    return on_cuda() and torch.cuda.is_current_stream_capturing()


def graph_pool_handle() -> Any:
    """A memory pool's name for several graphs to share. Raises RuntimeError on the CPU target."""
    _check("graph_pool_handle()")
    return torch.cuda.graph_pool_handle()


def make_graphed_callables(callables: Any, sample_args: Any, *arguments: Any, **keywords: Any) -> Any:
    """torch.cuda.make_graphed_callables. Raises RuntimeError on the CPU target."""
    _check("make_graphed_callables()")
    return torch.cuda.make_graphed_callables(callables, sample_args, *arguments, **keywords)
