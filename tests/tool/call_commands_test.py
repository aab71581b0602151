"""Commands that make calls, check-op, stats and verify: what they find. Called as: call_commands_test.py FLAGOS_DIAG."""
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import torch

PROGRAM = os.path.abspath(sys.argv[1])
WORKLOADS = Path(__file__).resolve().parents[2] / "tool" / "traces" / "workloads"
ALL_SITUATIONS = "plain conj neg zerotensor functionalize vmap grad no_grad inference autocast python off".split()


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess:
    env = {**os.environ, "FLAGOS_TARGET": "cpu", **variables}
    return subprocess.run([PROGRAM, *arguments], env=env, capture_output=True, text=True, timeout=300, check=False)


def rows(*arguments: str) -> dict[tuple[str, str], dict]:
    done = run(*arguments, "--format", "json")
    return {(row["op"], row["situation"]): row for row in json.loads(done.stdout)["results"]}


class CheckOp(unittest.TestCase):
    def test_every_situation_has_a_row(self):
        found = rows("check-op", "mm")
        self.assertEqual([situation for op, situation in found if op == "mm"], ALL_SITUATIONS)
        for row in found.values():
            fields = "op situation verdict reason key predicted observed agrees hits calls note"
            self.assertEqual(list(row), fields.split())

    def test_verdicts_of_mm(self):
        found = rows("check-op", "mm", "--situation", "plain,conj,neg,zerotensor,functionalize,vmap,off,grad")
        expected = {
            "plain": ("fast", None),
            "grad": ("fast", None),
            "conj": ("fast", None),  # mm has its own way with conj bits: it falls through
            "neg": ("full", "FP-NEG"),
            "zerotensor": ("full", "FP-ZERO"),
            "functionalize": ("full", "FP-FUNCTIONALIZE"),
            "vmap": ("full", "FP-VMAP"),
            "off": ("full", "FP-OFF"),
        }
        for situation, (verdict, reason) in expected.items():
            row = found["mm", situation]
            self.assertEqual((row["verdict"], row["reason"], row["agrees"]), (verdict, reason, True), row)
        self.assertEqual(found["mm", "off"]["hits"], 0)
        self.assertEqual(found["mm", "plain"]["hits"], 1)

    def test_python_mode(self):
        row = rows("check-op", "add.Tensor", "--situation", "python")["add.Tensor", "python"]
        if row["verdict"] == "unknown":
            self.skipTest(row["note"])
        self.assertEqual((row["verdict"], row["reason"], row["agrees"]), ("full", "FP-PYTHON", True), row)

    def test_kinds_that_are_never_boxed(self):
        found = rows("check-op", "view", "matmul", "--situation", "plain")
        self.assertEqual(found["view", "plain"]["verdict"], "view")
        self.assertEqual(found["matmul", "plain"]["verdict"], "composite")

    def test_a_float_operator_has_no_conj_bit(self):
        row = rows("check-op", "relu", "--situation", "conj")["relu", "conj"]
        self.assertEqual(row["verdict"], "n/a")
        self.assertTrue(row["note"])

    def test_explain_names_key_source_and_remedy(self):
        done = run("check-op", "add.Tensor", "--situation", "conj", "--explain")
        for text in ("Conjugate", "ConjugateFallback.cpp", "resolve_conj"):
            self.assertIn(text, done.stdout)

    def test_interrupt_prints_what_there_is(self):
        process = subprocess.Popen([PROGRAM, "check-op", "--all", "--format", "json"], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, env={**os.environ, "FLAGOS_TARGET": "cpu"}, text=True)
        time.sleep(8)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(json.loads(out)["command"], "check-op")


def trace_node(number: int, schema: str, sizes: list[list[int]]) -> dict:
    """A recorded call with contiguous float tensors of these sizes, each with its own storage."""
    values = [[10 * number + i, 10 * number + i, 0, size[0] * size[1], 4, "cpu"] for i, size in enumerate(sizes)]
    inputs = {"values": values, "shapes": sizes, "types": ["Tensor(float)"] * len(sizes),
              "strides": [[size[1], 1] for size in sizes]}
    outputs = {"values": [], "shapes": [], "types": [], "strides": []}
    attributes = [{"name": "op_schema", "type": "string", "value": schema}]
    return {"id": number, "name": "x", "ctrl_deps": 1, "inputs": inputs, "outputs": outputs, "attrs": attributes}


