"""flagos-diag where variables, files, streams and limits are not what it hopes for.

Called as: hostile_environment_test.py FLAGOS_DIAG WORKLOADS. Signals are in signals_test.py.
"""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = os.path.abspath(sys.argv[1])
LSTM = os.path.abspath(Path(sys.argv[2]) / "lstm.json")
NOBODY = 65534
LONG = "x" * 120_000  # the kernel takes no variable of more than 128 KiB from exec
HOSTILE = ["garbage", "cpu\n", "\x1b[31mcpu", "cp\udcff", LONG]  # \udcff is the byte 0xff


def run(*arguments: str, env: dict[str, str] | None = None, shell: str = "", user: int | None = None,
        **more) -> subprocess.CompletedProcess:
    """Runs the program, or `shell` with it as $0 and the arguments as "$@"."""
    command = ["/bin/sh", "-c", shell, PROGRAM, *arguments] if shell else [PROGRAM, *arguments]
    return subprocess.run(command, env={**os.environ, "FLAGOS_TARGET": "cpu", **(env or {})}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False, user=user,
                          extra_groups=[] if user is not None else None, **more)


class Hostile(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.folder.chmod(0o755)

    def refused(self, done: subprocess.CompletedProcess, *named: str) -> None:
        """Ends with 2 and a short, printable text that holds each of `named`; prints no data."""
        text = done.stderr.decode("utf-8", "surrogateescape")
        self.assertEqual((done.returncode, done.stdout), (2, b""), text[:500])
        self.assertLess(len(text), 2000)
        self.assertTrue(text.replace("\n", "").isprintable(), repr(text))
        self.assertNotIn("Traceback", text)
        for name in named:
            self.assertIn(name, text)

    def as_nobody(self) -> int:
        if os.geteuid() != 0:
            self.skipTest("another user's files need root")
        if run("--version", user=NOBODY).returncode != 0:
            self.skipTest("the build folder is closed to other users")
        return NOBODY


class Variables(Hostile):
    def test_choices(self):
        for name, allowed in {"FLAGOS_TARGET": "auto, cpu, cuda", "FLAGOS_FALLBACK": "error, warn, allow"}.items():
            for value in HOSTILE:
                with self.subTest(name=name, value=value[:20]):
                    self.refused(run("routes", env={name: value}), name, allowed)
            self.assertEqual(run("routes", env={name: ""}).returncode, 0)

    def test_switches_are_on_for_anything_but_0(self):
        for value in ("0\n", "\udcff", LONG, "false"):
            done = run("check-op", "mm", "--situation", "plain", "--format", "json", env={"FLAGOS_NO_REDISPATCH": value})
            self.assertEqual(json.loads(done.stdout)["results"][0]["reason"], "FP-OFF", value[:20])

    def test_route_file(self):
        for value in (*HOSTILE[1:], "/dev/zero"):
            with self.subTest(value=value[:20]):
                self.refused(run("routes", env={"FLAGOS_BACKEND_CONFIG": value}), "FLAGOS_BACKEND_CONFIG")

    def test_route_of_one_operator(self):
        for value in HOSTILE[2:]:
            self.refused(run("routes", env={"FLAGOS_OP_mm": value}), "FLAGOS_OP_mm", "native, cuda, dispatch, cpu")
        for name in ("\udcff", "mm\n", LONG):
            self.refused(run("routes", env={"FLAGOS_OP_" + name: "cpu"}), "FLAGOS_OP_", "no operator")

    def test_terminal(self):
        plain = run("explain", "FP-CONJ").stdout
        for name in ("NO_COLOR", "TERM", "COLUMNS"):
            for value in HOSTILE[3:]:
                done = run("explain", "FP-CONJ", env={name: value})
                self.assertEqual((done.returncode, done.stdout), (0, plain), name)

    def test_doctor_shows_them_short_and_printable(self):
        done = run("doctor", env={"FLAGOS_OP_mm": "\x1b[31m" + LONG, "FLAGOS_NO\x1b[31m": LONG})
        self.assertLess(len(done.stdout), 20_000)
        self.assertNotIn(b"\x1b", done.stdout)

    def test_none_at_all(self):
        done = subprocess.run([PROGRAM, "check-op", "mm", "--situation", "plain,off"], env={}, capture_output=True,
                              timeout=120, check=False)  # no HOME, PATH, LANG
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_temporary_folder_that_is_none(self):
        done = run("verify", "mm", "--case", "as_recorded", "--call", "0", env={"TMPDIR": "/proc/none", "HOME": "/proc"})
        self.assertEqual((done.returncode, done.stderr), (0, b""))


class Files(Hostile):
    def odd_files(self) -> list[str]:
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        return [str(self.folder), str(pipe), "/dev/null", "/dev/zero", str(self.folder / "none"), "x" * 1000]

    def test_readers_neither_hang_nor_read_for_ever(self):
        for file in self.odd_files():
            with self.subTest(file=file[:80]):
                self.refused(run("check-op", "--trace", file), file[:50])
                self.refused(run("compare", file, file), file[:50])
                self.refused(run("routes", "--conf", file), file[:50])

    def test_conf_that_includes_what_it_should_not(self):
        conf = self.folder / "a.conf"
        for included in (*self.odd_files(), "a.conf"):
            conf.write_text(f"\ninclude {included}\n", encoding="utf-8")
            self.refused(run("routes", "--conf", str(conf)), f"{conf}:2")

    def test_files_of_another_user(self):
        user = self.as_nobody()
        secret = self.folder / "secret"
        secret.write_text("mm = cpu\n", encoding="utf-8")
        secret.chmod(0o600)
        for arguments in (["routes", "--conf"], ["check-op", "--trace"], ["compare", str(secret)]):
            self.refused(run(*arguments, str(secret), user=user), str(secret), "Permission denied")

    def test_empty_names(self):
        for arguments in (["check-op", "mm", "--trace", ""], ["verify", "mm", "--trace="], ["routes", "--conf", ""],
                          ["routes", "--output", ""], ["compare", "", LSTM], ["check-op", ""]):
            self.refused(run(*arguments))

    def test_names_are_bytes(self):
        for name in ("öß.json", "\udcff\udcfe.json", "a b'\"$(x)\n.json"):
            trace = self.folder / name
            trace.write_bytes(Path(LSTM).read_bytes())
            output = self.folder / ("out " + name)
            done = run("check-op", "--trace", str(trace), "--situation", "plain", "--format", "json", "--output",
                       str(output), env={"LANG": "C", "LC_ALL": "C"})
            self.assertEqual((done.returncode, done.stderr), (0, b""), name)
            self.assertTrue(json.loads(output.read_bytes())["results"])
            page = self.folder / ("page " + name)
            done = run("report", str(output), "-o", str(page), env={"LANG": "C", "LC_ALL": "C"})
            self.assertEqual((done.returncode, done.stderr), (0, b""), name)
            self.assertIn(b"</html>", page.read_bytes())


class Output(Hostile):
    def assert_untouched(self, old: Path) -> None:
        self.assertEqual(old.read_text(encoding="utf-8"), "old")
        self.assertEqual(os.listdir(old.parent), [old.name], "a temporary file is left")

    def old_file(self, folder: Path) -> Path:
        old = folder / "old.json"
        old.write_text("old", encoding="utf-8")
        return old

    def test_folder_of_another_user(self):
        user = self.as_nobody()
        old = self.old_file(self.folder)
        old.chmod(0o666)
        self.refused(run("routes", "--output", str(old), user=user), str(self.folder), "Permission denied")
        self.assert_untouched(old)

    def test_full_disk(self):
        if os.geteuid() != 0:
            self.skipTest("a small file system needs root")
        old = self.old_file(self.folder)
        script = (f"mount -t tmpfs -o size=64k none {self.folder} 2>/dev/null || exit 77\n"
                  f'printf old >{old}; "$0" "$@"; code=$?; ls {self.folder} >&2; cat {old} >&2; exit $code')
        done = run("--list", "--format", "json", "--output", str(old), shell=f"unshare -m /bin/sh -c '{script}' \"$0\" \"$@\"")
        if done.returncode in (1, 77):
            self.skipTest("no file system can be mounted here")
        self.refused(done, "No space left on device")
        self.assertTrue(done.stderr.endswith(b"\nold.json\nold"), done.stderr)

    def test_folder_that_vanishes(self):
        folder = self.folder / "gone"
        folder.mkdir()
        with subprocess.Popen([PROGRAM, "verify", "mm", "--output", str(folder / "x.json")], stderr=subprocess.PIPE,
                              stdout=subprocess.PIPE, env={**os.environ, "FLAGOS_TARGET": "cpu"}) as process:
            while not children(process.pid) and process.poll() is None:  # it has checked the folder before
                pass
            folder.rmdir()
            out, err = process.communicate(timeout=120)
        self.refused(subprocess.CompletedProcess([], process.returncode, out, err), "x.json", "No such file")

    def test_full_device(self):
        for shell in ('exec "$0" "$@" >/dev/full', 'exec "$0" "$@" --output /dev/full', 'exec "$0" "$@" >&-'):
            self.refused(run("routes", shell=shell), "can't write")
        for shell in ('exec "$0" "$@" >/dev/full', 'exec "$0" "$@" >&-'):
            for argument in ("--version", "--help", "man"):
                self.refused(run(argument, shell=shell), "can't write")

    def test_closed_streams_do_not_become_files(self):
        output = self.folder / "x.json"
        shell = 'exec "$0" "$@" <&- >&- 2>&-'
        done = run("check-op", "--trace", LSTM, "-v", "--format", "json", "--output", str(output), shell=shell)
        self.assertEqual(done.returncode, 0)
        self.assertTrue(json.loads(output.read_bytes())["results"])

    def test_reader_that_has_gone(self):
        for arguments in (["--list"], ["check-op", "mm", "add", "--format", "jsonl"]):
            done = run(*arguments, shell='{ "$0" "$@"; echo $? >&2; } | head -1')
            self.assertEqual(done.stdout.count(b"\n"), 1)
            self.assertRegex(done.stderr, rb"^(flagos-diag: can't write to standard output.*\n)?(0|2|141)\n$")


class Limits(Hostile):
    def test_few_files(self):
        for most in (8, 11, 13):
            done = run("check-op", "mm", "--situation", "plain", shell=f'ulimit -n {most}; exec "$0" "$@"')
            if done.returncode == 127:  # the loader could not open the libraries
                continue
            self.refused(done, "Too many open files")

    def test_no_processes(self):
        user = self.as_nobody()
        done = run("check-op", "mm", "--situation", "plain", shell='ulimit -u 1; exec "$0" "$@"', user=user)
        if done.returncode == 0:
            self.skipTest("no limit on processes here")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(b"worker", done.stderr)


def children(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError:
        return []


if __name__ == "__main__":
    unittest.main()
