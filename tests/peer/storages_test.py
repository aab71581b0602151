"""Storages that are asked for on flagos, generators, and copies of quantized tensors: what the target offers of each."""

from __future__ import annotations

import copy
import gc
import pickle
import unittest
import weakref
from typing import Any, Callable

import torch

from saving_test import by_file, by_old_format, by_pickle
from target_case import DEVICE, NATIVE, Case, randn

COPIES: dict[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy, "copy": copy.copy, "pickle": by_pickle, "torch.save": by_file, "the old format": by_old_format,
}  # fmt: skip


def made(device: str) -> dict[str, Any]:
    host = torch.UntypedStorage([1, 2, 3, 4])
    typed = torch.TypedStorage([1.0, 2.0], dtype=torch.float32)
    return {
        "device=": torch.UntypedStorage(4, device=device).copy_(host), "device=index": torch.UntypedStorage(4, device=f"{device}:0").fill_(3),
        "none": torch.UntypedStorage(device=device), "sequence": torch.UntypedStorage([5, 6], device=device),
        "to": host.to(device=device), "to index": host.to(device=torch.device(device, 0)),
        "clone": host.to(device=device).clone(), "typed": torch.TypedStorage(2, dtype=torch.float32, device=device).fill_(2),
        "typed to": typed.to(device=device),
        "typed clone": typed.to(device=device).clone(), "float8": torch.TypedStorage(3, dtype=torch.float8_e5m2, device=device).fill_(1),
    }  # fmt: skip


class Storages(Case):
    def test_a_storage_asked_for_by_device(self) -> None:
        expected = made(NATIVE)
        for name, storage in made(DEVICE).items():
            with self.subTest(name):
                self.assertEqual(storage.device, torch.device(DEVICE, 0))
                self.assertTrue(storage.is_flagos)
                self.assertEqual((type(storage), storage.nbytes(), storage.tolist()),
                                 (type(expected[name]), expected[name].nbytes(), expected[name].tolist()))
                self.assertEqual(storage.cpu().device.type, "cpu")
                self.assertEqual(storage.cpu().tolist(), storage.tolist())
                self.assertEqual(torch.is_storage(storage), torch.is_storage(expected[name]))
                self.assertIs(storage.to(device=torch.device(DEVICE, 0)) is storage, isinstance(storage, torch.UntypedStorage))

    def test_copies(self) -> None:
        for name, storage in made(DEVICE).items():
            for way, function in COPIES.items():
                if isinstance(storage, torch.UntypedStorage) and way in ("pickle", "the old format"):
                    continue  # PyTorch loads no untyped storage from these
                if name == "float8" and way in ("pickle", "the old format", "torch.save"):
                    continue
                with self.subTest(f"{name} {way}"):
                    back = function(storage)
                    self.assertEqual((back.device, back.tolist()), (storage.device, storage.tolist()))

    def test_methods(self) -> None:
        host = torch.UntypedStorage([1, 2, 3, 4])
        for storage in (host.flagos(), host.flagos(0), host.to(device=DEVICE)):
            self.assertIs(storage.flagos(0), storage)
            self.assertEqual((storage.get_device(), storage.is_cuda, storage.is_shared()), (0, False, NATIVE == "cuda"))
            self.assertIs(storage.share_memory_(), storage)
        typed = torch.TypedStorage([1.0, 2.0], dtype=torch.float32)
        self.assertEqual((typed.flagos().device.type, typed.flagos().is_flagos, typed.flagos().tolist()), (DEVICE, True, [1, 2]))
        self.assertFalse(typed.is_flagos or host.is_flagos or torch.ones(1).untyped_storage().is_flagos)
        with self.assertRaises(TypeError):
            host.flagos().pin_memory()

    def test_tensors_over_it(self) -> None:
        storage = torch.UntypedStorage(8, device=DEVICE).fill_(1)
        x = torch.empty(0, dtype=torch.int16, device=DEVICE).set_(storage)
        x += 1
        self.assertEqual((x.device.type, x.tolist(), storage.tolist()), (DEVICE, [258] * 4, [2, 1] * 4))
        self.assertEqual((x.data_ptr(), x.untyped_storage()._cdata), (storage.data_ptr(), storage._cdata))
        self.assertEqual(x.untyped_storage().device.type, NATIVE)
        self.assertEqual(x.new(torch.TypedStorage(3, dtype=torch.int16, device=DEVICE)).device.type, DEVICE)
        storage.resize_(16)
        self.assertEqual((x.untyped_storage().nbytes(), x.tolist()), (16, [258] * 4))

    def test_the_memory_lives_as_long_as_anything_over_it(self) -> None:
        storage = torch.UntypedStorage(8, device=DEVICE).fill_(1)
        x = torch.empty(0, dtype=torch.uint8, device=DEVICE).set_(storage)
        del storage
        gc.collect()
        self.assertEqual(x.tolist(), [1] * 8)
        kept = x.untyped_storage()
        kept.mark = "kept"
        gone = weakref.ref(x)
        del x
        gc.collect()
        self.assertIsNone(gone())
        self.assertEqual((kept.tolist(), kept.mark), ([1] * 8, "kept"))
        x = torch.empty(0, dtype=torch.uint8, device=DEVICE).set_(kept)
        by_pickle(x)
        self.assertIs(x.untyped_storage(), kept)

    def test_other_devices_are_left_alone(self) -> None:
        for device in ("cpu", "meta", None):
            storage = torch.UntypedStorage(3, device=device) if device else torch.UntypedStorage(3)
            self.assertEqual(storage.device.type, device or "cpu")
        with self.assertRaises(RuntimeError):
            torch.UntypedStorage(3, device="no such device")

        class Own(torch.UntypedStorage):
            pass

        self.assertEqual([(type(s), s.device.type) for s in (Own(2), Own(2, device=DEVICE))], [(Own, "cpu"), (Own, DEVICE)])


