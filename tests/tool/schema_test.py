"""Every document of flagos-diag is as its schema says. Called as: schema_test.py FLAGOS_DIAG SCHEMA."""
import copy
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import jsonschema
except ImportError as error:
    raise SystemExit(f"schema_test: {error}. Install what requirements.txt names: pip install -r requirements.txt")

PROGRAM = os.path.abspath(sys.argv[1])
SCHEMA = json.loads(Path(sys.argv[2]).read_text())
ROW_OF_COMMAND = {
    "check-op": "check_op_row", "verify": "verify_row", "ab-bench": "ab_bench_row", "compare": "compare_row",
    "report": "report_row", "explain": "explain_row", "routes": "routes_row", "stats": "stats_row",
    "doctor": "doctor_row", "list": "list_row",
}


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess:
    env = {**os.environ, "FLAGOS_TARGET": "cpu", **variables}
    return subprocess.run([PROGRAM, *arguments], env=env, capture_output=True, text=True, timeout=300, check=False)


def validator(definition: str | None = None) -> jsonschema.Draft202012Validator:
    """Of whole documents, or of one of the schema's definitions."""
    schema = SCHEMA if definition is None else {"$ref": f"#/$defs/{definition}", "$defs": SCHEMA["$defs"]}
    return jsonschema.Draft202012Validator(schema)


def complaints(document: object, definition: str | None = None) -> list[str]:
    return [f"{error.json_path}: {error.message[:300]}" for error in validator(definition).iter_errors(document)]


def recorded_call() -> str:
    """A trace with one call of mm."""
    tensors = {"values": [[1, 1, 0, 6, 4, "cpu"], [2, 2, 0, 6, 4, "cpu"]], "shapes": [[2, 3], [3, 2]],
               "types": ["Tensor(float)"] * 2, "strides": [[3, 1], [2, 1]]}
    nothing = {"values": [], "shapes": [], "types": [], "strides": []}
    schema = {"name": "op_schema", "type": "string", "value": "aten::mm(Tensor self, Tensor mat2) -> Tensor"}
    node = {"id": 2, "name": "x", "ctrl_deps": 1, "inputs": tensors, "outputs": nothing, "attrs": [schema]}
    return json.dumps({"schema": "1.1.1-chakra.0.0.4", "pid": 1, "time": "", "start_ts": 0, "nodes": [node],
                       "finish_ts": 1})


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, name: str, text: str) -> str:
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def document(self, *arguments: str, rows: bool | None = True, **variables: str) -> dict:
        """What the command writes as JSON, found valid; and so is what it writes as JSON lines.

        rows: whether there must be some, so that an example shows what it should; None: there may be.
        """
        done = run(*arguments, "--format", "json", **variables)
        self.assertTrue(done.stdout, f"{arguments} wrote nothing: {done.stderr}")
        document = json.loads(done.stdout)
        self.assertEqual(complaints(document), [], arguments)
        self.assertIn(rows, (bool(document["results"]), None), document["results"][:1])
        head, *lines = map(json.loads, run(*arguments, "--format", "jsonl", **variables).stdout.splitlines())
        self.assertEqual(complaints(head, "jsonl_head"), [])
        for line in lines:
            self.assertEqual(complaints(line, ROW_OF_COMMAND[head["command"]]), [], line)
        self.assertEqual(len(lines), len(document["results"]))
        return document


