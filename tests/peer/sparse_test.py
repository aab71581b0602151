"""Sparse tensors of every layout, and nested tensors, with gradients: against the target."""

from __future__ import annotations

import copy
import io
import itertools
import unittest
import warnings
from typing import Any, Callable

import torch

import flagos
from target_case import DEVICE, NATIVE, NATIVE_BACKWARD, Case, randn

LAYOUTS = {
    "coo": lambda t: t.to_sparse(), "csr": lambda t: t.to_sparse_csr(), "csc": lambda t: t.to_sparse_csc(),
    "bsr": lambda t: t.to_sparse_bsr((2, 3)), "bsc": lambda t: t.to_sparse_bsc((2, 3)),
}


def dense(device: str, *shape: int, seed: int = 5) -> torch.Tensor:
    """About half zeros, the same on every device."""
    values = randn(*(shape or (4, 6)), device="cpu", seed=seed)
    return torch.where(values > 0, values, 0.0).to(device)


def parts(tensor: torch.Tensor) -> list[Any]:
    """All that a sparse tensor is made of."""
    if tensor.layout == torch.strided:
        return [tensor]
    common = [str(tensor.layout), tuple(tensor.shape), tensor.device.type in (NATIVE, DEVICE), tensor._nnz()]
    if tensor.layout == torch.sparse_coo:
        return [*common, tensor.is_coalesced(), tensor._indices(), tensor._values()]
    compressed = tensor.layout in (torch.sparse_csr, torch.sparse_bsr)
    inner = [tensor.crow_indices(), tensor.col_indices()] if compressed else [tensor.ccol_indices(), tensor.row_indices()]
    return [*common, *inner, tensor.values()]


def written(tensor: torch.Tensor, **options: Any) -> torch.Tensor:
    file = io.BytesIO()
    torch.save(tensor, file)
    file.seek(0)
    return torch.load(file, **options)


class SparseCase(Case):
    """A call that the target refuses must be refused on flagos by the same type of error."""

    def setUp(self) -> None:
        caught = warnings.catch_warnings()
        caught.__enter__()
        self.addCleanup(caught.__exit__, None, None, None)
        warnings.simplefilter("ignore")  # layouts in beta

    def same(self, call: Callable[[str], Any]) -> None:
        def told(device: str) -> Any:
            try:
                return [parts(each) if isinstance(each, torch.Tensor) else each
                        for each in torch.utils._pytree.tree_leaves(call(device))]
            except (RuntimeError, NotImplementedError, ValueError, TypeError, IndexError) as error:
                return [type(error).__name__]
        self.check(told)

    def each(self, calls: dict[str, Callable[..., Any]], layouts: tuple[str, ...] = tuple(LAYOUTS)) -> None:
        for layout, (name, call), on in itertools.product(layouts, calls.items(), (True, False)):
            with self.subTest(f"{layout} {name}", redispatch=on), flagos.redispatch(on):
                self.same(lambda d, make=LAYOUTS[layout], call=call: call(make(dense(d)), d))


