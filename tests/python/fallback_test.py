"""An operator without a kernel at the target: FLAGOS_FALLBACK=error|warn|allow and FLAGOS_LOG_FALLBACK.

What falls back runs on the CPU, so only a CUDA target has fallbacks. Where the target is the CPU, the way through the
CPU that they take is a route's.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import unittest

import torch

import flagos

ON_CPU = flagos.target() == "cpu"
POLICIES = ("error", "warn", "allow")

# Operators with a kernel for the CPU alone, and the same functions of CPU tensors.
_OPERATORS = """
import torch, flagos, sys, warnings
lib = torch.library.Library("fell", "DEF")

def add_all_(xs, y, scale=1):
    for x in xs: x.add_(y, alpha=scale)

def pick(x, indices):
    return x.new_tensor([-1.0 if i is None else float(i.sum()) for i in indices])

def double_out(x, *, out):
    out.resize_(x.shape)
    return out.copy_(x * 2)

def split_max(x, extra=None):
    return [x.max(), *([] if extra is None else [extra.sum()])], x.argmax()

kernels = {
    "add_all_(Tensor(a!)[] xs, Tensor y, int scale=1) -> ()": add_all_,
    "pick(Tensor x, Tensor?[] indices) -> Tensor": pick,
    "double.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)": double_out,
    "split_max(Tensor x, Tensor? extra=None) -> (Tensor[], Tensor)": split_max,
    "inc_(Tensor(a!) x) -> Tensor(a!)": lambda x: x.add_(1),
    "window(Tensor(a) x) -> Tensor(a)": lambda x: x[:1],
    "made(int n, *, Device device) -> Tensor": lambda n, device: torch.zeros(n),
}
for schema, kernel in kernels.items():
    lib.define(schema)
    lib.impl(schema.partition("(")[0], kernel, "CPU")
lib.define("noise(Tensor x) -> Tensor", tags=[torch.Tag.nondeterministic_seeded])
lib.impl("noise", torch.rand_like, "CPU")
ops = torch.ops.fell

def on(device):
    # All that the calls return and change.
    a, b, y = (torch.arange(6.0, device=device).view(2, 3), torch.ones(2, 3, device=device).t().contiguous().t(),
               torch.full((3,), 2.0, device=device))
    base, places = torch.zeros(2, 6, device=device), torch.tensor([1, 2], device=device)
    ops.add_all_([a, b, base[:, ::2]], y, scale=3)
    ops.add_all_([], y)
    out, strided = torch.empty(0, device=device), torch.zeros(2, 6, device=device)
    same = ops.double.out(a, out=out) is out
    ops.double.out(a, out=strided[:, 1::2])
    picked = [ops.pick(a, [None, places]), ops.pick(a, [places, None, None]), ops.pick(a, [])]
    lists, place = ops.split_max(a, y)
    (alone,), _ = ops.split_max(a)
    changed = a.clone()
    returned = ops.inc_(changed)
    assert same and returned is changed
    return [a, b, base, out, strided, *picked, *lists, alone, place, changed]
"""


def run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items()
           if name not in ("FLAGOS_FALLBACK", "FLAGOS_LOG_FALLBACK", "TORCH_CPP_LOG_LEVEL")}  # fmt: skip
    return subprocess.run([sys.executable, "-W", "always", "-c", code], env={**env, **variables}, capture_output=True,
                          text=True, timeout=300, check=False)  # fmt: skip


_COMPARE = """
for left, right in zip(on("cpu"), on("flagos"), strict=True):
    assert right.device.type == "flagos", right.device
    assert (left.shape, left.stride(), left.dtype) == (right.shape, right.stride(), right.dtype), (left, right)
    assert torch.equal(left, right.cpu()), (left, right)
