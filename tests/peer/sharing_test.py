"""torch.multiprocessing with flagos tensors: queues, DataLoader workers, shared memory; each as the target has it."""

from __future__ import annotations

import pickle
import unittest
from multiprocessing.reduction import ForkingPickler
from typing import Any, Callable

import torch
import torch.multiprocessing as mp
from torch import nn
from torch.utils.data import DataLoader

from saving_kinds import Marked, MarkedParameter, Pair
from sharing_worker import Rows, answer, described
from target_case import DEVICE, NATIVE, Case, randn

START = "fork" if NATIVE == "cpu" else "spawn"  # CUDA can't be used in a child that was forked


def sent(value: Any) -> Any:
    """Through a queue's pickler, within this process; CUDA's handles of memory are for others only."""
    return pickle.loads(bytes(ForkingPickler.dumps(value)))


def kinds(device: str) -> dict[str, Any]:
    whole = randn(4, 6, device=device)
    marked = randn(3, device=device).as_subclass(Marked)
    marked.mark = "kept"
    parameter = MarkedParameter(randn(3, device=device))
    parameter.mark = "kept"
    eye = torch.eye(3)
    return {
        "dense": whole.clone(), "view": whole[1:3, ::2], "leaf": randn(3, device=device).requires_grad_(),
        "empty": whole[:0].clone(), "scalar": whole.sum(), "parameter": nn.Parameter(randn(3, device=device)),
        "frozen": nn.Parameter(torch.arange(3).to(device), False), "buffer": nn.Buffer(randn(3, device=device)),
        "bfloat16": whole.bfloat16(), "float8": torch.arange(8.0).to(torch.float8_e5m2).to(device),
        "complex": randn(3, device=device, dtype=torch.complex64), "subclass": marked, "own parameter": parameter,
        "coo": eye.to_sparse().to(device), "csr": eye.to_sparse_csr().to(device), "csc": eye.to_sparse_csc().to(device),
        "jagged": torch.nested.nested_tensor([randn(2, 3, device=device), randn(4, 3, device=device)], layout=torch.jagged),
        "nested": torch.nested.nested_tensor([randn(2, 3, device=device), randn(4, 3, device=device)]),
    }  # fmt: skip


def look(value: torch.Tensor) -> Any:
    parts = [value] if not value.is_nested else list(value.unbind())
    whole = [(p.stride(), p.storage_offset()) for p in parts if p.layout is torch.strided]
    values = [(p.dtype, p.detach().to_dense().to(torch.complex64).tolist()) for p in parts]
    return type(value), value.layout, value.requires_grad, getattr(value, "mark", None), whole, values


class Sharing(Case):
    @unittest.skipIf(NATIVE == "cuda", "memory of CUDA is sent to other processes only")
    def test_every_kind(self) -> None:
        for strategy in ("file_descriptor", "file_system"):
            before = mp.get_sharing_strategy()
            mp.set_sharing_strategy(strategy)
            try:
                expected = kinds(NATIVE)
                for name, value in kinds(DEVICE).items():
                    with self.subTest(f"{strategy} {name}"):
                        got = sent(value)
                        self.assertEqual(got.device.type, DEVICE)
                        self.assertEqual(look(got), look(sent(expected[name])))
            finally:
                mp.set_sharing_strategy(before)

    @unittest.skipIf(NATIVE == "cuda", "memory of CUDA is sent to other processes only")
    def test_the_memory_is_shared(self) -> None:
        for name in ("dense", "view", "parameter", "subclass", "bfloat16"):
            with self.subTest(name):
                value = kinds(DEVICE)[name]
                first, again = sent(value), sent(value)
                with torch.no_grad():
                    first.fill_(7)
                self.assertEqual((value == 7).all().item(), True)
                self.assertEqual(first.untyped_storage().data_ptr(), again.untyped_storage().data_ptr())
        x = randn(6, device=DEVICE)
        both = sent([x, x[2:]])
        self.assertEqual(both[0][2:].data_ptr(), both[1].data_ptr())
        pair = sent(Pair(randn(3, device=DEVICE), randn(3, device=DEVICE)))
        self.assertEqual({pair.device.type, pair.left.device.type, pair.right.device.type}, {DEVICE})

    def test_queues(self) -> None:
        context = mp.get_context(START)
        questions, answers = context.Queue(), context.Queue()
        child = context.Process(target=answer, args=(questions, answers))
        child.start()
        try:
            for name in ("dense", "view", "leaf", "parameter", "float8", "coo", "subclass"):
                with self.subTest(name):
                    value = kinds(DEVICE)[name]
                    before = described(value)
                    questions.put(value)
                    seen, back = answers.get(timeout=60)
                    self.assertEqual(seen, before)
                    self.assertEqual((type(back), back.device), (type(value), value.device))
                    self.assertEqual(described(back), described(value))  # what the child wrote is in both
                    self.assertEqual(seen != described(value), name != "coo")
        finally:
            questions.put(None)
            questions.put(None)
            child.join(100)
            child.kill()

    def test_data_loader_workers(self) -> None:
        for device, pin in ((DEVICE, False), ("cpu", False), ("cpu", True)):
            loader = DataLoader(Rows(device), batch_size=2, num_workers=1, multiprocessing_context=START, pin_memory=pin)
            batches = list(loader)
            self.assertEqual([b.device.type for b in batches], [device] * 2)
            self.assertEqual([b.tolist() for b in batches], [[[0.0] * 3, [1.0] * 3], [[2.0] * 3, [3.0] * 3]])

    def test_share_memory(self) -> None:
        def shared(device: str) -> Any:
            x, module = randn(3, device=device), nn.Linear(2, 3).to(device)
            values = x.tolist()
            results = [x.share_memory_() is x, x.tolist() == values, x.untyped_storage().share_memory_().tolist()]
            return [*results, x.is_shared(), module.share_memory() is module, [p.is_shared() for p in module.parameters()]]

        self.check(shared)
        for way in (pickle.dumps, lambda v: torch.save(v, "/dev/null")):
            x = randn(3, device=DEVICE)
            way(x)
            self.assertTrue(x.share_memory_().is_shared())
            self.assertEqual((x + 1).device.type, DEVICE)

    def test_errors(self) -> None:
        def not_a_leaf(device: str) -> Callable[[], Any]:
            return sent(randn(3, device=device).requires_grad_() * 2)

        self.check_error(not_a_leaf)

    @unittest.skipIf(NATIVE == "cuda", "memory of CUDA is sent to other processes only")
    def test_storages(self) -> None:
        storage = torch.arange(6, dtype=torch.uint8, device=DEVICE).untyped_storage()
        self.assertEqual((sent(storage).device.type, sent(storage).tolist()), (NATIVE, [0, 1, 2, 3, 4, 5]))
        for made in (torch.UntypedStorage(4, device=DEVICE).fill_(3), torch.UntypedStorage(0, device=DEVICE),
                     torch.TypedStorage(4, dtype=torch.float32, device=DEVICE).fill_(3)):  # fmt: skip
            got = sent(made)
            self.assertEqual((type(got), got.device, got.tolist()), (type(made), made.device, made.tolist()))


if __name__ == "__main__":
    unittest.main()