class Sparse(SparseCase):
    def test_copies(self) -> None:
        self.each({
            "itself": lambda s, d: s, "clone": lambda s, d: s.clone(), "dense": lambda s, d: s.to_dense(),
            "to the host": lambda s, d: s.cpu(), "back": lambda s, d: s.cpu().to(d), "detach": lambda s, d: s.detach(),
            "double": lambda s, d: s.double(),
            "load": lambda s, d: written(s), "load to the host": lambda s, d: written(s, map_location="cpu"),
            "copy_": lambda s, d: torch.zeros_like(s).copy_(s), "copy_ from the host": lambda s, d: s.clone().copy_(s.cpu()),
            "zeros_like": lambda s, d: torch.zeros_like(s), "empty_like": lambda s, d: torch.empty_like(s).shape,
            "zero_": lambda s, d: s.clone().zero_(), "coo": lambda s, d: s.to_sparse(), "csr": lambda s, d: s.to_sparse_csr(),
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
            "scaled": lambda s, d: s * 2, "divided": lambda s, d: s / 3, "negated": lambda s, d: -s, "abs": lambda s, d: s.abs(),
            "sin": lambda s, d: torch.sin(s), "sqrt_": lambda s, d: s.clone().sqrt_(), "relu": lambda s, d: torch.relu(s),
            "added": lambda s, d: s + s, "subtracted": lambda s, d: s - s * 0.5, "add_": lambda s, d: s.clone().add_(s, alpha=2),
            "to dense": lambda s, d: dense(d) + s, "times": lambda s, d: s * s, "times dense": lambda s, d: s * dense(d, seed=6),
            "sum": lambda s, d: s.sum(), "sum of a dimension": lambda s, d: torch.sum(s, 0), "isnan": lambda s, d: torch.isnan(s),
            "norm": lambda s, d: s.norm(), "masked": lambda s, d: dense(d, seed=8).sparse_mask(s), "mul_": lambda s, d: s.clone().mul_(2),
            "softmax": lambda s, d: torch.sparse.softmax(s, 1), "log_softmax": lambda s, d: torch.sparse.log_softmax(s, 0),
            "sparse sum": lambda s, d: torch.sparse.sum(s, 1), "any": lambda s, d: s.any(), "pow": lambda s, d: s.pow(2),
            "other shape": lambda s, d: s + dense(d, 3, 3).to_sparse(), "mixed devices": lambda s, d: s + dense("meta"),
        })

    def test_products(self) -> None:
        self.each({
            "mm": lambda s, d: torch.mm(s, dense(d, 6, 3)), "matmul": lambda s, d: s @ dense(d, 6), "mm left": lambda s, d: dense(d, 3, 4) @ s,
            "sparse mm": lambda s, d: torch.sparse.mm(s, s.t()), "mv": lambda s, d: s.mv(dense(d, 6)),
            "addmm": lambda s, d: torch.addmm(dense(d, 4, 3), s, dense(d, 6, 3), beta=0.5, alpha=2),
            "addmm_": lambda s, d: dense(d, 4, 3).addmm_(s, dense(d, 6, 3)), "sparse addmm": lambda s, d: torch.sparse.addmm(dense(d, 4, 3), s, dense(d, 6, 3)),
            "sampled": lambda s, d: torch.sparse.sampled_addmm(s, dense(d, 4, 2), dense(d, 2, 6)),
            "mm out": lambda s, d: torch.mm(s, dense(d, 6, 3), out=torch.empty(4, 3, device=d)),
            "transposed": lambda s, d: s.t() @ dense(d, 4, 2), "wrong shape": lambda s, d: s @ dense(d, 5, 2),
            "reduce": lambda s, d: torch.sparse.mm(s, dense(d, 6, 3), "amax"),
        })

    def test_shapes(self) -> None:
        self.each({
            "t": lambda s, d: s.t(), "dense of t": lambda s, d: s.t().to_dense(), "clone of t": lambda s, d: s.t().clone(),
            "other layout of t": lambda s, d: s.t().to_sparse_csr(), "t of t": lambda s, d: s.t().t() * 2, "transpose": lambda s, d: s.transpose(0, 1), "row": lambda s, d: s[1], "select": lambda s, d: s.select(1, 2),
            "index_select": lambda s, d: s.index_select(0, torch.tensor([2, 0]).to(d)), "narrow": lambda s, d: s.narrow(0, 1, 2),
            "cat": lambda s, d: torch.cat([s, s]), "stack": lambda s, d: torch.stack([s, s]), "reshape": lambda s, d: s.reshape(6, 4),
            "unsqueeze": lambda s, d: s.unsqueeze(0), "permute": lambda s, d: s.permute(1, 0), "unbind": lambda s, d: s.unbind(),
            "resize_as": lambda s, d: torch.zeros_like(s).resize_as_sparse_(s)._nnz(), "dims": lambda s, d: (s.sparse_dim(), s.dense_dim()),
            "is_pinned": lambda s, d: s.is_pinned(),
        })

    def test_coo_alone(self) -> None:
        def twice(d: str) -> torch.Tensor:
            return torch.sparse_coo_tensor(torch.tensor([[0, 1, 0], [2, 0, 2]]).to(d), torch.arange(3.0).to(d) + 1, (2, 3))
        for name, call in {
            "as made": twice, "coalesced": lambda d: twice(d).coalesce(), "hybrid": lambda d: dense(d, 3, 4, 5).to_sparse(1),
            "hybrid product": lambda d: dense(d, 3, 4, 5).to_sparse(2) * 2, "dense of a hybrid": lambda d: dense(d, 3, 4).to_sparse(1).to_dense(),
            "checked": lambda d: torch.sparse_coo_tensor(torch.tensor([[0, 9]]).to(d), torch.ones(2).to(d), (3,), check_invariants=True),
            "mixed devices": lambda d: torch.sparse_coo_tensor(torch.tensor([[0]]), torch.ones(1, device="meta"), (1,), device=d),
            "empty": lambda d: torch.sparse_coo_tensor((2, 3), device=d), "zero-dimensional": lambda d: torch.tensor(2.0).to(d).to_sparse(),
            "bmm": lambda d: torch.bmm(dense(d, 2, 3, 4).to_sparse(), dense(d, 2, 4, 5)),
            "sparse_resize_": lambda d: twice(d).sparse_resize_((4, 5), 2, 0), "divided in place": lambda d: twice(d).div_(2),
            "histogram of a sum": lambda d: torch.sparse.sum(dense(d, 3, 4, 5).to_sparse(), (0, 2)), "hspmm": lambda d: torch.hspmm(twice(d), dense(d, 3, 2)),
            "spdiags": lambda d: torch.sparse.spdiags(dense(d, 1, 3), torch.tensor([0]).to(d), (3, 3)),
            "compressed": lambda d: torch.sparse_csr_tensor(torch.tensor([0, 1, 2]).to(d), torch.tensor([1, 0]).to(d), torch.ones(2).to(d), (2, 2)),
            "compressed wrongly": lambda d: torch.sparse_csr_tensor(torch.tensor([0, 3]).to(d), torch.tensor([1]).to(d), torch.ones(1).to(d), (2, 2), check_invariants=True),
        }.items():
            for on in (True, False):
                with self.subTest(name, redispatch=on), flagos.redispatch(on):
                    self.same(call)

    @unittest.skipUnless(NATIVE_BACKWARD, "no native backward in this process")
    def test_gradients(self) -> None:
        def gradient(call: Callable[[torch.Tensor, str], torch.Tensor], make: Callable, d: str) -> list[torch.Tensor]:
            leaf = dense(d).requires_grad_()
            result = call(make(leaf), d)
            (result.to_dense() if result.layout != torch.strided else result).square().sum().backward()
            return [result, leaf.grad]
        calls = {
            "dense": lambda s, d: s.to_dense(), "mm": lambda s, d: s @ dense(d, 6, 3), "scaled": lambda s, d: s * 2, "added": lambda s, d: s + s,
            "sum": lambda s, d: s.sum(), "sparse sum": lambda s, d: torch.sparse.sum(s, 0), "sin": lambda s, d: torch.sin(s),
            "softmax": lambda s, d: torch.sparse.softmax(s, 1), "transposed": lambda s, d: s.t(), "sparse mm": lambda s, d: torch.sparse.mm(s, s.t()),
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
        for optimizer in (lambda p: torch.optim.SGD(p, 0.1, momentum=0.9), lambda p: torch.optim.SparseAdam(p, 0.1), lambda p: torch.optim.Adagrad(p, 0.1)):
            self.same(lambda d, optimizer=optimizer: trained(optimizer, d))


class Nested(SparseCase):
    def each_layout(self, calls: dict[str, Callable[..., Any]]) -> None:
        def whole(call: Callable, layout: torch.layout, d: str) -> Any:
            nested = torch.nested.nested_tensor([dense(d, 2, 4), dense(d, 3, 4)], layout=layout)
            result = call(nested, d)
            if not isinstance(result, torch.Tensor):
                return result
            return [*result.unbind(), result.device.type == d] if result.is_nested else result
        for layout, (name, call) in itertools.product((torch.strided, torch.jagged), calls.items()):
            with self.subTest(f"{layout} {name}"):
                self.same(lambda d, layout=layout, call=call: whole(call, layout, d))

    def test_operators(self) -> None:
        self.each_layout({
            "itself": lambda n, d: n, "padded": lambda n, d: torch.nested.to_padded_tensor(n, -1.0), "doubled": lambda n, d: n + n,
            "scaled": lambda n, d: n * 2, "sin": lambda n, d: torch.sin(n), "relu": lambda n, d: torch.relu(n), "clone": lambda n, d: n.clone(),
            "linear": lambda n, d: torch.nn.functional.linear(n, dense(d, 5, 4), dense(d, 5)), "matmul": lambda n, d: n @ dense(d, 4, 3),
            "softmax": lambda n, d: torch.softmax(n, -1), "layer_norm": lambda n, d: torch.nn.functional.layer_norm(n, (4,)),
            "transposed": lambda n, d: n.transpose(1, 2), "detach": lambda n, d: n.detach(), "contiguous": lambda n, d: n.contiguous(),
            "size": lambda n, d: n.size(0), "dropout of nothing": lambda n, d: torch.nn.functional.dropout(n, 0.0), "double": lambda n, d: n.double(),
            "select": lambda n, d: n[1], "values": lambda n, d: n.values(), "zeros_like": lambda n, d: torch.zeros_like(n),
            "sum of a dimension": lambda n, d: n.sum(-1, keepdim=True), "chunk": lambda n, d: n.chunk(2, -1)[0],
        })

    @unittest.skipUnless(NATIVE_BACKWARD, "no native backward in this process")
    def test_gradients(self) -> None:
        def gradient(layout: torch.layout, d: str) -> list[torch.Tensor]:
            one, two = (dense(d, rows, 4).requires_grad_() for rows in (2, 3))
            weight = dense(d, 5, 4).requires_grad_()
            nested = torch.nested.as_nested_tensor([one, two], layout=layout)
            result = torch.relu(torch.nn.functional.linear(nested, weight))
            torch.nested.to_padded_tensor(result, 0.0).square().sum().backward()
            return [one.grad, two.grad, weight.grad]
        for layout in (torch.strided, torch.jagged):
            with self.subTest(str(layout)):
                self.same(lambda d, layout=layout: gradient(layout, d))

    def test_attention(self) -> None:
        def attention(d: str) -> list[torch.Tensor]:
            heads = torch.nested.nested_tensor([randn(3, 2, 8, device=d), randn(5, 2, 8, device=d)], layout=torch.jagged).transpose(1, 2)
            return list(torch.nn.functional.scaled_dot_product_attention(heads, heads, heads).unbind())
        self.same(attention)


if __name__ == "__main__":
    unittest.main()
