"""What flagos-diag makes of its own interface: completion scripts, the man page.

Called as: interface_test.py FLAGOS_DIAG.
"""
import csv
import functools
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = os.path.abspath(sys.argv[1])
ROOT = Path(__file__).resolve().parents[2]
SHELLS = ("bash", "fish", "zsh")


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess:
    env = {**os.environ, "FLAGOS_TARGET": "cpu", **variables}
    return subprocess.run([PROGRAM, *arguments], env=env, capture_output=True, text=True, timeout=120, check=False)


@functools.cache
def output(*arguments: str) -> str:
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


@functools.cache
def help_of(*command: str) -> tuple[list[str], list[str]]:
    """The commands and the long options that --help lists."""
    text = output(*command, "--help")
    commands = text.partition("Subcommands:\n")[2].partition("\n\n")[0]
    options = re.findall(r"^  (?:-\w,)?(--[a-z-]+)", text.partition("\nOptions:\n")[2].partition("\n\n")[0], re.M)
    return re.findall(r"^  ([a-z-]+)", commands, re.M), options


def needs(program: str):
    return unittest.skipUnless(shutil.which(program), f"{program} is not installed")


class Help(unittest.TestCase):
    def test_each_command_has_examples_of_itself(self):
        commands, _ = help_of()
        self.assertIn("ab-bench", commands)
        for command in commands:
            examples = output(command, "--help").partition("Examples:\n")[2]
            self.assertRegex(examples, rf"^  flagos-diag {command}\b")
            self.assertEqual(set(re.findall(r"^  flagos-diag (\S+)", examples, re.M)), {command})
            self.assertIn("Exit codes: 0 as hoped", examples)


class Text(unittest.TestCase):
    """The commands that print no report."""

    COMMANDS = (*(("completion", shell) for shell in SHELLS), ("man",), ("completion", "--operators"))

    def test_they_need_no_library(self):
        for command in self.COMMANDS:
            for variables in ({"FLAGOS_TARGET": "tpu"}, {"FLAGOS_DISABLE": "1"}):
                done = run(*command, **variables)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stdout[:100], output(*command)[:100])

    def test_output_file(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "flagos-diag.1")
            done = run("man", "--output", str(file))
            self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
            self.assertEqual(file.read_text(), output("man"))

    def test_usage_errors(self):
        for command in (("completion",), ("completion", "csh"), ("completion", "bash", "--operators"),
                        ("man", "--format", "json"), ("completion", "zsh", "--format", "csv")):
            done = run(*command)
            self.assertEqual((done.returncode, done.stdout), (2, ""), command)
            self.assertTrue(done.stderr, command)

    def test_operators_are_those_of_list(self):
        listed = [row[0] for row in csv.reader(io.StringIO(output("--list", "--format", "csv")))][1:]
        self.assertIn("add.Tensor", listed)
        names = output("completion", "--operators").splitlines()
        self.assertEqual(names, sorted({*listed, *(name.partition(".")[0] for name in listed)}))

    def test_nothing_of_the_help_is_left_out(self):
        commands, options = help_of()
        self.assertIn("check-op", commands)
        self.assertIn("--target", options)
        options += [option for command in commands for option in help_of(command)[1]]
        for command in self.COMMANDS[:4]:
            text = re.sub(r"\\f[BIR]", " ", output(*command)).replace("\\-", "-")
            for name in (*commands, *options):
                written = name.replace("--", "-l ") if command == ("completion", "fish") else name
                self.assertRegex(text, rf"(?<![\w-]){written}(?![\w-])", command)


@needs("bash")
class Bash(unittest.TestCase):
    def complete(self, *words: str, setup: str = "") -> list[str]:
        """The replies for the last of `words`, split as bash splits them."""
        line = " ".join(shlex.quote(word) for word in (PROGRAM, *words))
        script = (f"source <({shlex.quote(PROGRAM)} completion bash); {setup}\nCOMP_WORDS=({line}); "
                  f"COMP_CWORD={len(words)}; _flagos_diag {shlex.quote(PROGRAM)}; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
        done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.split()

    def test_commands(self):
        self.assertEqual(self.complete(""), help_of()[0])
        self.assertEqual(self.complete("--format", "json", "che"), ["check-op"])

    def test_options(self):
        self.assertEqual(self.complete("--forma"), ["--format"])
        found = self.complete("verify", "mm", "--")
        self.assertLessEqual({"--case", "--seed"}, set(found))
        self.assertNotIn("--situation", found)
        self.assertEqual(self.complete("report", "--out"), ["--output"])

    def test_choices(self):
        self.assertEqual(self.complete("--format", "json"), ["json", "jsonl"])
        self.assertEqual(self.complete("doctor", "--format", "=", "js"), ["json", "jsonl"])
        self.assertEqual(self.complete("--target", "=")[:3], ["auto", "cpu", "cuda"])
        self.assertEqual(self.complete("check-op", "--situation", "plain,co"), ["plain,conj"])
        self.assertEqual(self.complete("completion", "z"), ["zsh"])

    def test_values_that_can_not_be_known(self):
        self.assertEqual(self.complete("verify", "--call", ""), [])
        self.assertEqual(self.complete("doctor", ""), [])

    def test_operators(self):
        names = output("completion", "--operators").splitlines()
        self.assertEqual(self.complete("check-op", "mm."), [name for name in names if name.startswith("mm.")])
        self.assertIn("add.Tensor", self.complete("verify", "mm", "--seed", "3", "add.T"))
        self.assertEqual(self.complete("explain", "FP-AUTO"), ["FP-AUTOGRAD", "FP-AUTOCAST"])
        self.assertIn("softmax.int", self.complete("explain", "softmax."))

    def test_operators_of_another_namespace(self):
        name = next(name for name in output("completion", "--operators").splitlines() if "::" in name)
        space, _, rest = name.partition("::")
        self.assertIn(rest, self.complete("check-op", space, "::", rest))
        self.assertIn(f"{name} ", " ".join(self.complete("check-op", name, setup="COMP_WORDBREAKS=' '")) + " ")

    def test_operators_are_asked_for_once(self):
        found = self.complete("check-op", "mo", setup="_flagos_diag_names='moon.full moon.new'")
        self.assertEqual(found, ["moon.full", "moon.new"])

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "a trace.json").touch()
            Path(folder, "another.json").touch()
            for words in (("--output",), ("check-op", "--trace"), ("routes", "--conf"), ("report", "x.json", "-o"),
                          ("report",), ("compare", "x.json")):
                self.assertEqual(self.complete(*words, f"{folder}/an"), [f"{folder}/another.json"], words)
            self.assertEqual(" ".join(self.complete("--output", f"{folder}/a ")),
                             f"{folder}/a trace.json")


