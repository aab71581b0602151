"""Runs a function on the target and on flagos: every expected value is what the target gives for the same call.

FLAGOS_TARGET chooses the target.
"""

from __future__ import annotations

import io
import unittest
from typing import Any, Callable

import torch

import flagos

NATIVE = flagos.target()
DEVICE = "flagos"
# A native CUDA backward in a process with a PrivateUse1 backend fails in the autograd engine (pytorch issue 161129).
NATIVE_BACKWARD = NATIVE == "cpu"


def tree_map(function: Callable[[torch.Tensor], Any], tree: Any) -> Any:
    return torch.utils._pytree.tree_map_only(torch.Tensor, function, tree)


class Case(unittest.TestCase):
    """Runs a function of a device on the target and on flagos."""

    def check(self, function: Callable[[str], Any], exact: bool = True) -> Any:
        """The results must be equal bit for bit (or close), and flagos's be on flagos."""
        results = {}
        for device in (NATIVE, DEVICE):
            torch.manual_seed(7)
            results[device] = function(device)
        flat = {d: torch.utils._pytree.tree_leaves(r) for d, r in results.items()}
        self.assertEqual(len(flat[NATIVE]), len(flat[DEVICE]))
        for expected, got in zip(flat[NATIVE], flat[DEVICE]):
            if not isinstance(expected, torch.Tensor):
                self.assertEqual(expected, got)
                continue
            self.assertEqual(expected.dtype, got.dtype)
            self.assertEqual(expected.shape, got.shape)
            if expected.device.type == NATIVE and NATIVE != "cpu":
                self.assertEqual(got.device.type, DEVICE)
            left, right = (t.detach().cpu().to_dense() if t.layout != torch.strided else t.detach().cpu()
                           for t in (expected, got))
            if exact:
                torch.testing.assert_close(right, left, rtol=0, atol=0, equal_nan=True)
            else:
                torch.testing.assert_close(right, left)
        return results[DEVICE]

    def check_error(self, function: Callable[[str], Any]) -> None:
        """Both raise, with the same first line but for the device's name."""
        texts = []
        for device in (NATIVE, DEVICE):
            with self.assertRaises(Exception) as caught:
                function(device)
            texts.append(str(caught.exception).split("\n")[0].replace("flagos", NATIVE))
        self.assertEqual(texts[0].replace(":0", ""), texts[1].replace(":0", ""))


def randn(*shape: int, device: str, dtype: torch.dtype = torch.float32, seed: int = 3) -> torch.Tensor:
    """The same noise on every device."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=dtype).to(device)


def reloaded(tensor: torch.Tensor, **options: Any) -> torch.Tensor:
    """What torch.load(**options) makes of what torch.save wrote."""
    file = io.BytesIO()
    torch.save(tensor, file)
    file.seek(0)
    return torch.load(file, **options)