class Generators(Case):
    def test_copies_go_on_alike(self) -> None:
        def drawn(device: str) -> Any:
            generator = torch.Generator(device).manual_seed(11)
            torch.rand(3, generator=generator, device=device)
            copies = [way(generator) for way in (copy.deepcopy, copy.copy, by_pickle, by_file)]
            copies += [pickle.loads(pickle.dumps(generator, protocol)) for protocol in range(2, 6)]
            self.assertEqual({g.device for g in copies}, {generator.device})
            first = [torch.rand(3, generator=g, device=device) for g in copies]
            return [torch.rand(3, generator=generator, device=device), *first, [g.initial_seed() for g in copies]]

        self.check(drawn)

    def test_within_others(self) -> None:
        generator = torch.Generator(DEVICE).manual_seed(3)
        held = copy.deepcopy({"a": generator, "b": [generator]})
        self.assertIs(held["a"], held["b"][0])
        self.assertIsNot(held["a"], generator)
        sampler = torch.utils.data.RandomSampler(range(9), generator=torch.Generator().manual_seed(1))
        self.assertEqual(list(copy.deepcopy(sampler)), list(sampler))


class Quantized(Case):
    def test_deepcopy(self) -> None:
        scales, zeros = torch.tensor([0.1, 0.2, 0.3]), torch.zeros(3, dtype=torch.long)

        def copied(device: str) -> Any:
            x = randn(3, 4, device=device)
            whole = [torch.quantize_per_tensor(x, 0.1, 3, dtype) for dtype in (torch.quint8, torch.qint8, torch.qint32)]
            whole += [torch.quantize_per_channel(x, scales.to(device), zeros.to(device), 0, torch.qint8), whole[0][1:], whole[1].t()]
            whole[0].mark = ["kept"]
            results = copy.deepcopy([*whole, whole[0]])
            self.assertIs(results[0], results[-1])
            self.assertEqual({r.device.type for r in results}, {device})
            self.assertEqual(results[0].mark, ["kept"])
            self.assertIsNot(results[0].mark, whole[0].mark)
            shared = results[0].untyped_storage()._cdata == results[4].untyped_storage()._cdata
            return [shared, *((r.int_repr(), r.stride(), r.storage_offset(), str(r.qscheme())) for r in results)]

        self.check(copied)

    def test_modules(self) -> None:
        module = torch.nn.Module()
        module.register_buffer("q", torch.quantize_per_tensor(randn(3, device=DEVICE), 0.1, 3, torch.quint8))
        module.p = torch.nn.Parameter(torch.quantize_per_tensor(randn(3, device=DEVICE), 0.1, 3, torch.quint8), False)
        twin = copy.deepcopy(module)
        self.assertEqual((twin.q.device.type, twin.p.device.type), (DEVICE, DEVICE))
        self.assertEqual(twin.q.int_repr().tolist(), module.q.int_repr().tolist())


if __name__ == "__main__":
    unittest.main()
