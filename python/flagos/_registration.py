"""What has to be told to PyTorch's Python side, once the library has registered the device in C++."""

from __future__ import annotations

import torch
import torch.utils.backend_registration as backend_registration

from flagos._library import library

_NAME = "flagos"


def _check_name_is_free() -> None:
    name = torch._C._get_privateuse1_backend_name()
    if name not in ("privateuseone", _NAME):
        raise ImportError(
            f'flagos: this process already has another PrivateUse1 backend, "{name}"; PyTorch allows one. Start a '
            "process that does not load it, or set FLAGOS_DISABLE=1."
        )


def _generate_methods() -> None:
    """Tensor.flagos(), Tensor.is_flagos, Module.flagos() and their like.

    PyTorch refuses to generate a method that exists, so each kind is asked for only when it is not there yet.
    """
    wanted = {
        "for_tensor": not hasattr(torch.Tensor, _NAME),
        "for_module": not hasattr(torch.nn.Module, _NAME),
        "for_packed_sequence": not hasattr(torch.nn.utils.rnn.PackedSequence, _NAME),
        "for_storage": not hasattr(torch.UntypedStorage, _NAME),
    }
    if any(wanted.values()):
        torch.utils.generate_methods_for_privateuse1_backend(**wanted)


def register() -> None:
    """Loads the library and registers `torch.flagos`. May be called any number of times."""
    _check_name_is_free()
    library()
    # PyTorch keeps the name a second time for Python, because TorchScript can't call the C++ query.
    backend_registration._privateuse1_backend_name = _NAME
    from flagos import device, storage

    if getattr(torch, _NAME, None) is not device:
        torch._register_device_module(_NAME, device)
        storage.register()
    _generate_methods()
