"""No kind of call from Python leaves memory behind.

Each kind is called in four windows of WINDOW calls. What malloc has handed out must not grow by LEAST bytes a call in
every one of them: a leak shows in each, a cache that fills or a queue that doubles does not. The smallest object there
is takes 24 bytes. With GLIBC_TUNABLES=glibc.malloc.tcache_count=0, or malloc's own caches count as handed out.
"""

from __future__ import annotations

import ctypes
import gc
import unittest
from collections.abc import Callable

import torch

import flagos

WINDOW = 500  # calls
LEAST = 12  # bytes


class MallInfo2(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    ]


LIBC = ctypes.CDLL(None)
LIBC.mallinfo2.restype = MallInfo2


def handed_out() -> int:
    """Bytes, in all arenas and in what malloc has mapped apart."""
    gc.collect()
    info = LIBC.mallinfo2()
    return info.uordblks + info.hblkhd


def growth(call: Callable[[], object]) -> float:
    """Bytes a call: the least of four windows', after one that isn't counted."""
    for _ in range(WINDOW):
        call()
    counts = [handed_out()]
    for _ in range(4):
        for _ in range(WINDOW):
            call()
        counts.append(handed_out())
    return min(after - before for before, after in zip(counts, counts[1:])) / WINDOW


class Subclass(torch.Tensor):
    pass


class PythonCalls(unittest.TestCase):
    def setUp(self) -> None:
        self.a = torch.arange(12.0, device="flagos").view(3, 4)
        self.b = torch.ones(3, 4, device="flagos")
        self.seven = torch.arange(24.0, device="flagos").view(2, 1, 3, 1, 2, 1, 2)
        self.weight = torch.ones(4, 4, device="flagos", requires_grad=True)
        self.weight_of_seven = torch.ones(self.seven.shape, device="flagos", requires_grad=True)

    def check(self, **kinds: Callable[[], object]) -> None:
        for name, call in kinds.items():
            with self.subTest(name):
                self.assertLess(growth(call), LEAST, "bytes a call")

    def test_operators(self) -> None:
        a, b = self.a, self.b
        self.check(
            add=lambda: a + b,
            in_place=lambda: b.add_(0),
            views=lambda: a.view(4, 3).t()[0][None].expand(2, 4),
            cat=lambda: torch.cat([a, b]),
            mm=lambda: a @ b.t(),
            out=lambda: torch.add(a, b, out=torch.empty(0, device="flagos")),
            foreach=lambda: torch._foreach_add([a, b], 1),
            random=lambda: torch.rand(3, device="flagos"),
            conj=lambda: torch.complex(a, b).conj() + 1,
            vmap=lambda: torch.vmap(torch.sin)(a),
            subclass=lambda: a.as_subclass(Subclass) + b,
        )

    def test_seven_dimensions(self) -> None:
        x, weight = self.seven, self.weight_of_seven
        self.check(
            forward=lambda: (x + x).add_(1).transpose(0, 6).contiguous(),
            cat=lambda: torch.cat([x, x]),
            out=lambda: torch.add(x, x, out=torch.empty(0, device="flagos")),
            copies=lambda: x.cpu().to("flagos"),
            backward=lambda: torch.autograd.grad((x * weight).permute(6, 5, 4, 3, 2, 1, 0).exp().sum(), weight),
        )

    def test_out_of_the_device(self) -> None:
        a = self.a
        self.check(
            copies=lambda: a.cpu().to("flagos"),
            item=lambda: a.sum().item(),
            numpy=lambda: a.cpu().numpy(),
            dlpack=lambda: torch.from_dlpack(torch.to_dlpack(a)),
            save=lambda: torch.save(a, "/dev/null"),
        )

    def test_training(self) -> None:
        model = torch.nn.Linear(4, 4).to("flagos")
        optimizer = torch.optim.AdamW(model.parameters())

        def step() -> None:
            optimizer.zero_grad()
            with torch.autocast("flagos", dtype=torch.bfloat16):
                loss = model(self.a).float().sum()
            loss.backward()
            optimizer.step()

        self.check(backward=lambda: torch.autograd.grad((self.a @ self.weight).exp().sum(), self.weight), step=step)

    def test_raising(self) -> None:
        a = self.a

        def raises(call: Callable[[], object]) -> Callable[[], None]:
            def checked() -> None:
                try:
                    call()
                except RuntimeError:
                    return
                self.fail("nothing was raised")

            return checked

        self.check(
            mm=raises(lambda: a @ a),
            cat=raises(lambda: torch.cat([a, self.seven])),
            view=raises(lambda: a.view(5, 5)),
            devices=raises(lambda: a + torch.ones(3, 4)),
            out=raises(lambda: torch.add(a, a, out=torch.empty(0, dtype=torch.long, device="flagos"))),
        )

    def test_package(self) -> None:
        a, b = self.a, self.b

        def switches() -> None:
            flagos.set_redispatch_enabled(False)
            with flagos.redispatch(True):
                a + b
            flagos.set_redispatch_enabled(True)

        self.check(
            switches=switches,
            stats=flagos.stats,
            explain=lambda: flagos.explain(torch.add, a, b),
            stream=torch.flagos.current_stream,
        )

    def test_a_leak_is_found(self) -> None:
        kept: list[torch.Tensor] = []
        self.assertGreater(growth(lambda: kept.append(self.a + self.b)), 100)


if __name__ == "__main__":
    unittest.main()
