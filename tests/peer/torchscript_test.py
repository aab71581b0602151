"""torch.jit.save and torch.jit.load of programs with tensors on flagos."""

import io
import unittest
from typing import Any, Dict, List

import torch
from torch import nn

from target_case import DEVICE, NATIVE, Case, randn


class Inner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x)


class Program(nn.Module):
    """A parameter, a buffer, a view of it, and tensors that are none of these."""

    some: List[torch.Tensor]
    named: Dict[str, torch.Tensor]

    def __init__(self, device: str) -> None:
        super().__init__()
        self.weight = nn.Parameter(randn(3, device=device))
        self.register_buffer("mean", randn(4, 3, device=device))
        self.register_buffer("column", self.mean[:, 1])
        self.plain = randn(3, device=device, seed=4)
        self.some = [randn(3, device=device, seed=5), self.plain]
        self.named = {"a": randn(3, device=device, seed=6)}
        self.inner = Inner().to(device)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x + self.weight * self.mean[0] + self.plain) * self.some[0] + self.named["a"] + self.column[:3]


def loaded(program: Any, **options: Any) -> Any:
    file = io.BytesIO()
    torch.jit.save(program, file)
    file.seek(0)
    return torch.jit.load(file, **options)


def tensors(program: Any) -> list[torch.Tensor]:
    return [*program.state_dict().values(), *program.parameters(), *program.buffers(), program.plain, *program.some,
            *program.named.values()]  # fmt: skip


def constants(program: Any) -> list[torch.Tensor]:
    graph = program.inlined_graph  # its nodes live no longer
    nodes = [n for n in graph.findAllNodes("prim::Constant") if n.hasAttribute("value")]
    return [n.t("value") for n in nodes if n.kindOf("value") == "t"]


class TorchScript(Case):
    def program(self, device: str) -> Any:
        torch.manual_seed(3)
        return torch.jit.script(Program(device))

    def test_every_tensor_keeps_its_device(self) -> None:
        for saved, location, expected in ((DEVICE, None, DEVICE), (DEVICE, DEVICE, DEVICE), (DEVICE, f"{DEVICE}:0", DEVICE),
                                          (DEVICE, "cpu", "cpu"), ("cpu", DEVICE, DEVICE), ("cpu", None, "cpu")):  # fmt: skip
            with self.subTest(f"{saved} to {location}"):
                options = {} if location is None else {"map_location": location}
                got, like = loaded(self.program(saved), **options), self.program(saved)
                self.assertEqual({t.device.type for t in tensors(got)}, {expected})
                self.assertEqual([(t.tolist(), t.stride(), t.storage_offset(), t.requires_grad) for t in tensors(got)],
                                 [(t.tolist(), t.stride(), t.storage_offset(), t.requires_grad) for t in tensors(like)])
                x = randn(3, device=expected)
                self.assertEqual(got(x).device.type, expected)
                if NATIVE == "cpu":
                    self.assertEqual(got(x).tolist(), like(x.to(saved)).tolist())

    def test_shared_memory_and_gradients(self) -> None:
        def run(device: str) -> Any:
            program = loaded(self.program(device))
            with torch.no_grad():
                program.mean.fill_(2)
            results = [program.column.tolist(), program.column.data_ptr() - program.mean.data_ptr()]
            if NATIVE == "cpu" or device == DEVICE:
                program(randn(3, device=device)).sum().backward()
                self.assertEqual({p.grad.device.type for p in program.parameters()}, {device})
                results += [p.grad.tolist() for p in program.parameters()]
            return results

        if NATIVE == "cpu":
            self.check(run)
        else:
            run(DEVICE)

    def test_constants(self) -> None:
        weight = randn(3, device=DEVICE)
        traced = torch.jit.trace(lambda x: x * weight, randn(3, device=DEVICE, seed=8))
        frozen = torch.jit.freeze(torch.jit.script(Inner().to(DEVICE).eval()))
        for program in (traced, frozen):
            got = loaded(program)
            self.assertEqual({t.device.type for t in constants(got) if t.dim() > 0}, {DEVICE})
            self.assertEqual(got(weight).tolist(), program(weight).tolist())

    def test_by_torch_load(self) -> None:
        file = io.BytesIO()
        torch.jit.save(self.program(DEVICE), file)
        file.seek(0)
        self.assertEqual({t.device.type for t in tensors(torch.load(file, weights_only=False))}, {DEVICE})


if __name__ == "__main__":
    unittest.main()
