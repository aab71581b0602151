"""Runs a check-op worker under a TorchDispatchMode that passes every call on.

Called as: python_mode.py WORKER_LIBRARY --worker IN OUT SEED [TRACE]. The worker is the tool's own code, in a shared
library; it makes its arguments below the mode and calls the operators under it.
"""
import ctypes
import sys

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class PassThrough(TorchDispatchMode):
    """Sees every call, changes none."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def main() -> int:
    library, arguments = sys.argv[1], sys.argv[1:]
    # The device's Python module, which torch asks for as soon as Python sees one of its tensors.
    torch.utils.rename_privateuse1_backend("flagos")
    worker = ctypes.PyDLL(library)  # PyDLL keeps the interpreter lock: operators call back into Python
    worker.flagos_diag_worker.restype = ctypes.c_int
    argv = (ctypes.c_char_p * len(arguments))(*(text.encode() for text in arguments))
    with PassThrough():
        return worker.flagos_diag_worker(len(arguments), argv)


if __name__ == "__main__":
    sys.exit(main())