class Stats(unittest.TestCase):
    def trace(self) -> str:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        nodes = [trace_node(2, "aten::matmul(Tensor self, Tensor other) -> Tensor", [[2, 3], [3, 4]]),
                 trace_node(3, "aten::mm(Tensor self, Tensor mat2) -> Tensor", [[2, 3], [3, 5]]),
                 trace_node(4, "aten::mm(Tensor self, Tensor mat2) -> Tensor", [[2, 3], [4, 5]])]  # an error
        file = Path(folder.name, "trace.json")
        file.write_text(json.dumps({"schema": "1.1.1-chakra.0.0.4", "pid": 1, "time": "", "start_ts": 0,
                                    "nodes": nodes, "finish_ts": 1}))
        return str(file)

    def stats(self, **variables: str) -> tuple[dict, dict]:
        done = run("stats", "--trace", self.trace(), "--format", "json", **variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)
        return {row["op"]: row for row in document["results"]}, document["summary"]

    def test_counts_of_a_trace(self):
        found, summary = self.stats()
        self.assertEqual(list(found), ["mm"])  # matmul is made of it, and making the arguments is not counted
        self.assertEqual(found["mm"], {"op": "mm", "calls": 3, "hits": 3, "refused": 0, "hit_rate": 1.0,
                                       "reasons": None})
        self.assertEqual((summary["recorded_calls"], summary["run"], summary["hit_rate"]), (3, 2, 1.0))
        self.assertIn("mm", summary["errors"])

    def test_refusals_by_reason(self):
        for variable, reason in (("FLAGOS_NO_REDISPATCH", "FP-OFF"), ("FLAGOS_OP_mm", "FP-ROUTE")):
            found, summary = self.stats(**{variable: "dispatch"})
            self.assertEqual((found["mm"]["hits"], found["mm"]["refused"]), (0, 3))
            self.assertEqual((found["mm"]["hit_rate"], found["mm"]["reasons"]), (0.0, f"{reason} 3"))
            self.assertEqual(summary["refused"], {reason: 3})


class Verify(unittest.TestCase):
    FIELDS = "op case call arm_a arm_b equal max_abs_diff first_diff reason reproduce shrunk".split()

    def test_add_is_equal_in_every_case(self):
        done = run("verify", "add.Tensor", "--format", "json")
        document = json.loads(done.stdout)
        self.assertEqual((done.returncode, document["results"]), (0, []), document)
        summary = document["summary"]
        self.assertGreater(summary["equal"], 5)
        self.assertEqual((summary["ops"], summary["different"]), (1, 0))
        on_off = summary["on_against_off"]
        self.assertEqual(on_off, {"same": summary["equal"] + summary["refused_by_native"], "different": 0,
                                  "not_compared": summary["nondeterministic"] + summary["native_crashed"], "max_abs_diff": 0.0})

    def test_verbose_has_a_row_for_each_pair_of_arms(self):
        done = run("verify", "add.Tensor", "--call", "1", "--case", "offset,neg", "-v", "--format", "json")
        found = json.loads(done.stdout)["results"]
        self.assertEqual([(row["case"], row["arm_b"]) for row in found],
                         [("offset", "on"), ("offset", "off"), ("neg", "on"), ("neg", "off"),
                          ("neg", "on_arrival")])
        for row in found:
            self.assertEqual(list(row), self.FIELDS)
            self.assertTrue(row["equal"], row)

    def test_reproduce_replays_the_case(self):
        first = run("verify", "add.Tensor", "--call", "1", "--case", "offset", "-v", "--format", "json", "--seed", "3")
        row = json.loads(first.stdout)["results"][0]
        program, *arguments = shlex.split(row["reproduce"])
        self.assertEqual(program, "flagos-diag")
        again = json.loads(run(*arguments, "-v", "--format", "json").stdout)["results"][0]
        self.assertEqual(again, row)

    ARGS = {"values": [[1, 1, 0, 2, 4, "cpu"], [2, 2, 0, 2, 4, "cpu"]], "shapes": [[2], [2]],
            "types": ["Tensor(float)", "Tensor(float)"]}

    def test_arguments_of_the_command_line(self):
        arguments = ["verify", "add.Tensor", "--args", json.dumps(self.ARGS), "--data", "constant", "--case", "offset"]
        done = run(*arguments, "-v", "--format", "json")
        row = json.loads(done.stdout)["results"][0]
        self.assertEqual((done.returncode, row["equal"], row["call"]), (0, True, 0))
        again = run(*shlex.split(row["reproduce"])[1:], "-v", "--format", "json")
        self.assertEqual(json.loads(again.stdout)["results"][0], row)

    def test_wrong_arguments_of_the_command_line(self):
        cut = {**self.ARGS, "shapes": [[2]]}
        for op, args, complaint in (("add.Tensor", "[1", "no JSON object"), ("add.Tensor", json.dumps(cut), "shapes"),
                                    ("add", json.dumps(self.ARGS), "Name a full overload")):
            done = run("verify", op, "--args", args)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(complaint, done.stderr)

    def test_failing_cases_shrink_unless_told_otherwise(self):
        # Known to differ on the CPU, see README.md.
        arguments = ["verify", "kron.out", "--case", "empty", "--call", "0", "--format", "json"]
        document = json.loads(run(*arguments, "--no-shrink").stdout)
        self.assertEqual(document["summary"]["on_against_off"],
                         {"same": 1, "different": 0, "not_compared": 0, "max_abs_diff": 0.0})  # alike, and unlike native
        before = document["results"][0]
        self.assertIsNone(before["shrunk"])
        self.assertIn("--call 0", before["reproduce"])
        found = json.loads(run(*arguments).stdout)["results"][0]
        self.assertIn("constant", found["shrunk"])
        again = run(*shlex.split(found["reproduce"])[1:], "--format", "json")
        self.assertEqual(again.returncode, 1)
        self.assertEqual(json.loads(again.stdout)["results"][0]["reason"], before["reason"])

    def test_uninitialised_memory_is_named(self):
        done = run("verify", "empty_like", "--format", "json")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("uninitialised", json.loads(done.stdout)["summary"]["contents_not_compared"]["empty_like"])

    def test_random_numbers_are_the_same(self):
        self.assertEqual(run("verify", "bernoulli").returncode, 0)

    def test_nothing_to_run_is_inconclusive(self):
        for arguments, why in ((["add.Tensor", "--call", "1000"], "13 cases: there are"),
                               (["add.Tensor", "--case", "contiguous", "--call", "0"], "1 case: no argument that could"),
                               (["_has_same_storage_numel", "--trace", str(WORKLOADS / "lstm.json")],
                                "1 operator without recorded arguments; pass --trace FILE")):
            done = run("verify", *arguments, "--format", "json")
            notes = json.loads(done.stdout)["notes"]
            self.assertEqual((done.returncode, len(notes)), (3, 1), notes)
            self.assertTrue(notes[0].startswith(f"Nothing ran: {why}"), notes)

    def test_kernels_need_the_cuda_target(self):
        done = run("verify", "add.Tensor", "--kernels")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("needs the cuda target; the target is cpu", done.stderr)
        self.assertIn("leave out --kernels", done.stderr)