print("same")
"""


class Values(unittest.TestCase):
    def test_one_that_is_not_understood_is_an_error_that_says_what_is(self) -> None:
        for value in ("loud", "WARN", " warn", "1", "warn,error", "errör"):
            done = run("import flagos", FLAGOS_FALLBACK=value)
            shown = "".join("?" * len(c.encode()) if c > "~" else c for c in value)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(f'ImportError: flagos: FLAGOS_FALLBACK="{shown}" is not understood. Set it to one of error, '
                          "warn, allow, or unset it.", done.stderr)  # fmt: skip

    def test_the_others_are_taken(self) -> None:
        for value in (*POLICIES, ""):
            done = run("import torch, flagos; assert (torch.ones(2, device='flagos') + 1).sum().item() == 4",
                       FLAGOS_FALLBACK=value, FLAGOS_LOG_FALLBACK="1")  # fmt: skip
            self.assertEqual((done.returncode, done.stderr), (0, ""))


@unittest.skipUnless(ON_CPU, "of the CPU target, from which nothing falls back")
class CpuTarget(unittest.TestCase):
    def test_an_operator_that_the_cpu_lacks_is_refused_whatever_the_policy(self) -> None:
        code = """
import torch, flagos
x = torch.ones(1, 1, 3, 3, device="flagos")
lib = torch.library.Library("lacks", "DEF")
lib.define("kernel(Tensor x) -> Tensor")
calls = [lambda: torch.ops.aten.cudnn_convolution(x, x, [0, 0], [1, 1], [1, 1], 1, False, False, False),
         lambda: torch.ops.aten.miopen_convolution(x, x, None, [0, 0], [1, 1], [1, 1], 1, False, False),
         lambda: torch.ops.aten._cudnn_rnn_flatten_weight([x], 1, 1, 2, 1, 0, 1, False, False),
         lambda: torch.ops.lacks.kernel(x)]
for call in calls:
    try:
        call()
    except NotImplementedError as error:
        print(error)
"""
        names = ["aten::cudnn_convolution", "aten::miopen_convolution", "aten::_cudnn_rnn_flatten_weight",
                 "lacks::kernel"]  # fmt: skip
        for policy in POLICIES:
            done = run(code, FLAGOS_FALLBACK=policy, FLAGOS_LOG_FALLBACK="1")
            expected = [f"flagos: {name} has no kernel for CPU, the target of flagos tensors. Give the operator a kernel "
                        "there, or a composite one." for name in names]  # fmt: skip
            self.assertEqual((done.stdout.splitlines(), done.stderr), (expected, ""), policy)

    def test_what_a_fallback_would_do_a_route_does(self) -> None:
        routes = 'for name in ("add_all_", "pick", "double.out", "split_max", "inc_"):\n    '
        routes += 'flagos.routes.set_route(f"fell::{name}", "cpu")\n'
        counted = 'assert flagos.stats()["fell::pick"].refused == {"FP-ROUTE": 3}, flagos.stats()["fell::pick"]\n'
        done = run(_OPERATORS + routes + _COMPARE + counted, FLAGOS_FALLBACK="error", FLAGOS_LOG_FALLBACK="1")
        self.assertEqual((done.stdout, done.stderr), ("same\n", ""))

    def test_views_factories_and_random_numbers_take_no_such_route(self) -> None:
        for name, reason in (("window", "it returns a view"), ("noise", "it draws random numbers"),
                             ("made", "it makes a tensor")):  # fmt: skip
            done = run(_OPERATORS + f'flagos.routes.set_route("fell::{name}", "cpu")')
            self.assertRegex(done.stderr, f"fell::{name}.*{reason}")


@unittest.skipIf(ON_CPU, "needs a CUDA target")
class CudaTarget(unittest.TestCase):
    def test_results_are_the_cpus(self) -> None:
        for policy in ("warn", "allow"):
            done = run(_OPERATORS + _COMPARE, FLAGOS_FALLBACK=policy)
            self.assertEqual((done.returncode, done.stdout), (0, "same\n"), done.stderr)

    def test_warn_is_the_default_and_warns_once_per_operator(self) -> None:
        code = _OPERATORS + "x = torch.ones(2, device='flagos')\nfor _ in range(3): ops.inc_(x); ops.split_max(x)\n"
        text = "flagos: fell::{} has no kernel for CUDA and runs on the CPU, by copies. FLAGOS_FALLBACK=allow silences"
        for done in (run(code), run(code, FLAGOS_FALLBACK="warn"), run(code, FLAGOS_FALLBACK="")):
            for name in ("inc_", "split_max"):
                self.assertEqual(done.stderr.count(text.format(name)), 1, done.stderr)

    def test_error_names_the_remedy_and_leaves_the_arguments_alone(self) -> None:
        code = _OPERATORS + """