class OtherShells(unittest.TestCase):
    def check_syntax(self, shell: str):
        done = subprocess.run([shell, "-n"], input=output("completion", shell), capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    @needs("zsh")
    def test_zsh_syntax(self):
        self.check_syntax("zsh")

    @needs("fish")
    def test_fish_syntax(self):
        self.check_syntax("fish")

    @needs("fish")
    def test_fish_completes(self):
        expected = {"compl": ["completion"], "--format js": ["json", "jsonl"], "check-op --situ": ["--situation"],
                    "check-op --situation plain,co": ["plain,conj"], "explain FP-AUTO": ["FP-AUTOCAST", "FP-AUTOGRAD"],
                    "check-op add_.T": ["add_.Tensor"], "doctor ": []}
        lines = "\n".join(f"complete -C 'flagos-diag {line}'; echo ==" for line in expected)
        script = f"set PATH {shlex.quote(str(Path(PROGRAM).parent))} $PATH\n{output('completion', 'fish')}\n{lines}\n"
        done = subprocess.run(["fish", "--no-config"], input=script, capture_output=True, text=True, timeout=60,
                              check=False)
        found = [[line.partition("\t")[0] for line in part.splitlines()] for part in done.stdout.split("==\n")]
        self.assertEqual(dict(zip(expected, found)), expected, done.stderr)

    def test_zsh_names_every_choice(self):
        script = output("completion", "zsh")
        self.assertIn("#compdef flagos-diag\n", script)
        self.assertIn(":(csv json jsonl md table)'", script)
        self.assertIn("--trace=", script)


class ManPage(unittest.TestCase):
    def test_sections(self):
        sections = re.findall(r"^\.SH (.*)$", output("man"), re.M)
        self.assertEqual(sections, ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMANDS", "EXIT STATUS",
                                    "ENVIRONMENT", "EXAMPLES", "SEE ALSO"])
        self.assertRegex(output("man"), r"\A\.TH FLAGOS\\-DIAG 1 .*\d+\.\d+\.\d+")

    def test_commands_have_sections_of_their_own(self):
        found = [name.replace("\\-", "-") for name in re.findall(r"^\.SS (.*)$", output("man"), re.M)]
        self.assertEqual(found, help_of()[0])

    @needs("groff")
    def test_groff_has_no_warnings(self):
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=output("man"), capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("json", done.stdout)

    def section(self, title: str) -> str:
        return output("man").partition(f".SH {title}\n")[2].partition("\n.SH")[0].replace("\\-", "-")

    def test_exit_codes_are_those_of_the_program(self):
        source = (ROOT / "tool/cli/exit_code.h").read_text()
        codes = re.findall(r"^  k\w+ = (\d+),", source, re.M)
        self.assertEqual(re.findall(r"^\\fB(\d+)\\fR", self.section("EXIT STATUS"), re.M), codes)

    def test_variables_are_those_of_the_readme(self):
        table = (ROOT / "README.md").read_text().partition("## Environment variables")[2].partition("\n## ")[0]
        variables = re.findall(r"^\| `(FLAGOS_[\w<>]+)`", table, re.M)
        self.assertIn("FLAGOS_TARGET", variables)
        self.assertEqual(set(re.findall(r"^\\fB(FLAGOS_[\w<>]+)\\fR", self.section("ENVIRONMENT"), re.M)),
                         set(variables))

    def test_examples_are_those_of_the_help(self):
        examples = re.findall(r"^  (flagos-diag .*?)(?:  .*)?$", output("--help").partition("Examples:\n")[2], re.M)
        self.assertGreater(len(examples), 5)
        shown = re.findall(r"^\\fB(.*)\\fR$", self.section("EXAMPLES").replace("\\(aq", "'"), re.M)
        self.assertEqual(shown, examples)

    def test_defaults_and_choices(self):
        options = self.section("OPTIONS")
        self.assertIn("\\fBcsv\\fR|\\fBjson\\fR|\\fBjsonl\\fR|\\fBmd\\fR|\\fBtable\\fR\nOutput format. Default: table.",
                      options)
        self.assertNotIn("[table]", options)


if __name__ == "__main__":
    sys.argv.pop(1)
    unittest.main()
