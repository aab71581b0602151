"""Tests of gen/generate.py on the installed torch and on small inputs."""

import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "gen"))

import generate  # noqa: E402
from torchgen.gen import parse_native_yaml  # noqa: E402
from torchgen.model import BaseTy  # noqa: E402

POLICY = SOURCE / "gen" / "policy.yaml"


def parsed():
    directory = generate.packaged_yaml()
    return parse_native_yaml(str(directory / "native_functions.yaml"), str(directory / "tags.yaml"))


class Whole(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.files = generate.generate(generate.packaged_yaml(), POLICY, 8, [])
        cls.ops = cls.files["ops.txt"].split()
        cls.code = "".join(text for name, text in cls.files.items() if name.startswith("register_"))

    def test_same_input_same_bytes(self):
        self.assertEqual(self.files, generate.generate(generate.packaged_yaml(), POLICY, 8, []))

    def test_operators_are_sorted_and_each_emitted_once(self):
        self.assertEqual(self.ops, sorted(set(self.ops)))
        self.assertEqual(self.code.count("registered_op<"), len(self.ops))
        self.assertGreater(len(self.ops), 2_000)

    def test_handwritten_and_excluded_operators_are_not_emitted(self):
        for name in ("view", "as_strided", "transpose_", "detach", "lift"):
            self.assertNotIn(name, self.ops)
        self.assertNotIn("at::_ops::view>", self.code)

    def test_composite_implicit_operators_are_not_emitted(self):
        for name in ("matmul", "reshape", "linear", "scaled_dot_product_attention"):
            self.assertNotIn(name, self.ops)

    def test_composite_with_a_kernel_of_the_targets_own_is_emitted(self):
        for name in ("silu_backward", "mish_backward", "_fused_rms_norm"):
            self.assertIn(name, self.ops)

    def test_views_that_end_in_as_strided_are_not_emitted(self):
        for name in ("transpose.int", "select.int", "slice.Tensor", "permute", "expand", "split.Tensor"):
            self.assertNotIn(name, self.ops)

    def test_group_norm_gets_contiguous_arguments(self):
        self.assertIn("registered_op<at::_ops::native_group_norm, OpPolicy{.contiguous_args = 0x7}>()", self.code)
        self.assertIn("native_group_norm_backward, OpPolicy{.contiguous_args = 0x1f}", self.code)

    def test_index_takes_indices_of_the_host(self):
        self.assertIn("registered_op<at::_ops::index_Tensor, OpPolicy{.host_args = 0x2}>()", self.code)

    def test_factories_like_a_tensor_need_no_memory_of_it(self):
        self.assertIn("registered_op<at::_ops::zeros_like, OpPolicy{.reads_metadata = true}>()", self.code)
        self.assertNotIn("empty_like", self.ops)

    def test_unmarked_argument_that_is_replaced_is_mutated(self):
        self.assertIn("_cudnn_rnn_flatten_weight, OpPolicy{.mutated_args = 0x1}", self.code)

    def test_filter(self):
        files = generate.generate(generate.packaged_yaml(), POLICY, 1, ["add.Tensor", "mul"])
        ops = files["ops.txt"].split()
        self.assertIn("add.Tensor", ops)
        self.assertIn("mul.Scalar", ops)
        self.assertNotIn("add.Scalar", ops)
        with self.assertRaisesRegex(generate.GeneratorError, "no_such_op"):
            generate.generate(generate.packaged_yaml(), POLICY, 1, ["no_such_op"])


class Policies(unittest.TestCase):
    def load(self, text):
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "policy.yaml"
            path.write_text(text, encoding="utf-8")
            return generate.load_policy(path, ["add.Tensor", "add.out", "mul.Tensor"])

    def test_unknown_operator_names_the_nearest(self):
        with self.assertRaisesRegex(generate.GeneratorError, r"'add.Tenser'; did you mean add.Tensor"):
            self.load("exclude: [{ops: [add.Tenser], reason: typo}]")

    def test_optional_operator_may_be_missing(self):
        self.assertEqual(self.load("exclude: [{ops: [gone], reason: old, optional: true}]").skipped, frozenset())

    def test_reason_is_required(self):
        with self.assertRaisesRegex(generate.GeneratorError, "add.Tensor has no reason"):
            self.load("exclude: [{ops: [add.Tensor]}]")

    def test_unknown_section(self):
        with self.assertRaisesRegex(generate.GeneratorError, "unknown section 'excluded'"):
            self.load("excluded: []")

    def test_operator_listed_twice(self):
        entry = "{op: add.Tensor, arguments: [self], reason: why}"
        with self.assertRaisesRegex(generate.GeneratorError, "host: add.Tensor is listed twice"):
            self.load(f"host: [{entry}, {entry}]")

    def test_unknown_argument_of_contiguous(self):
        function = next(f for f in parsed().native_functions if str(f.func.name) == "add.Tensor")
        policy = generate.Policy(frozenset(), {"add.Tensor": ("inptu",)}, {}, {})
        with self.assertRaisesRegex(generate.GeneratorError, "add.Tensor has no argument 'inptu'"):
            generate.operator_of(function, policy)
        policy = generate.Policy(frozenset(), {}, {"add.Tensor": ("othr",)}, {})
        with self.assertRaisesRegex(generate.GeneratorError, "mutated: add.Tensor has no argument 'othr'"):
            generate.operator_of(function, policy)


class Types(unittest.TestCase):
    def test_unknown_type_names_operator_and_type(self):
        function = next(f for f in parsed().native_functions if str(f.func.name) == "record_stream")
        known = generate.KNOWN_TYPES
        try:
            generate.KNOWN_TYPES = known - {BaseTy.Stream}
            with self.assertRaisesRegex(generate.GeneratorError, "record_stream: no boxing rule for type Stream of 's'"):
                generate.check_types(function)
        finally:
            generate.KNOWN_TYPES = known
        generate.check_types(function)

    def test_operator_listed_twice_is_an_error(self):
        native = parsed()
        function = next(f for f in native.native_functions if str(f.func.name) == "add.Tensor")
        policy = generate.Policy(frozenset(), {}, {}, frozenset())
        with self.assertRaisesRegex(generate.GeneratorError, "lists add.Tensor twice"):
            generate.select([function, function], native.backend_indices, policy)


class CommandLine(unittest.TestCase):
    def test_failure_writes_nothing(self):
        with tempfile.TemporaryDirectory() as directory:
            out = Path(directory) / "out"
            self.assertEqual(generate.main(["--out-dir", str(out), "--only", "no_such_op"]), 1)
            self.assertFalse(out.exists())


if __name__ == "__main__":
    unittest.main()