x = torch.ones(2, device="flagos")
try:
    ops.inc_(x)
except NotImplementedError as error:
    print(error)
print(x.sum().item(), x._version)
"""
        done = run(code, FLAGOS_FALLBACK="error", FLAGOS_LOG_FALLBACK="1")
        self.assertEqual(done.stdout.splitlines(), [
            "flagos: fell::inc_ has no kernel for CUDA. FLAGOS_FALLBACK=error forbids running it on the CPU; set it to "
            "warn or allow.", "2.0 0"], done.stderr)  # fmt: skip
        self.assertEqual(done.stderr, "")

    def test_each_call_is_logged(self) -> None:
        code = _OPERATORS + "x = torch.ones(2, device='flagos')\nfor _ in range(3): ops.inc_(x)\nops.split_max(x); x + 1"
        done = run(code, FLAGOS_FALLBACK="allow", FLAGOS_LOG_FALLBACK="1")
        lines = re.findall(r"^\[W.* fallback\.cpp:\d+\] flagos: fallback to the CPU: (\S+)$", done.stderr, re.MULTILINE)
        self.assertEqual(lines, [*["fell::inc_"] * 3, "fell::split_max"], done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 4)
        self.assertEqual(run(code, FLAGOS_FALLBACK="allow").stderr, "")

    def test_the_first_call_is_in_the_log_of_dispatch(self) -> None:
        code = _OPERATORS + "x = torch.ones(2, device='flagos')\nfor _ in range(2): ops.inc_(x)"
        done = run(code, FLAGOS_FALLBACK="allow", FLAGOS_LOG_DISPATCH="1")
        self.assertEqual(done.stderr.count("flagos: fell::inc_: on the CPU, by copies, FP-NOKERNEL"), 1, done.stderr)

    def test_an_operator_of_pytorchs(self) -> None:
        code = """
import torch, flagos
x = torch.arange(10.0, device="flagos")
hist, edges = torch.histogram(x, 4)
out = torch.empty(0, device="flagos"), torch.empty(0, device="flagos")
torch.histogram(x, 4, out=out)
expected = torch.histogram(torch.arange(10.0), 4)
for made in ((hist, edges), out):
    assert all(torch.equal(left.cpu(), right) for left, right in zip(made, expected, strict=True))
print("same")
"""
        done = run(code, FLAGOS_FALLBACK="allow", FLAGOS_LOG_FALLBACK="1")
        self.assertEqual(done.stdout, "same\n", done.stderr)
        self.assertIn("flagos: fallback to the CPU: aten::histogram.bin_ct\n", done.stderr)

    def test_views_factories_and_random_numbers_never_fall_back(self) -> None:
        code = _OPERATORS + """
x = torch.ones(2, device="flagos")
keys = torch._C.DispatchKeySet(torch._C.DispatchKey.PrivateUse1)
for call in (lambda: ops.window(x), lambda: ops.noise(x), lambda: ops.made.default.redispatch(keys, 3, device=x.device)):
    try:
        call()
    except NotImplementedError as error:
        print(error)
"""
        for policy in POLICIES:
            done = run(code, FLAGOS_FALLBACK=policy, FLAGOS_LOG_FALLBACK="1")
            texts = ("window.* it returns a view", "noise.* it draws random numbers", "made.* it makes a tensor")
            for line, text in zip(done.stdout.splitlines(), texts, strict=True):
                self.assertRegex(line, rf"^flagos: fell::{text}")
            self.assertEqual(done.stderr, "")


if __name__ == "__main__":
    unittest.main()