class DeviceErrors(unittest.TestCase):
    """A failed device-side assertion, which CUDA reports with some later call, and an operator that CUDA lacks."""

    FALSE = {"values": [[1, 1, 0, 1, 4, "cpu"]], "shapes": [[1]], "types": ["Tensor(int)"],
             "tensor_range": json.dumps({"0": [0, 0]})}

    def summary(self, target: str, *arguments: str, **variables: str) -> dict:
        done = run("verify", *arguments, "--no-shrink", "--format", "json", FLAGOS_TARGET=target, **variables)
        return json.loads(done.stdout)["summary"]

    def failed_assertion(self, target: str) -> dict:
        return self.summary(target, "_assert_async", "--args", json.dumps(self.FALSE), "--case", "as_recorded")

    def test_on_the_cpu_it_is_an_error_like_any(self):
        summary = self.failed_assertion("cpu")
        self.assertEqual((summary["refused_by_native"], summary["native_crashed"], summary["different"]), (1, 0, 0))

    @unittest.skipUnless(torch.cuda.is_available(), "no GPU")
    def test_on_the_device_it_is_charged_to_the_arm_that_failed(self):
        summary = self.failed_assertion("cuda")
        self.assertEqual((summary["refused_by_native"], summary["native_crashed"], summary["different"]), (0, 1, 0))
        (why,) = summary["native_crashes"].values()
        self.assertTrue(why.startswith("native arm: "), why)
        self.assertIn("device-side assert", why)

    @unittest.skipUnless(torch.cuda.is_available(), "no GPU")
    def test_an_operator_without_a_kernel_is_refused_by_native(self):
        summary = self.summary("cuda", "histogram.bin_ct")
        self.assertEqual(summary["different"], 0)
        self.assertGreater(summary["refused_by_native"], 0)
        self.assertGreater(self.summary("cuda", "histogram.bin_ct", FLAGOS_FALLBACK="allow")["different"], 0)


if __name__ == "__main__":
    sys.argv.pop(1)
    unittest.main()
