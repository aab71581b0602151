"""Runs the built flagos-diag: exit codes, output formats, files, what commands say. Called as: cli_test.py FLAGOS_DIAG."""
import csv
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = os.path.abspath(sys.argv[1])


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess:
    env = {**os.environ, "FLAGOS_TARGET": "cpu", **variables}
    return subprocess.run([PROGRAM, *arguments], env=env, capture_output=True, text=True, timeout=300, check=False)


class Usage(unittest.TestCase):
    def test_version(self):
        done = run("--version")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"^flagos-diag \d+\.\d+\.\d+\n$")

    def test_help_has_examples(self):
        done = run("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("Examples:", done.stdout)

    def test_no_command(self):
        done = run()
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stdout, "")
        self.assertIn("--help", done.stderr)

    def test_unknown_operator_names_the_nearest(self):
        done = run("check-op", "add.Tensr")
        self.assertEqual(done.returncode, 2)
        self.assertIn("add.Tensor", done.stderr)

    def test_bad_choice(self):
        bad = (["--format", "xml", "doctor"], ["doctor", "--target", "tpu"], ["check-op", "mm", "--situation", "x"])
        for arguments in bad:
            self.assertEqual(run(*arguments).returncode, 2, arguments)

    def test_trace_that_is_none(self):
        done = run("check-op", "--trace", __file__)
        self.assertEqual(done.returncode, 2)
        self.assertIn(Path(__file__).name, done.stderr)

    def test_bad_environment(self):
        done = run("--list", FLAGOS_TARGET="tpu")
        self.assertEqual(done.returncode, 2)
        self.assertIn("FLAGOS_TARGET", done.stderr)

    def test_target_option_beats_the_environment(self):
        done = run("explain", "mm", "--format", "json", "--target", "cpu", FLAGOS_TARGET="auto")
        self.assertEqual(json.loads(done.stdout)["environment"]["target"], "cpu")


class Output(unittest.TestCase):
    def test_json_document(self):
        done = run("explain", "FP-CONJ", "--format", "json", "--seed", "7")
        document = json.loads(done.stdout)
        self.assertEqual(document["schema"], "flagos-diag/1")
        self.assertEqual(document["command"], "explain")
        for field in ("torch", "library", "compiler", "target", "devices", "driver", "cpu", "governor", "seed"):
            self.assertIn(field, document["environment"])
        self.assertEqual(document["environment"]["seed"], 7)

    def test_global_options_before_and_after_the_command(self):
        before = run("--format", "csv", "explain", "FP-NEG").stdout
        self.assertEqual(before, run("explain", "FP-NEG", "--format", "csv").stdout)
        self.assertEqual(next(csv.reader(io.StringIO(before))), ["code", "meaning"])

    def test_no_color_wins(self):
        colored = run("doctor", "--color", "always", NO_COLOR="", TERM="xterm").stdout
        self.assertIn("\033", colored)
        self.assertNotIn("\033", run("doctor", "--color", "always", NO_COLOR="1", TERM="xterm").stdout)
        self.assertNotIn("\033", run("doctor", "--color", "always", NO_COLOR="", TERM="dumb").stdout)

    def test_output_file_survives_a_failure(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "out.json")
            self.assertEqual(run("explain", "--output", str(file), "--format", "json").returncode, 0)
            before = file.read_bytes()
            self.assertEqual(json.loads(before)["command"], "explain")
            self.assertEqual(run("check-op", "no_such_operator", "--output", str(file)).returncode, 2)
            self.assertEqual(file.read_bytes(), before)
            self.assertEqual(os.listdir(folder), ["out.json"])

    def test_output_directory_that_is_not_there(self):
        done = run("explain", "--output", "/no/such/directory/out.json")
        self.assertEqual(done.returncode, 2)
        self.assertIn("/no/such/directory", done.stderr)


