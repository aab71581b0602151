"""flagos-diag record: stock scripts in, traces out that the other commands take. Called as: record_test.py FLAGOS_DIAG.
"""
import json
import os
import pty
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

PROGRAM = os.path.abspath(sys.argv[1])
PYTHON = sys.executable

TRAIN = """
import argparse
import sys
import torch
from torch import nn

options = argparse.ArgumentParser()
options.add_argument("--steps", type=int, default=3)
options.add_argument("--device", default="cpu")
options = options.parse_args()
torch.manual_seed(0)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.layers = nn.Embedding(50, 8), nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 50))
    def forward(self, tokens):
        return self.layers(self.table(tokens))

model = Model().to(options.device)
optimizer = torch.optim.AdamW(model.parameters())
for step in range(options.steps):
    tokens = torch.arange(10, 26).view(2, 8).to(options.device)
    loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
"""


def flagos_diag(*arguments: str, cwd: str | Path | None = None, **variables: str) -> subprocess.CompletedProcess:
    env = {**os.environ, "FLAGOS_TARGET": "cpu", **variables}
    return subprocess.run([PROGRAM, *arguments], env=env, cwd=cwd, capture_output=True, text=True, timeout=300,
                          check=False)


def operators(trace: Path) -> list[str]:
    """The operators that the trace calls, in order, without their overloads."""
    names = (a["value"] for node in json.loads(trace.read_text())["nodes"] for a in node["attrs"]
             if a["name"] == "op_schema" and a["value"])
    return [name.partition("(")[0].partition(".")[0] for name in names]


