"""What has to be told to PyTorch's Python side, once the library has registered the device in C++."""

from __future__ import annotations

import sys
from importlib.metadata import entry_points

import torch
import torch.utils.backend_registration as backend_registration

from flagos._after_import import after_import
from flagos._library import library, target
from flagos._unavailable import Unavailable

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
    backend_registration.generate_methods_for_privateuse1_backend(
        for_tensor=not hasattr(torch.Tensor, _NAME),
        for_module=not hasattr(torch.nn.Module, _NAME),
        for_packed_sequence=not hasattr(torch.nn.utils.rnn.PackedSequence, _NAME),
        for_storage=not hasattr(torch.UntypedStorage, _NAME),
    )


def _register_compiler() -> None:
    """What torch.compile needs; done when PyTorch imports the modules that do it."""
    from flagos import _dynamo, _inductor

    after_import("torch._dynamo.device_interface", _dynamo.register)
    after_import("torch._decomp.decompositions", _dynamo.trace_as_written)
    after_import("torch._inductor.compile_fx", _inductor.install)


def _mend_device_checks() -> None:
    """Where PyTorch's Python asks for a device type by name, and has no registry."""
    from flagos import _checkpoint, _jiterator, _nested, _recurrent

    after_import("torch.distributed.checkpoint.filesystem", _checkpoint.register)
    if target() == "cuda":
        after_import("torch.nested._internal.sdpa", _nested.register)
        _recurrent.register()
        _jiterator.register()


def register() -> None:
    """Loads the library and registers `torch.flagos`. May be called any number of times."""
    _check_name_is_free()
    library()
    # PyTorch keeps the name a second time for Python, because TorchScript can't call the C++ query.
    setattr(backend_registration, "_privateuse1_backend_name", _NAME)
    from flagos import _saving, _sharing, _torchscript, device, distributed, storage

    registered = getattr(torch, _NAME, None)
    if isinstance(registered, Unavailable):
        delattr(torch, _NAME)
    if registered is not device:
        torch._register_device_module(_NAME, device)  # type: ignore[no-untyped-call]
        for part in (device.amp, device.graphs, device.memory, device.random, device.streams):
            sys.modules[part.__name__.replace("flagos", f"torch.{_NAME}", 1)] = part  # for `import torch.flagos.amp`
        storage.register()
        _saving.register()
        _sharing.register()
        _torchscript.register()
        distributed.register()
        _mend_device_checks()
        _register_compiler()
    _generate_methods()


def _may_take_the_name() -> bool:
    """Whether the device's name can be made known without the library, and without harm to others.

    To PyTorch a PrivateUse1 backend with a name is *the* accelerator: where there is another one, its programs would
    suffer. A backend that is yet to be loaded would need the name.
    """
    others = torch.cuda.device_count() > 0 or torch.xpu.is_available() or len(entry_points(group="torch.backends")) > 1
    return torch._C._get_privateuse1_backend_name() == "privateuseone" and not others


def defer(error: Exception) -> None:
    """Has the first use of the device raise `error`, instead of the import of torch."""
    if _may_take_the_name():  # `device="flagos"` then gets as far as the module that says what is wrong
        backend_registration.rename_privateuse1_backend(_NAME)
    module = Unavailable(f"torch.{_NAME}", error)
    setattr(torch, _NAME, module)
    sys.modules[module.__name__] = module