class Routes(unittest.TestCase):
    def conf(self, text: str) -> str:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        file = Path(folder.name, "routes.conf")
        file.write_text(text)
        return str(file)

    def routes(self, *arguments: str, **variables: str) -> dict[str, str]:
        done = run("routes", *arguments, "--format", "json", **variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {row["op"]: row["backend"] for row in json.loads(done.stdout)["results"]}

    def test_none(self):
        self.assertEqual(self.routes(), {})

    def test_variables_override_the_file(self):
        file = self.conf("add.Tensor = cpu\nmm = cpu\nmul.Tensor = cpu\n")
        found = self.routes(FLAGOS_BACKEND_CONFIG=file, FLAGOS_OP_add__Tensor="dispatch", FLAGOS_OP_mul="native")
        self.assertEqual(found, {"add.Tensor": "dispatch", "mm": "cpu", "mm.out": "cpu"})

    def test_a_route_is_seen_by_check_op(self):
        done = run("check-op", "mm", "--situation", "plain", "--format", "json", FLAGOS_OP_mm="dispatch")
        row = next(row for row in json.loads(done.stdout)["results"] if row["op"] == "mm")
        self.assertEqual((row["verdict"], row["reason"], row["hits"]), ("full", "FP-ROUTE", 0), row)

    def test_a_typo_in_the_environment_is_a_load_error(self):
        for variables, parts in (
            ({"FLAGOS_OP_add__Tensr": "cpu"}, ("FLAGOS_OP_add__Tensr", "FLAGOS_OP_add__Tensor")),
            ({"FLAGOS_OP_mm": "cpuu"}, ("FLAGOS_OP_mm", "Nearest: cpu")),
            ({"FLAGOS_BACKEND_CONFIG": "/no/such.conf"}, ("/no/such.conf",)),
            ({"FLAGOS_BACKEND_CONFIG": self.conf("\nview = cpu\n")}, ("routes.conf:2:", "returns a view")),
        ):
            done = run("--list", **variables)
            self.assertEqual(done.returncode, 2, variables)
            for part in parts:
                self.assertIn(part, done.stderr)

    def test_lint(self):
        self.assertEqual(self.routes("--conf", self.conf("mm.out = cpu # slow\n")), {"mm.out": "cpu"})
        done = run("routes", "--conf", self.conf("# a comment\nadmm = cpu\n"))
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        for part in ("routes.conf:2:", "admm", "Nearest: addmm"):
            self.assertIn(part, done.stderr)


class OtherCommands(unittest.TestCase):
    def test_list(self):
        done = run("--list", "--format", "csv")
        kinds = dict(csv.reader(io.StringIO(done.stdout)))
        self.assertEqual(kinds["add.Tensor"], "boxed")
        self.assertEqual(kinds["view"], "view")
        self.assertEqual(kinds["matmul"], "composite")

    def test_explain_operator_shows_what_is_registered(self):
        done = run("explain", "mm", "--format", "json")
        sources = {row["key"]: row["source"] for row in json.loads(done.stdout)["results"] if row["op"] == "mm"}
        self.assertIn("libflagos", sources["PrivateUse1"])

    def test_doctor(self):
        done = run("doctor", "--format", "json")
        results = json.loads(done.stdout)["results"]
        failed = [row for row in results if row["verdict"] == "fail"]
        self.assertEqual(done.returncode, 2 if failed else 0)
        self.assertTrue(all(row["remedy"] for row in results if row["verdict"] != "ok"), results)

    def test_doctor_reports_a_library_that_does_not_load(self):
        done = run("doctor", "--format", "json", FLAGOS_TARGET="tpu")
        self.assertEqual(done.returncode, 2)
        failed = [row["check"] for row in json.loads(done.stdout)["results"] if row["verdict"] == "fail"]
        self.assertIn("libflagos", failed)

    def test_doctor_redacts_paths(self):
        out = run("doctor", "--redact", "--format", "json").stdout
        self.assertNotIn(str(Path.home()) + "/", out)
        self.assertNotIn("site-packages", out)

    def test_doctor_names_the_variable_that_was_meant(self):
        out = run("doctor", "--format", "json", FLAGOS_FALBACK="warn").stdout
        self.assertIn("FLAGOS_FALLBACK", out)


if __name__ == "__main__":
    sys.argv.pop(1)
    unittest.main()
