"""Sparse tensors of every layout, with gradients: against the target."""

from __future__ import annotations

import copy
import itertools
import unittest
import warnings
from typing import Any, Callable

import torch

import flagos
from sparse_case import SparseCase, dense, parts
from target_case import DEVICE, NATIVE, NATIVE_BACKWARD, Case, randn, reloaded

LAYOUTS = {
    "coo": lambda t: t.to_sparse(), "csr": lambda t: t.to_sparse_csr(), "csc": lambda t: t.to_sparse_csc(),
    "bsr": lambda t: t.to_sparse_bsr((2, 3)), "bsc": lambda t: t.to_sparse_bsc((2, 3)),
}


class Sparse(SparseCase):
    def each(self, calls: dict[str, Callable[..., Any]]) -> None:
        for (layout, make), (name, call), on in itertools.product(LAYOUTS.items(), calls.items(), (True, False)):
            with self.subTest(f"{layout} {name}", redispatch=on), flagos.redispatch(on):
                self.same(lambda d, make=make, call=call: call(make(dense(d)), d), "to the host" in name)

    def test_copies(self) -> None:
        self.each({
            "itself": lambda s, d: s, "clone": lambda s, d: s.clone(), "dense": lambda s, d: s.to_dense(),
            "to the host": lambda s, d: s.cpu(), "back": lambda s, d: s.cpu().to(d),
            "detach": lambda s, d: s.detach(),
            "double": lambda s, d: s.double(),
            "load": lambda s, d: reloaded(s), "load to the host": lambda s, d: reloaded(s, map_location="cpu"),
            "copy_": lambda s, d: torch.zeros_like(s).copy_(s),
            "copy_ from the host": lambda s, d: s.clone().copy_(s.cpu()),
            "zeros_like": lambda s, d: torch.zeros_like(s), "empty_like": lambda s, d: torch.empty_like(s).shape,
            "zero_": lambda s, d: s.clone().zero_(), "coo": lambda s, d: s.to_sparse(),
            "csr": lambda s, d: s.to_sparse_csr(),
            "csc": lambda s, d: s.to_sparse_csc(), "bsr": lambda s, d: s.to_sparse_bsr((2, 2)),
            "requires_grad_": lambda s, d: s.requires_grad_().is_leaf, "same device": lambda s, d: s.to(d) is s,
        })

    def test_deepcopy(self) -> None:
        """Of compressed tensors PyTorch copies those of a PrivateUse1 device alone."""
        for layout, make in LAYOUTS.items():
            with self.subTest(layout):
                self.check(lambda d, make=make: parts(copy.deepcopy(make(dense(d))) if d == DEVICE else make(dense(d))))

    def test_arithmetic(self) -> None:
        self.each({
            "scaled": lambda s, d: s * 2, "divided": lambda s, d: s / 3, "negated": lambda s, d: -s,
            "abs": lambda s, d: s.abs(),
            "sin": lambda s, d: torch.sin(s), "sqrt_": lambda s, d: s.clone().sqrt_(),
            "relu": lambda s, d: torch.relu(s),
            "added": lambda s, d: s + s, "subtracted": lambda s, d: s - s * 0.5,
            "add_": lambda s, d: s.clone().add_(s, alpha=2),
            "to dense": lambda s, d: dense(d) + s, "times": lambda s, d: s * s,
            "times dense": lambda s, d: s * dense(d, seed=6),
            "sum": lambda s, d: s.sum(), "sum of a dimension": lambda s, d: torch.sum(s, 0),
            "isnan": lambda s, d: torch.isnan(s),
            "norm": lambda s, d: s.norm(), "masked": lambda s, d: dense(d, seed=8).sparse_mask(s),
            "mul_": lambda s, d: s.clone().mul_(2),
            "softmax": lambda s, d: torch.sparse.softmax(s, 1),
            "log_softmax": lambda s, d: torch.sparse.log_softmax(s, 0),
            "sparse sum": lambda s, d: torch.sparse.sum(s, 1), "any": lambda s, d: s.any(),
            "pow": lambda s, d: s.pow(2),
            "other shape": lambda s, d: s + dense(d, 3, 3).to_sparse(),
            "mixed devices": lambda s, d: s + dense("meta"),
        })

    def test_products(self) -> None:
        self.each({
            "mm": lambda s, d: torch.mm(s, dense(d, 6, 3)), "matmul": lambda s, d: s @ dense(d, 6),
            "mm left": lambda s, d: dense(d, 3, 4) @ s,
            "sparse mm": lambda s, d: torch.sparse.mm(s, s.t()), "mv": lambda s, d: s.mv(dense(d, 6)),
            "addmm": lambda s, d: torch.addmm(dense(d, 4, 3), s, dense(d, 6, 3), beta=0.5, alpha=2),
            "addmm_": lambda s, d: dense(d, 4, 3).addmm_(s, dense(d, 6, 3)),
            "sparse addmm": lambda s, d: torch.sparse.addmm(dense(d, 4, 3), s, dense(d, 6, 3)),
            "sampled": lambda s, d: torch.sparse.sampled_addmm(s, dense(d, 4, 2), dense(d, 2, 6)),
            "mm out": lambda s, d: torch.mm(s, dense(d, 6, 3), out=torch.empty(4, 3, device=d)),
            "transposed": lambda s, d: s.t() @ dense(d, 4, 2), "wrong shape": lambda s, d: s @ dense(d, 5, 2),
            "reduce": lambda s, d: torch.sparse.mm(s, dense(d, 6, 3), "amax"),
        })

    def test_shapes(self) -> None:
        self.each({
            "t": lambda s, d: s.t(), "dense of t": lambda s, d: s.t().to_dense(),
            "clone of t": lambda s, d: s.t().clone(),
            "other layout of t": lambda s, d: s.t().to_sparse_csr(), "t of t": lambda s, d: s.t().t() * 2,
            "transpose": lambda s, d: s.transpose(0, 1), "row": lambda s, d: s[1],
            "select": lambda s, d: s.select(1, 2),
            "index_select": lambda s, d: s.index_select(0, torch.tensor([2, 0]).to(d)),
            "narrow": lambda s, d: s.narrow(0, 1, 2),
            "cat": lambda s, d: torch.cat([s, s]), "stack": lambda s, d: torch.stack([s, s]),
            "reshape": lambda s, d: s.reshape(6, 4),
            "unsqueeze": lambda s, d: s.unsqueeze(0), "permute": lambda s, d: s.permute(1, 0),
            "unbind": lambda s, d: s.unbind(),
            "resize_as": lambda s, d: torch.zeros_like(s).resize_as_sparse_(s)._nnz(),
            "dims": lambda s, d: (s.sparse_dim(), s.dense_dim()),
            "is_pinned": lambda s, d: s.is_pinned(),
        })

    def test_made_from_parts(self) -> None:
        def twice(d: str) -> torch.Tensor:
            indices = torch.tensor([[0, 1, 0], [2, 0, 2]]).to(d)
            return torch.sparse_coo_tensor(indices, torch.arange(3.0).to(d) + 1, (2, 3))

        def coo(index: int, values: torch.Tensor, d: str, **options: Any) -> torch.Tensor:
            return torch.sparse_coo_tensor(torch.tensor([[index] * len(values)]).to(d), values, (3,), **options)

        def csr(rows: list[int], columns: list[int], d: str, **options: Any) -> torch.Tensor:
            given = (torch.tensor(rows), torch.tensor(columns), torch.ones(len(columns)))
            return torch.sparse_csr_tensor(*(each.to(d) for each in given), (2, 2), **options)

        for name, call in {
            "as made": twice, "coalesced": lambda d: twice(d).coalesce(),
            "hybrid": lambda d: dense(d, 3, 4, 5).to_sparse(1),
            "hybrid product": lambda d: dense(d, 3, 4, 5).to_sparse(2) * 2,
            "dense of a hybrid": lambda d: dense(d, 3, 4).to_sparse(1).to_dense(),
            "checked": lambda d: coo(9, torch.ones(2).to(d), d, check_invariants=True),
            "mixed devices": lambda d: coo(0, torch.ones(1, device="meta"), d, device=d),
            "empty": lambda d: torch.sparse_coo_tensor((2, 3), device=d),
            "scalar": lambda d: torch.scalar_tensor(2.0, layout=torch.sparse_coo, device=d),
            "compressed scalar": lambda d: torch.scalar_tensor(2.0, layout=torch.sparse_csr, device=d),
            "zero-dimensional": lambda d: torch.tensor(2.0).to(d).to_sparse(),
            "bmm": lambda d: torch.bmm(dense(d, 2, 3, 4).to_sparse(), dense(d, 2, 4, 5)),
            "sparse_resize_": lambda d: twice(d).sparse_resize_((4, 5), 2, 0),
            "divided in place": lambda d: twice(d).div_(2),
            "sum of two dimensions": lambda d: torch.sparse.sum(dense(d, 3, 4, 5).to_sparse(), (0, 2)),
            "hspmm": lambda d: torch.hspmm(twice(d), dense(d, 3, 2)),
            "spdiags": lambda d: torch.sparse.spdiags(dense(d, 1, 3), torch.tensor([0]).to(d), (3, 3)),
            "compressed": lambda d: csr([0, 1, 2], [1, 0], d),
            "compressed wrongly": lambda d: csr([0, 3], [1], d, check_invariants=True),
        }.items():
            for on in (True, False):
                with self.subTest(name, redispatch=on), flagos.redispatch(on):
                    self.same(call)

    def test_compressed_made_from_parts(self) -> None:
        """PyTorch keeps the parts, which say flagos."""
        def made(layout: torch.layout, d: str) -> torch.Tensor:
            shape = (2,) if layout in (torch.sparse_csr, torch.sparse_csc) else (2, 1, 1)
            compressed, plain = torch.tensor([0, 1, 2]).to(d), torch.tensor([1, 0]).to(d)
            return torch.sparse_compressed_tensor(compressed, plain, (torch.arange(2.0) + 1).view(shape).to(d), (2, 2),
                                                  layout=layout)

        calls = {
            "itself": lambda s, d: s, "dense": lambda s, d: s.to_dense(),
            "product": lambda s, d: s @ torch.ones(2, 3).to(d),
            "clone": lambda s, d: s.clone(), "scaled": lambda s, d: s * 2, "scaled in place": lambda s, d: s.mul_(2),
            "added": lambda s, d: s + s, "t": lambda s, d: s.t().to_dense(), "sin": lambda s, d: torch.sin(s),
            "sum": lambda s, d: s.sum(),
            "copy_": lambda s, d: torch.zeros_like(s).copy_(s), "to the host": lambda s, d: s.cpu(),
            "load": lambda s, d: reloaded(s),
            "parts": lambda s, d: [each.mul_(2) for each in parts(s) if isinstance(each, torch.Tensor)] and s,
        }
        layouts = (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)
        for layout, (name, call), on in itertools.product(layouts, calls.items(), (True, False)):
            with self.subTest(f"{layout} {name}", redispatch=on), flagos.redispatch(on):
                self.same(lambda d, layout=layout, call=call: call(made(layout, d), d), "to the host" in name)

    def test_results_with_more_elements(self) -> None:
        """A kernel gives the result new parts; they once were lost."""
        def empty(d: str) -> torch.Tensor:
            return torch.zeros(4, 4).to(d).to_sparse_csr()
        def product(name: str, d: str) -> torch.Tensor:
            one, other = (dense(d, 4, 4, seed=seed).to_sparse_csr() for seed in (5, 6))
            return {"mm out": lambda: torch.mm(one, other, out=empty(d)),
            "add out": lambda: torch.add(one, other, out=empty(d)),
                    "addmm_": lambda: empty(d).addmm_(one, other),
                    "resize_as": lambda: empty(d).resize_as_sparse_(one)._nnz()}[name]()
        # CUDA's own addmm_ reads the result's new elements before it has written them: it differs from itself.
        names = ("mm out", "add out", "resize_as") + (("addmm_",) if NATIVE == "cpu" else ())
        for name, on in itertools.product(names, (True, False)):
            with self.subTest(name, redispatch=on), flagos.redispatch(on):
                self.same(lambda d, name=name: product(name, d))

    @unittest.skipUnless(NATIVE_BACKWARD, "no native backward in this process")
    def test_gradients(self) -> None:
        def gradient(call: Callable[[torch.Tensor, str], torch.Tensor], make: Callable, d: str) -> list[torch.Tensor]:
            leaf = dense(d).requires_grad_()
            result = call(make(leaf), d)
            (result.to_dense() if result.layout != torch.strided else result).square().sum().backward()
            return [result, leaf.grad]
        calls = {
            "dense": lambda s, d: s.to_dense(), "mm": lambda s, d: s @ dense(d, 6, 3), "scaled": lambda s, d: s * 2,
            "added": lambda s, d: s + s,
            "sum": lambda s, d: s.sum(), "sparse sum": lambda s, d: torch.sparse.sum(s, 0),
            "sin": lambda s, d: torch.sin(s),
            "softmax": lambda s, d: torch.sparse.softmax(s, 1), "transposed": lambda s, d: s.t(),
            "sparse mm": lambda s, d: torch.sparse.mm(s, s.t()),
        }
        for layout, (name, call) in itertools.product(LAYOUTS, calls.items()):
            with self.subTest(f"{layout} {name}"):
                self.same(lambda d, make=LAYOUTS[layout], call=call: gradient(call, make, d))

    @unittest.skipUnless(NATIVE_BACKWARD, "no native backward in this process")
    def test_embedding_with_sparse_gradients(self) -> None:
        def trained(optimizer: Callable, d: str) -> list[torch.Tensor]:
            weight = torch.nn.Parameter(randn(7, 3, device=d))
            steps = optimizer([weight])
            for _ in range(3):
                steps.zero_grad()
                indices = torch.tensor([[1, 4, 1], [0, 6, 4]]).to(d)
                torch.nn.functional.embedding(indices, weight, sparse=True).square().sum().backward()
                gradient = weight.grad
                steps.step()
            return [gradient, weight.detach()]
        def momentum(parameters: list[torch.Tensor]) -> torch.optim.Optimizer:
            return torch.optim.SGD(parameters, 0.1, momentum=0.9)

        for optimizer in (momentum, torch.optim.SparseAdam, torch.optim.Adagrad):
            with self.subTest(optimizer.__name__):
                self.same(lambda d, optimizer=optimizer: trained(optimizer, d))


class Chosen(Case):
    """Values written out."""

    def test_coo(self):
        def coo(d):
            dense = torch.tensor([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]], device=d)
            s = dense.to_sparse()
            return (s.to_dense(), s.values(), s.indices(), torch.sparse.mm(s, randn(3, 2, device=d)),
                    (s * 2).to_dense(), (s + s).to_dense(), s.coalesce().to_dense(),
                    torch.sparse.sum(s, 0).to_dense(), s.t().to_dense())

        self.check(coo)

    def test_csr(self):
        def csr(d):
            dense = torch.tensor([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]], device=d)
            s = dense.to_sparse_csr()
            return s.to_dense(), s.values(), s.crow_indices(), s @ randn(3, 2, device=d)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.check(csr)

    def test_made_from_parts_and_changed_in_place(self):
        def parts(d):
            s = torch.sparse_coo_tensor(torch.tensor([[0, 1]], device=d), torch.tensor([1.0, 2.0], device=d), (3,))
            s.mul_(3)
            return s.to_dense(), s.device.type in (d,)

        self.check(parts)


if __name__ == "__main__":
    unittest.main()
