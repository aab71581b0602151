"""torch.save, torch.load, pickle and copy of flagos tensors, of what holds them, and of storages and generators.

What the target's tensors keep through a file or a copy, flagos tensors keep, and their device besides.
"""

from __future__ import annotations

import copy
import io
import pickle
import unittest
from typing import Any, Callable

import torch
from torch import nn

from saving_kinds import OLD_FILE, Marked, MarkedParameter, Pair
from target_case import DEVICE, NATIVE, Case, randn

DTYPES = sorted({value for value in vars(torch).values() if isinstance(value, torch.dtype)}, key=str)


def saved(value: Any, **options: Any) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(value, file, **options)
    file.seek(0)
    return file


def by_file(value: Any) -> Any:
    return torch.load(saved(value), weights_only=False)


def by_old_format(value: Any) -> Any:
    return torch.load(saved(value, _use_new_zipfile_serialization=False), weights_only=False)


def by_pickle(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


WAYS: dict[str, Callable[[Any], Any]] = {
    "torch.save": by_file, "the old format": by_old_format, "pickle": by_pickle, "copy": copy.copy, "deepcopy": copy.deepcopy,
}  # fmt: skip


def content(tensor: torch.Tensor) -> tuple[Any, ...]:
    """What a tensor is, and every byte of its storage."""
    storage = bytes(tensor.detach().untyped_storage().cpu())
    return tensor.dtype, tensor.shape, tensor.stride(), tensor.storage_offset(), tensor.requires_grad, storage


class Saving(Case):
    def each_way(self, make: Callable[[str], Any], look: Callable[[Any], Any] = content, but: tuple[str, ...] = ()) -> None:
        """What comes back is, to `look`, as on the target, and on flagos. `but`: ways that the target itself has not."""
        for name, way in WAYS.items():
            if name in but:
                continue
            with self.subTest(name):
                made = make(DEVICE)
                back = way(made)
                self.assertEqual(look(back), look(way(make(NATIVE))))
                self.assertEqual([t.device for t in torch.utils._pytree.tree_leaves(back) if isinstance(t, torch.Tensor)],
                                 [t.device for t in torch.utils._pytree.tree_leaves(made) if isinstance(t, torch.Tensor)])

    def test_every_dtype(self) -> None:
        tried = set()
        for dtype in DTYPES:
            try:
                x = torch.arange(64, dtype=torch.uint8).view(dtype)
                by_file(x)
            except (RuntimeError, KeyError):
                continue  # unknown to PyTorch's files
            if "torch.q" in str(dtype):
                continue  # not of quantizing: without scale and zero point
            tried.add(dtype)
            x = x.to(DEVICE)
            for name, way in WAYS.items():
                with self.subTest(f"{dtype} {name}"):
                    back = way(x)
                    self.assertEqual((back.device.type, content(back)), (DEVICE, content(x)))
        self.assertLessEqual(torch.storage._new_dtypes(), tried)

    def test_every_dtype_of_a_weights_file(self) -> None:
        for dtype in (torch.float32, torch.float8_e4m3fn, torch.complex32, torch.uint16, torch.uint64):
            x = torch.arange(64, dtype=torch.uint8).view(dtype)
            for location in (None, "cpu", DEVICE, f"{DEVICE}:0", torch.device(DEVICE, 0), {f"{DEVICE}:0": "cpu"}):
                with self.subTest(f"{dtype} {location}"):
                    loaded = torch.load(saved({"x": x.to(DEVICE)}), weights_only=True, map_location=location)["x"]
                    self.assertEqual(loaded.device.type, "cpu" if "cpu" in str(location) else DEVICE)
                    self.assertEqual(content(loaded), content(x))

    def test_no_trace_on_what_was_saved_or_loaded(self) -> None:
        x = torch.arange(6.0, device=DEVICE)
        for tensor in (x, *(way(x) for way in WAYS.values()), torch.load(saved(x.cpu()), map_location=DEVICE)):
            for way in WAYS.values():
                way(tensor)
            storage = tensor.untyped_storage()
            self.assertIs(type(storage), torch.UntypedStorage)
            self.assertIs(storage, tensor.untyped_storage())
            self.assertTrue(torch.is_storage(storage))
            self.assertEqual(storage.device, torch.device(NATIVE, 0) if NATIVE == "cuda" else torch.device("cpu"))
            self.assertEqual(by_file(storage).tolist(), storage.tolist())
            self.assertEqual(by_file(tensor.storage()).tolist(), tensor.tolist())
            self.assertEqual(vars(tensor), {})
        # Memory that a tensor of the target shares is the target's in a file of that tensor.
        seen = torch.ops.flagos._to_target([x])[0]
        self.assertEqual(by_file(seen).device.type, NATIVE)

    def test_subclasses(self) -> None:
        def subclass(device: str) -> torch.Tensor:
            made = randn(3, 4, device=device)[1:].as_subclass(Marked)
            made.mark = ["kept", 3]
            return made

        def parameter(device: str) -> torch.Tensor:
            made = MarkedParameter(randn(3, device=device))
            made.mark = "kept"
            return made

        def look(tensor: torch.Tensor) -> Any:
            return type(tensor), vars(tensor), content(tensor)

        self.each_way(subclass, look, but=("deepcopy",))
        for make in (parameter, lambda d: nn.Parameter(randn(3, device=d), False), lambda d: nn.Buffer(randn(3, device=d))):
            self.each_way(make, look)
        self.each_way(lambda d: Pair(randn(3, device=d), randn(3, device=d)),
                      lambda p: (type(p), content(p.left), content(p.right), p.left.device == p.device))

    def test_views_and_shared_storages(self) -> None:
        def views(device: str) -> list[torch.Tensor]:
            whole = randn(4, 6, device=device)
            return [whole, whole.t(), whole[1:3, ::2], whole[0].expand(3, 6), whole.view(torch.int32), whole[:0], randn(2, device=device).requires_grad_()]

        def look(tensors: list[torch.Tensor]) -> Any:
            first = tensors[0].untyped_storage()._cdata
            return [(*content(t), t.untyped_storage()._cdata == first) for t in tensors]

        for name in ("torch.save", "deepcopy"):
            drop = (4,) if name == "torch.save" else ()  # one storage as two dtypes: an error of PyTorch's
            make = lambda d, drop=drop: [t for i, t in enumerate(views(d)) if i not in drop]
            self.assertEqual(look(WAYS[name](make(DEVICE))), look(WAYS[name](make(NATIVE))))
            self.assertEqual({t.device.type for t in WAYS[name](make(DEVICE))}, {DEVICE})
        self.check_error(lambda d: saved(views(d)))

    def test_bits_and_hooks(self) -> None:
        self.each_way(lambda d: randn(3, device=d, dtype=torch.complex64).conj(), lambda t: (t.is_conj(), t.resolve_conj().tolist()))
        self.each_way(lambda d: randn(3, device=d, dtype=torch.complex64).conj().imag, lambda t: (t.is_neg(), t.resolve_neg().tolist()))

    def test_layouts(self) -> None:
        for layout in (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc):
            block = (1, 1) if layout in (torch.sparse_bsr, torch.sparse_bsc) else None
            self.each_way(lambda d, layout=layout, block=block: torch.eye(4).to_sparse(layout=layout, blocksize=block).to(d),
                          lambda t: (t.layout, t.to_dense().tolist()), but=() if layout is torch.sparse_coo else ("deepcopy",))
        indices = torch.tensor([[0, 0, 2]], device=DEVICE)
        for way in WAYS.values():
            self.assertFalse(way(torch.sparse_coo_tensor(indices, torch.ones(3, device=DEVICE), (4,))).is_coalesced())
        for layout in (torch.strided, torch.jagged):
            def nested(device: str, layout: torch.layout = layout) -> torch.Tensor:
                return torch.nested.nested_tensor([randn(2, 3, device=device), randn(4, 3, device=device)], layout=layout)

            # Nested tensors have sizes in memory, which the old format reads last.
            self.each_way(nested, lambda t: [part.tolist() for part in t.unbind()],
                          but=("the old format", "deepcopy") if layout is torch.strided else ())

    def test_modules_and_optimizers(self) -> None:
        def state(device: str, way: Callable[[Any], Any]) -> Any:
            torch.manual_seed(5)
            module = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).to(device)
            optimizer = torch.optim.AdamW(module.parameters())
            if NATIVE == "cpu" or device == DEVICE:
                module(randn(2, 3, device=device)).sum().backward()
                optimizer.step()
            return way([module.state_dict(), optimizer.state_dict()])

        for way in (by_file, by_pickle, copy.deepcopy, lambda v: torch.load(saved(v), weights_only=True)):
            leaves = torch.utils._pytree.tree_leaves(state(DEVICE, way))
            expected = torch.utils._pytree.tree_leaves(state(NATIVE, way))
            self.assertEqual([t.tolist() if isinstance(t, torch.Tensor) else t for t in leaves],
                             [t.tolist() if isinstance(t, torch.Tensor) else t for t in expected])
            self.assertEqual([t.device.type == DEVICE for t in leaves if isinstance(t, torch.Tensor)],
                             [t.device.type == DEVICE for t in torch.utils._pytree.tree_leaves(state(DEVICE, lambda v: v)) if isinstance(t, torch.Tensor)])

    def test_map_location_by_function(self) -> None:
        x = randn(3, device="cpu")
        for function in (lambda s, _: s.flagos(), lambda s, _: s.to(device=DEVICE), lambda s, place: None):
            loaded = torch.load(saved(x.to(DEVICE)), map_location=function)
            self.assertEqual((loaded.device.type, content(loaded)), (DEVICE, content(x)))
        with self.assertRaisesRegex(RuntimeError, "device_count"):
            torch.load(saved(x), map_location=f"{DEVICE}:99")

    def test_memory_from_dlpack(self) -> None:
        for name, way in WAYS.items():
            with self.subTest(name):
                x = torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(randn(3, device=DEVICE)))
                self.assertEqual((way(x).device.type, content(way(x))), (DEVICE, content(randn(3, device="cpu"))))

    def test_files_of_older_versions(self) -> None:
        for location in (None, "cpu", DEVICE):
            loaded = torch.load(io.BytesIO(OLD_FILE), map_location=location)
            self.assertEqual({t.device.type for t in loaded.values()}, {location or DEVICE})
            self.assertEqual({name: t.tolist() for name, t in loaded.items()}, {"x": [[0, 1, 2], [3, 4, 5]], "column": [1, 4]})
            self.assertEqual(loaded["x"].data_ptr() + 4, loaded["column"].data_ptr())

    def test_packages(self) -> None:
        x, file = randn(6, device=DEVICE), io.BytesIO()
        with torch.package.PackageExporter(file) as exporter:
            exporter.save_pickle("held", "x", [x, x[2:]])
        file.seek(0)
        whole, part = torch.package.PackageImporter(file).load_pickle("held", "x")
        self.assertEqual((whole.device.type, content(whole), whole[2:].data_ptr()), (DEVICE, content(x), part.data_ptr()))

    def test_files_without_flagos(self) -> None:
        """What a process without this package needs to know is in PyTorch."""
        for value in (torch.ones(3, device=DEVICE), torch.ones(3, device=DEVICE).to(torch.float8_e5m2), nn.Parameter(torch.ones(3, device=DEVICE))):
            for data in (saved(value).getvalue(), pickle.dumps(value)):
                self.assertNotIn(b"flagos.", data.replace(b"flagos:0", b""))


if __name__ == "__main__":
    unittest.main()