class Documents(Case):
    def test_the_schema_is_one(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        commands = SCHEMA["$defs"]["head"]["properties"]["command"]["enum"]
        self.assertEqual(commands, list(ROW_OF_COMMAND))

    def test_every_field_is_described(self):
        for name, definition in SCHEMA["$defs"].items():
            for field, schema in definition.get("properties", {}).items():
                target = SCHEMA["$defs"].get(schema.get("$ref", "").rpartition("/")[2], {}) if schema else {}
                wrapped = name.startswith(("of_", "counts_of_")) or name.endswith("_results")
                self.assertTrue(wrapped or "description" in schema or "description" in target, f"{name}.{field}")

    def test_check_op(self):
        document = self.document("check-op", "add.Tensor", "view", "matmul", "relu", "_sobol_engine_draw")
        self.assertLessEqual({"fast", "full", "view", "composite", "n/a"}, set(document["summary"]["verdicts"]))

    def test_check_op_in_words(self):
        document = self.document("check-op", "mm", "--situation", "plain,neg", "--explain")
        self.assertIn("explanation", document["results"][0])

    def test_check_op_without_arguments(self):
        document = self.document("check-op", "view", "--trace", self.file("trace.json", recorded_call()))
        self.assertEqual(set(document["summary"]["verdicts"]), {"unknown"})

    def test_verify(self):
        self.document("verify", "add.Tensor", "--call", "1", rows=False)
        self.document("verify", "add.Tensor", "--call", "1", "-v")

    def test_verify_of_differences(self):
        """README.md names this one; should it become equal, the row is still one that could be."""
        document = self.document("verify", "native_group_norm_backward", "--case", "transposed", rows=None)
        row = {"op": "mm", "case": "neg", "call": 0, "arm_a": "native", "arm_b": "on", "equal": False,
               "max_abs_diff": 0.5, "first_diff": "[0]: 0x1 (1.0) against 0x2 (2.0)",
               "reason": "output 0: contents, 1 of 4", "reproduce": "flagos-diag verify mm --case neg --call 0",
               "shrunk": None}
        document["results"] = [row, {**row, "equal": None, "reason": "nondeterministic: output 0: contents, 1 of 4"}]
        self.assertEqual(complaints(document), [])
        document["results"][0]["reason"] = None
        self.assertEqual(len(complaints(document)), 1, "a difference says what differs")

    def test_verify_of_kernels(self):
        """A row as verify --kernels has it, on a machine without a GPU."""
        same = {"op": "mm", "case": "neg", "call": 0, "arm_a": "native", "arm_b": "on", "equal": True,
                "max_abs_diff": None, "first_diff": None, "reason": None, "shrunk": None, "kernels_equal": True,
                "kernels": {"native": ["gemm"], "on": ["gemm"]},
                "reproduce": "flagos-diag verify mm --case neg --call 0 --seed 0 --target cuda --kernels"}
        other = {**same, "kernels_equal": False, "reason": "kernel 1: nothing against copy",
                 "kernels": {"native": ["gemm"], "on": ["gemm", "copy"]}}
        good = (same, other, {**same, "kernels_equal": None, "kernels": None},
                {**other, "equal": False, "reason": "output 0: contents, 1 of 4; kernel 1: nothing against copy"})
        bad = ({**other, "reason": None}, {**same, "reason": "kernel 0: a against b"},
               {**same, "kernels": {"native": ["gemm"]}}, {**same, "kernels": {"native": "gemm", "on": "gemm"}},
               {field: value for field, value in same.items() if field != "kernels"})
        for row in good:
            self.assertEqual(complaints(row, "verify_row"), [], row)
        for row in bad:
            self.assertTrue(complaints(row, "verify_row"), row)
        counts = {"compared": 3, "equal": 1, "different": 1, "nondeterministic": 1}
        self.assertEqual(complaints(counts, "counts_of_kernels"), [])
        self.assertTrue(complaints({**counts, "compared": -1}, "counts_of_kernels"))

    def test_ab_bench(self):
        document = self.document("ab-bench", "add_.Tensor", "--call", "0", "--time-budget", "0.5")
        self.assertEqual([row["arm"] for row in document["results"]], ["native", "off", "on", "on", "aa"])

    def test_ab_bench_against_an_earlier_run(self):
        arguments = ("ab-bench", "add_.Tensor", "--call", "0", "--time-budget", "0.5")
        before = self.file("before.json", json.dumps(self.document(*arguments)))
        document = self.document(*arguments, "--baseline", before)
        self.assertEqual(document["summary"]["baseline"]["compared"], 3)
        self.assertEqual(complaints(document["results"][0]["baseline"], "against_baseline"), [])

    @unittest.skipUnless(shutil.which("valgrind"), "needs valgrind (apt-get install valgrind)")
    def test_ab_bench_with_instructions(self):
        document = self.document("ab-bench", "add_.Tensor", "--call", "0", "--time-budget", "0.5", "--instructions")
        self.assertEqual((document["summary"]["counted"], document["summary"]["not_counted"]), (1, {}))
        del document["results"][0]["instructions_by"]
        self.assertTrue(any("instructions_by" in text for text in complaints(document)))

    def test_ab_bench_of_a_whole_trace(self):
        document = self.document("ab-bench", "--trace", self.file("trace.json", recorded_call()), "--time-budget", "1")
        self.assertEqual({row["op"] for row in document["results"]}, {"(step)", "mm"})

    def test_a_trace_of_a_newer_schema(self):
        trace = self.file("trace.json", recorded_call().replace('"1.1.1-chakra', '"2.0.0-chakra'))
        for command in (["check-op", "--situation", "plain"], ["verify", "--case", "as_recorded", "-v"], ["stats"]):
            self.assertEqual(len(self.document(*command, "--trace", trace)["warnings"]), 1)

    def test_ab_bench_of_a_call_that_is_not_there(self):
        document = self.document("ab-bench", "mm", "--call", "99", "--time-budget", "1")
        self.assertEqual({row["verdict"] for row in document["results"]}, {"n/a"})

    def test_explain(self):
        self.document("explain")
        self.document("explain", "FP-CONJ")
        self.document("explain", "mm")

    def test_routes(self):
        self.document("routes", rows=False)
        self.document("routes", "--conf", self.file("routes.conf", "mm = cpu\nadd.Tensor = flaggems\n"))

    def test_stats(self):
        trace = self.file("trace.json", recorded_call())
        self.document("stats", "--trace", trace)
        document = self.document("stats", "--trace", trace, FLAGOS_NO_REDISPATCH="1")
        self.assertEqual(document["results"][0]["reasons"], "FP-OFF 1")

    def test_doctor(self):
        self.document("doctor")
        document = self.document("doctor", FLAGOS_TARGET="tpu", FLAGOS_FALBACK="warn")
        self.assertEqual({row["verdict"] for row in document["results"]}, {"ok", "warn", "fail"})

    def test_list(self):
        self.document("--list")


class Compared(Case):
    """Of documents that the tool wrote, changed where a change is to be found."""

    def compare(self, *arguments: str, change: dict) -> dict:
        before = self.document(*arguments)
        after = copy.deepcopy(before)
        after["results"][0].update(change)
        files = (self.file("old.json", json.dumps(before)), self.file("new.json", json.dumps(after)))
        return self.document("compare", *files)

    def test_times(self):
        change = {"ns_median": 1e6, "ns_ci_low": 0.99e6, "ns_ci_high": 1.01e6}
        document = self.compare("ab-bench", "add_.Tensor", "--call", "0", "--time-budget", "0.5", change=change)
        self.assertEqual(document["results"][0]["verdict"], "SLOWER")

    def test_checks(self):
        change = {"verdict": "full", "reason": "FP-OTHER", "key": "Meta"}
        document = self.compare("check-op", "mm", "--situation", "plain", change=change)
        self.assertEqual([row["verdict"] for row in document["results"]], ["SLOWER"])

    def test_verifications(self):
        change = {"equal": False, "reason": "output 0: strides"}
        document = self.compare("verify", "add.Tensor", "--call", "1", "--case", "offset", "-v", change=change)
        self.assertEqual([row["verdict"] for row in document["results"]], ["NEWLY_DIFFERENT"])

    def test_report(self):
        file = self.file("explain.json", run("explain", "--format", "json").stdout)
        page = str(self.folder / "page.html")
        done = run("report", file, "-o", page, "--format", "json")
        if done.returncode == 2 and "plotly" in done.stderr:
            self.skipTest(done.stderr.strip())
        self.document("report", file, "-o", page)


class Refused(Case):
    """A document with one thing wrong; each is valid before."""

    def setUp(self) -> None:
        super().setUp()
        self.valid = json.loads(run("check-op", "mm", "--situation", "plain,neg", "--format", "json").stdout)
        self.assertEqual(complaints(self.valid), [])

    def refuse(self, document: dict, part: str) -> None:
        found = complaints(document)
        self.assertTrue(found, "the schema takes it")
        self.assertIn(part, "\n".join(found))

    def test_wrong_words_of_a_row(self):
        for field, value in (("verdict", "quick"), ("situation", "quiet"), ("reason", "FP-MOON"), ("agrees", "yes"),
                             ("hits", -1), ("calls", 1.5), ("op", None)):
            document = copy.deepcopy(self.valid)
            document["results"][0][field] = value
            self.refuse(document, f"results[0].{field}")

    def test_a_refusal_without_a_reason(self):
        document = copy.deepcopy(self.valid)
        full = next(row for row in document["results"] if row["verdict"] == "full")
        full["reason"] = None
        self.refuse(document, "reason")

    def test_missing_fields(self):
        for field in self.valid["results"][0]:
            document = copy.deepcopy(self.valid)
            del document["results"][0][field]
            self.refuse(document, f"'{field}' is a required property")
        for field in self.valid:
            document = copy.deepcopy(self.valid)
            del document[field]
            self.refuse(document, f"'{field}' is a required property")
        for part in ("environment", "summary"):
            for field in self.valid[part]:
                document = copy.deepcopy(self.valid)
                del document[part][field]
                self.refuse(document, f"'{field}' is a required property")

    def test_unknown_fields(self):
        document = {**self.valid, "moon": 1}
        self.refuse(document, "'moon' was unexpected")
        for part in ("environment", "summary"):
            document = copy.deepcopy(self.valid)
            document[part]["moon"] = 1
            self.refuse(document, "'moon' was unexpected")
        document = copy.deepcopy(self.valid)
        document["results"][0]["moon"] = 1
        self.refuse(document, "'moon' was unexpected")

    def test_another_command_or_schema(self):
        self.refuse({**self.valid, "command": "verify"}, "summary")
        self.refuse({**self.valid, "command": "check"}, "'check' is not one of")
        self.refuse({**self.valid, "schema": "flagos-diag/2"}, "'flagos-diag/1' was expected")

    def test_arms_and_cases(self):
        verified = json.loads(run("verify", "add.Tensor", "--call", "1", "--case", "offset", "-v", "--format",
                                  "json").stdout)
        for field, value in (("arm_a", "of"), ("case", "ofset"), ("equal", "true"), ("reproduce", "rm -r")):
            document = copy.deepcopy(verified)
            document["results"][0][field] = value
            self.refuse(document, f"results[0].{field}")

    def test_a_claim_without_a_ratio(self):
        benched = json.loads(run("ab-bench", "add_.Tensor", "--call", "0", "--time-budget", "0.3", "--format",
                                 "json").stdout)
        for field, value in (("verdict", "faster"), ("verdict", "n/a"), ("verdict", None), ("ratio", None),
                             ("ratio", 0), ("arm", "offf"), ("against", "aa"), ("p_adjusted", 2), ("samples", ["1"])):
            document = copy.deepcopy(benched)
            document["results"][1][field] = value
            self.refuse(document, f"results[1].{field}")

    def test_a_line_of_another_command(self):
        row = self.valid["results"][0]
        self.assertEqual(complaints(row, "check_op_row"), [])
        self.assertNotEqual(complaints(row, "verify_row"), [])
        self.assertNotEqual(complaints({**self.valid}, "jsonl_head"), [], "notes and results are no part of it")


if __name__ == "__main__":
    del sys.argv[1:3]
    unittest.main()
