"""Runs a call on the target and on flagos whose results may be sparse or nested tensors, or that the target refuses."""

from __future__ import annotations

import warnings
from typing import Any, Callable

import torch

from target_case import DEVICE, NATIVE, Case, randn


def dense(device: str, *shape: int, seed: int = 5) -> torch.Tensor:
    """About half zeros, the same on every device."""
    values = randn(*(shape or (4, 6)), device="cpu", seed=seed)
    return torch.where(values > 0, values, 0.0).to(device)


def parts(tensor: torch.Tensor) -> list[Any]:
    """All that a sparse tensor is made of."""
    if tensor.layout == torch.strided:
        return [tensor]
    common = [str(tensor.layout), tuple(tensor.shape), tensor._nnz()]
    if tensor.layout == torch.sparse_coo:
        return [*common, tensor.is_coalesced(), tensor._indices(), tensor._values()]
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [*common, tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    return [*common, tensor.ccol_indices(), tensor.row_indices(), tensor.values()]


class SparseCase(Case):
    """A call that the target refuses must be refused on flagos by the same type of error, unless the CPU can do it."""

    def setUp(self) -> None:
        caught = warnings.catch_warnings()
        caught.__enter__()
        self.addCleanup(caught.__exit__, None, None, None)
        warnings.simplefilter("ignore")  # layouts in beta

    def same(self, call: Callable[[str], Any], to_host: bool = False) -> None:
        """Tensors must be on the device, or all on the host."""
        def told(device: str) -> Any:
            torch.manual_seed(7)
            try:
                leaves = torch.utils._pytree.tree_leaves(call(device))
                tensors = [each for each in leaves if isinstance(each, torch.Tensor)]
                self.assertEqual({each.device.type for each in tensors} - {"cpu" if to_host else device}, set())
                return [parts(each) if isinstance(each, torch.Tensor) else each for each in leaves]
            except (RuntimeError, NotImplementedError, ValueError, TypeError, IndexError) as error:
                return [type(error).__name__]
        expected, got = told(NATIVE), told(DEVICE)
        refused = ["NotImplementedError"]
        if NATIVE != "cpu" and expected == refused != got:
            expected = told("cpu")  # what CUDA has no kernel for runs on the CPU, where FLAGOS_FALLBACK has it so
        self.check(lambda device: expected if device == NATIVE else got)
