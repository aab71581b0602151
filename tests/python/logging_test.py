"""FLAGOS_LOG_DISPATCH and FLAGOS_LOG_FALLBACK: what is written to stderr, for which operators, and how often."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import unittest

import torch

import flagos

ON_CPU = flagos.target() == "cpu"
KEY = "CPU" if ON_CPU else "CUDA"
# PyTorch's own form: [W1204 04:09:33.410387833 call_path.cpp:39] text
_LINE = re.compile(r"^\[W\d{4} [\d:.]+ (\w+\.cpp):\d+\] (flagos: .*)$")

_BEGIN = """
import torch, flagos, sys
x, y = torch.full((2, 2), 3.0, device="flagos"), torch.ones(2, 2, device="flagos")
i = torch.tensor([0, 1], device="flagos")
print("begin", file=sys.stderr, flush=True)
"""


def run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("FLAGOS_LOG", "TORCH_CPP"))}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", _BEGIN + code], env={**env, **variables},
                          capture_output=True, text=True, timeout=300, check=False)  # fmt: skip
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done


def texts(done: subprocess.CompletedProcess[str]) -> list[str]:
    """What was logged after the arguments had been made, without time and place; any other line fails."""
    lines = done.stderr.partition("begin\n")[2].splitlines()
    matches = [_LINE.match(line) for line in lines]
    if None in matches:
        raise AssertionError(done.stderr)
    return [match[2] for match in matches if match is not None]


def dispatched(code: str, **variables: str) -> list[str]:
    return texts(run(code, FLAGOS_LOG_DISPATCH="1", **variables))


def redispatch(*operators: str) -> list[str]:
    return [f"flagos: {operator}: redispatch to {KEY}" for operator in operators]


class Dispatch(unittest.TestCase):
    def test_each_operator_is_listed_once(self) -> None:
        code = "for _ in range(3):\n    torch.mul(x, y)\n    x.sub_(y)\n    x.exp()"
        self.assertEqual(dispatched(code), redispatch("aten::mul.Tensor", "aten::sub_.Tensor", "aten::exp"))

    def test_the_switch(self) -> None:
        for value in ("", "0"):
            self.assertEqual(run("x + y", FLAGOS_LOG_DISPATCH=value).stderr, "begin\n")
        self.assertEqual(run("x + y").stderr, "begin\n")
        for value in ("yes", "2", "false"):  # anything but 0
            self.assertEqual(texts(run("x + y", FLAGOS_LOG_DISPATCH=value)), redispatch("aten::add.Tensor"))

    def test_each_way_of_an_operator_is_listed_once(self) -> None:
        code = "x.mul(y)\nfor on in (False, True, False):\n    with flagos.redispatch(on): x.mul(y)"
        off = "flagos: aten::mul.Tensor: full dispatch, FP-OFF"
        self.assertEqual(dispatched(code), [*redispatch("aten::mul.Tensor"), off])
        self.assertEqual(dispatched(code, FLAGOS_NO_REDISPATCH="1"), [off, *redispatch("aten::mul.Tensor")])

    def test_overloads_lists_and_out_have_names_of_their_own(self) -> None:
        code = (
            "torch.add(x, y, out=torch.ops.aten.alias(y)); torch._foreach_add_([x, y], [y, x]); x[:, i]\n"
            "torch.ops.aten.index_put_(x, [None, i], y); torch.max(x, 1); x.sum(); x.sum(1)\n"
        )
        names = ["aten::add.out", "aten::_foreach_add_.List", "aten::index.Tensor", "aten::index_put_",
                 "aten::max.dim", "aten::sum", "aten::sum.dim_IntList"]  # fmt: skip
        self.assertEqual(dispatched(code), redispatch(*names))

    def test_views_are_never_listed(self) -> None:
        code = "x.view(4); x.t(); x[0]; x[:, ::2]; x.expand(3, 2, 2); x.detach(); x.unfold(0, 1, 1); x.reshape(4); x.conj()"
        self.assertEqual(dispatched(code), [])

    def test_composites_are_listed_by_what_they_are_made_of(self) -> None:
        lines = dispatched("torch.matmul(x, y); torch.einsum('bij,bjk', x[None], y[None])")
        self.assertEqual(lines, redispatch("aten::mm", "aten::bmm"))

    def test_another_thread_adds_nothing(self) -> None:
        code = (
            "import threading\nx.mul(y)\n"
            "for work in (lambda: x.mul(y), lambda: x.div(y)):\n"
            "    t = threading.Thread(target=work); t.start(); t.join()\n"
        )
        self.assertEqual(dispatched(code), redispatch("aten::mul.Tensor", "aten::div.Tensor"))

    def test_backward_operators_are_listed(self) -> None:
        lines = dispatched("z = x.clone().requires_grad_(); torch.sigmoid(z).backward(y)")
        self.assertEqual(lines, redispatch("aten::clone", "aten::sigmoid", "aten::sigmoid_backward"))

    def test_operators_outside_aten_are_listed_and_a_key_that_must_see_the_call_is_named(self) -> None:
        """PyTorch's autograd looks at an operator without a formula, unless the operator says that none is needed."""
        define = (
            "lib = torch.library.Library('logged', 'DEF'); lib.define('twice(Tensor x) -> Tensor')\n"
            f"lib.impl('twice', lambda x: x.new_full((2,), 2.0), '{KEY}')\n"
        )
        call = "for _ in range(2): torch.ops.logged.twice(x)\n"
        self.assertEqual(dispatched(define + call),
                         [f"flagos: logged::twice: full dispatch, FP-AUTOGRAD (Autograd{KEY})"])
        none_needed = "lib.impl('twice', torch.library.fallthrough_kernel, 'Autograd')\n"
        self.assertEqual(dispatched(define + none_needed + call), redispatch("logged::twice"))

    def test_a_route_to_the_full_dispatch_says_so(self) -> None:
        lines = dispatched("x.mul(y); x.mul(y)", FLAGOS_OP_mul__Tensor="dispatch")
        self.assertEqual(lines, ["flagos: aten::mul.Tensor: full dispatch, FP-ROUTE"])

    def test_a_route_to_the_cpu_says_so(self) -> None:
        """When it is set; the call itself only makes copies, which are listed as themselves."""
        done = run("x.mul(y); x.mul(y); x.add(y)", FLAGOS_LOG_DISPATCH="1", FLAGOS_OP_mul__Tensor="cpu")
        self.assertIn("flagos: aten::mul.Tensor: route to cpu", done.stderr.partition("begin\n")[0])
        lines = [line for line in texts(done) if "aten::_to_copy" not in line and "aten::copy_" not in line]
        self.assertEqual(lines, redispatch("aten::add.Tensor"))

    def test_no_result_changes(self) -> None:
        code = "x.mul_(y + 1); print(x.cpu().tolist(), torch.max(x, 1).indices.tolist())"
        self.assertEqual(run(code).stdout, run(code, FLAGOS_LOG_DISPATCH="1").stdout)

    def test_the_level_of_pytorchs_log_holds(self) -> None:
        self.assertEqual(run("x + y", FLAGOS_LOG_DISPATCH="1", TORCH_CPP_LOG_LEVEL="ERROR").stderr, "begin\n")


class Fallback(unittest.TestCase):
    """What falls back, and its lines, is fallback_test.py's: on the CPU target nothing can."""

    def test_calls_on_the_target_and_routes_are_no_fallbacks(self) -> None:
        code = "x.mul(y); x[:, i]; torch._foreach_add_([x], 1); x.view(4); x.cpu()"
        self.assertEqual(texts(run(code, FLAGOS_LOG_FALLBACK="1", FLAGOS_OP_mul__Tensor="cpu")), [])


if __name__ == "__main__":
    unittest.main()