class Recording(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.trace = self.folder / "run.json"
        self.script = self.folder / "train.py"
        self.script.write_text(TRAIN)

    def record(self, *command: str, options: tuple[str, ...] = (), **variables: str) -> subprocess.CompletedProcess:
        return flagos_diag("record", "-o", str(self.trace), *options, "--", *command, cwd=self.folder, **variables)

    def left(self) -> set[str]:
        """What is in the folder beside the script."""
        return {path.name for path in self.folder.iterdir()} - {"train.py", "__pycache__"}


class Windows(Recording):
    def test_one_step_after_the_first(self):
        plain = subprocess.run([PYTHON, str(self.script)], capture_output=True, text=True, check=True)
        done = self.record(PYTHON, str(self.script))
        self.assertEqual((done.returncode, done.stdout), (0, plain.stdout), done.stderr)
        said = [line for line in done.stderr.splitlines() if "execution_trace_observer.cpp" not in line]  # torch's own
        self.assertTrue(all(line.startswith("flagos-diag: ") for line in said), said)
        names = operators(self.trace)
        for name in ("aten::embedding", "aten::embedding_dense_backward", "aten::nll_loss_backward"):
            self.assertEqual(names.count(name), 1, name)
        self.assertIn("aten::addcdiv_", names)  # the optimizer's
        self.assertIn("1 step after 1 skipped", done.stderr)
        self.assertIn("next: flagos-diag check-op --trace", done.stderr.splitlines()[-1])
        self.assertEqual(self.left(), {"run.json"})

    def test_steps_that_are_asked_for(self):
        for options, steps in ((("--skip-steps", "0", "--steps", "2"), 2), (("--skip-steps", "9"), 3)):
            with self.subTest(options):
                self.assertEqual(self.record(PYTHON, str(self.script), options=options).returncode, 0)
                self.assertEqual(operators(self.trace).count("aten::embedding"), steps)

    def test_a_script_without_modules(self):
        self.script.write_text("import torch\nx = torch.ones(3) + 1\n")
        done = self.record(PYTHON, str(self.script))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("aten::add", operators(self.trace))

    def test_integers_have_their_range(self):
        self.record(PYTHON, str(self.script))
        nodes = json.loads(self.trace.read_text())["nodes"]
        found = next(node for node in nodes if node["name"] == "aten::embedding")
        ranges = next(a["value"] for a in found["attrs"] if a["name"] == "tensor_range")
        self.assertIn([10, 25], json.loads(ranges).values())

    def test_time_limit(self):
        self.script.write_text("import torch, time\ntorch.ones(3) + 1\ntime.sleep(1.5)\ntorch.ones(3).exp()\n")
        done = self.record(PYTHON, str(self.script), options=("--max-seconds", "0.5"))
        self.assertIn("cut off by --max-seconds", done.stderr)
        self.assertIn("aten::add", operators(self.trace))
        self.assertNotIn("aten::exp", operators(self.trace))

    def test_size_limit(self):
        self.script.write_text("import torch\nx = torch.ones(3)\nwhile (x.sum() < 1e5): x.add_(1)\n")
        done = self.record(PYTHON, str(self.script), options=("--max-mb", "1"))
        self.assertIn("cut off by --max-mb", done.stderr)
        self.assertGreater(operators(self.trace).count("aten::add_"), 10)


class Commands(Recording):
    """What the trace is for."""

    def document(self, *arguments: str, codes: tuple[int, ...] = (0,)) -> dict:
        done = flagos_diag(*arguments, "--trace", str(self.trace), "--format", "json")
        self.assertIn(done.returncode, codes, done.stderr)
        return json.loads(done.stdout)

    def test_each_takes_it(self):
        self.assertEqual(self.record(PYTHON, str(self.script)).returncode, 0)
        checked = {row["op"]: row["verdict"] for row in self.document("check-op", "--situation", "plain")["results"]}
        self.assertEqual(checked["embedding"], "fast")
        self.assertEqual(checked["addmm"], "fast")
        self.assertNotIn("unknown", checked.values())
        summary = self.document("verify")["summary"]
        self.assertGreater(summary["equal"], 500)
        self.assertEqual((summary["different"], summary["unknown"]), (0, {}))
        benched = self.document("ab-bench", "addmm", "--time-budget", "2", codes=(0, 3))["results"]
        self.assertEqual({row["op"] for row in benched}, {"addmm"})

    def test_of_the_device_flagos(self):
        done = self.record(PYTHON, "-c", "import flagos\n" + TRAIN, "--device", "flagos")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("embedding", {row["op"] for row in self.document("check-op", "--situation", "plain")["results"]})


class Programs(Recording):
    def test_module_form(self):
        done = self.record(PYTHON, "-m", "train", "--steps", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(operators(self.trace).count("aten::embedding"), 1)

    def test_below_a_shell(self):
        done = self.record("sh", "-c", f"{PYTHON} train.py")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("aten::embedding", operators(self.trace))

    def test_children_have_files_of_their_own(self):
        child = "import subprocess, sys, torch; torch.ones(2).exp(); " \
                "sys.exit(subprocess.call([sys.executable, 'train.py']))"
        done = self.record(PYTHON, "-c", child)
        self.assertEqual(done.returncode, 0, done.stderr)
        others = self.left() - {"run.json"}
        self.assertEqual(len(others), 1, done.stderr)
        self.assertIn(min(others), done.stderr)
        self.assertIn("aten::exp", operators(self.trace))
        self.assertIn("aten::embedding", operators(self.folder / min(others)))

    def test_forked_workers_do_not_write_into_the_trace(self):
        self.script.write_text("""
import torch, torch.utils.data
class Numbers(torch.utils.data.Dataset):
    def __len__(self): return 4000
    def __getitem__(self, i): return torch.full((2,), i / 1000).exp()
total = torch.zeros(2)
for batch in torch.utils.data.DataLoader(Numbers(), batch_size=400, num_workers=2): total += batch.log().sum(0)
print(round(total[0].item()))
""")
        done = self.record(PYTHON, str(self.script))
        self.assertEqual(done.returncode, 0, done.stderr)
        names = operators(self.trace)
        self.assertEqual((names.count("aten::log"), names.count("aten::exp")), (10, 0))

    def test_the_programs_own_environment(self):
        hidden = self.folder / "site"
        hidden.mkdir()
        (hidden / "sitecustomize.py").write_text("import builtins\nbuiltins.seen = True\n")
        code = "import sys, torch; torch.ones(1); print(seen, [p for p in sys.path if 'recording' in p])"
        done = self.record(PYTHON, "-c", code, PYTHONPATH=str(hidden))
        self.assertEqual(done.stdout, "True []\n", done.stderr)


class Failures(Recording):
    FAILING = "import torch, sys; torch.ones(2).exp(); sys.exit(7)"

    def test_exit_code_is_passed_on_and_a_trace_that_is_there_stays(self):
        done = self.record(PYTHON, "-c", self.FAILING)
        self.assertEqual(done.returncode, 7)
        self.assertIn("aten::exp", operators(self.trace))
        self.trace.write_text("old")
        done = self.record(PYTHON, "-c", self.FAILING)
        self.assertEqual((done.returncode, self.trace.read_text()), (7, "old"))
        self.assertIn("run.partial.json", done.stderr)
        self.assertIn("aten::exp", operators(self.folder / "run.partial.json"))
        self.assertEqual(self.record(PYTHON, "-c", "import torch; torch.ones(2).log()").returncode, 0)
        self.assertIn("aten::log", operators(self.trace))

    def test_killed_leaves_nothing(self):
        self.trace.write_text("old")
        done = self.record(PYTHON, "-c", "import os, torch; torch.ones(2).exp(); os.kill(os.getpid(), 9)")
        self.assertEqual((done.returncode, self.trace.read_text()), (137, "old"))
        self.assertIn("before its trace was complete", done.stderr)
        self.assertEqual(self.left(), {"run.json"})

    def test_no_torch(self):
        subprocess.run([PYTHON, "-m", "venv", "--without-pip", str(self.folder / "bare")], check=True)
        done = self.record(str(self.folder / "bare/bin/python"), "-c", "print(1)")
        self.assertEqual((done.returncode, done.stdout), (2, "1\n"))
        self.assertIn("has no torch", done.stderr)
        self.assertIn("pip install torch", done.stderr)
        failed = self.record(str(self.folder / "bare/bin/python"), "-c", "import torch")
        self.assertEqual(failed.returncode, 1)
        self.assertIn("has no torch", failed.stderr)

    def test_torch_that_is_not_imported(self):
        self.assertIn("did not import torch", self.record(PYTHON, "-c", "pass").stderr)

    def test_no_python(self):
        for command in (("true",), (PYTHON, "-I", "-c", "import torch")):
            done = self.record(*command)
            self.assertEqual(done.returncode, 2)
            self.assertIn("started no Python that reads PYTHONPATH", done.stderr)

    def test_usage(self):
        for arguments in (("record",), ("record", "--steps", "0", "--", PYTHON), ("record", "--", "/nonexistent/x"),
                          ("record", "-o", "/nonexistent/x", "--", PYTHON, "-c", "1"),
                          ("record", "-o", "/dev/null", "--", PYTHON, "-c", "1"),
                          ("--format", "json", "record", "--", PYTHON, "-c", "1")):
            done = flagos_diag(*arguments, cwd=self.folder)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertTrue(done.stderr, arguments)
        self.assertEqual(self.left(), set())


class Interrupts(Recording):
    LOOP = ("import torch, sys, time; torch.ones(2).exp(); print('ready', flush=True)\n"
            "while True: time.sleep(0.01)")

    def check_kept(self):
        self.assertIn("aten::exp", operators(self.trace))
        self.assertEqual(self.left(), {"run.json"})

    def test_signal_from_another_process(self):
        process = subprocess.Popen([PROGRAM, "record", "-o", str(self.trace), "--", PYTHON, "-c", self.LOOP],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 130, said)
        self.assertIn("KeyboardInterrupt", said)
        self.check_kept()

    def test_from_a_terminal(self):
        child, terminal = pty.fork()
        if child == 0:
            os.execv(PROGRAM, [PROGRAM, "record", "-o", str(self.trace), "--", PYTHON, "-c", self.LOOP])
        said, sent = b"", False
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                said += os.read(terminal, 4096)
            except OSError:  # the terminal is gone with its last process
                break
            if b"ready" in said and not sent:
                sent = bool(os.write(terminal, b"\x03"))
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 130, said)
        self.assertEqual(said.count(b"KeyboardInterrupt"), 1, said)
        self.check_kept()


if __name__ == "__main__":
    sys.argv.pop(1)
    unittest.main()
