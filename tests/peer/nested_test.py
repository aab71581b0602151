"""Nested tensors, strided and jagged, with gradients: against the target."""

from __future__ import annotations

import itertools
import unittest
from typing import Any, Callable

import torch

from sparse_case import SparseCase, dense
from target_case import NATIVE_BACKWARD, randn


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
            "itself": lambda n, d: n, "padded": lambda n, d: torch.nested.to_padded_tensor(n, -1.0),
            "doubled": lambda n, d: n + n,
            "scaled": lambda n, d: n * 2, "sin": lambda n, d: torch.sin(n), "relu": lambda n, d: torch.relu(n),
            "clone": lambda n, d: n.clone(),
            "linear": lambda n, d: torch.nn.functional.linear(n, dense(d, 5, 4), dense(d, 5)),
            "matmul": lambda n, d: n @ dense(d, 4, 3),
            "softmax": lambda n, d: torch.softmax(n, -1),
            "layer_norm": lambda n, d: torch.nn.functional.layer_norm(n, (4,)),
            "transposed": lambda n, d: n.transpose(1, 2), "detach": lambda n, d: n.detach(),
            "contiguous": lambda n, d: n.contiguous(),
            "size": lambda n, d: n.size(0), "dropout of nothing": lambda n, d: torch.nn.functional.dropout(n, 0.0),
            "double": lambda n, d: n.double(),
            "select": lambda n, d: n[1], "values": lambda n, d: n.values(),
            "zeros_like": lambda n, d: torch.zeros_like(n),
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
            sequences = [randn(length, 2, 8, device=d) for length in (3, 5)]
            heads = torch.nested.nested_tensor(sequences, layout=torch.jagged).transpose(1, 2)
            return list(torch.nn.functional.scaled_dot_product_attention(heads, heads, heads).unbind())
        self.same(attention)


if __name__ == "__main__":
    unittest.main()
