"""A wheel and what its users meet, in an environment of its own that sees the build's torch through a .pth file.

wheel_test.py BUILD_DIR SOURCE_DIR PYTHON OTHER_TORCH: the finished build, its source, the Python with torch that it was
configured with, and a library that says it is torch 2.1 (tests/other_torch). The wheel is packed of what BUILD_DIR has
linked for it, by the same backend and the same list of files as `pip wheel .`; nothing is compiled.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path

BUILD, SOURCE, PYTHON, OTHER_TORCH = (Path(argument) for argument in sys.argv[1:5])
NEEDED = {"mesonpy": "meson-python", "pip": "pip", "venv": "venv"}
MISSING = [package for module, package in NEEDED.items() if importlib.util.find_spec(module) is None]
# What would lead a process past the installed package.
LEFT_OUT = ("PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "LD_PRELOAD")

_scratch = tempfile.TemporaryDirectory(prefix="flagos-wheel-")
SCRATCH = Path(_scratch.name)
WHEEL = Path()
VENV = SCRATCH / "venv"


def run(*command: str | Path, cwd: Path = SCRATCH, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if k not in LEFT_OUT and not k.startswith("FLAGOS_")}
    environment = {**kept, "FLAGOS_TARGET": "cpu", "PYTHONDONTWRITEBYTECODE": "1", **variables}
    words = [str(word) for word in command]
    return subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=600)


def must(*command: str | Path, cwd: Path = SCRATCH, **variables: str) -> str:
    done = run(*command, cwd=cwd, **variables)
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def stage() -> None:
    """The two packages with everything in them, as this build would install them, in SCRATCH/staged."""
    meson = (PYTHON, "-m", "mesonbuild.mesonmain", "install", "-C", BUILD, "--no-rebuild", "--quiet")
    must(*meson, "--tags", "python-runtime", "--destdir", SCRATCH / "root")
    package = next((SCRATCH / "root").rglob("flagos/__init__.py")).parent
    for name in ("flagos", "_flagos"):
        shutil.copytree(package.parent / name, SCRATCH / "staged" / name)


def pack(source: Path, name: str) -> Path:
    """`pip wheel SOURCE` of what stage() laid out."""
    setup = f"setup-args=-Dstaged={SCRATCH / 'staged'}"
    command = (PYTHON, "-m", "pip", "wheel", "--no-deps", "--no-index", "--no-build-isolation", "-q", source)
    must(*command, "-w", SCRATCH / name, "-C", setup, "-C", f"builddir={SCRATCH / f'{name}-build'}")
    (made,) = (SCRATCH / name).glob("*.whl")
    return made


def install(wheel: Path, venv: Path, torch_from: Path | None) -> None:
    """A new environment with the wheel, and with the packages in folder `torch_from` where one is given."""
    must(PYTHON, "-m", "venv", "--without-pip", venv)
    must(PYTHON, "-m", "pip", "--python", venv / "bin/python", "install", "--no-deps", "--no-index", "-q", wheel)
    if torch_from is not None:
        site = next(venv.glob("lib/python3*/site-packages"))
        (site / "torch.pth").write_text(f"{torch_from}\n", encoding="utf-8")


def setUpModule() -> None:
    global WHEEL
    if MISSING:
        raise unittest.SkipTest(f"needs {' and '.join(MISSING)}: pip install {' '.join(MISSING)}")
    stage()
    WHEEL = pack(SOURCE, "wheel")
    places = must(PYTHON, "-c", "import torch; print(torch.__path__[0])", TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    install(WHEEL, VENV, Path(places.strip()).parent)


def tearDownModule() -> None:
    _scratch.cleanup()


def python(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return run(VENV / "bin/python", "-c", code, **variables)


def diag(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return run(VENV / "bin/flagos-diag", *arguments, **variables)


class WheelFile(unittest.TestCase):
    def test_tag_names_the_platform_and_no_version_of_python(self) -> None:
        self.assertRegex(WHEEL.name, r"^flagos-[\d.]+-py3-none-linux_\w+\.whl$")
        with zipfile.ZipFile(WHEEL) as wheel:
            (facts,) = (wheel.read(name).decode() for name in wheel.namelist() if name.endswith("dist-info/WHEEL"))
        self.assertIn(f"Tag: {WHEEL.stem.split('-', 2)[2]}\n", facts)
        self.assertIn("Root-Is-Purelib: false", facts)

    def test_record_is_true(self) -> None:
        from importlib.metadata import Distribution

        site = next(VENV.glob("lib/python3*/site-packages"))
        installed = Distribution.at(next(site.glob("flagos-*.dist-info")))
        for file in installed.files or []:
            if file.hash is not None and file.suffix != ".pyc":  # pip's own
                self.assertEqual(file.size, len(file.read_binary()), file)

    def test_has_the_modules_of_the_source_tree(self) -> None:
        expected = {str(path.relative_to(SOURCE / "python")) for path in (SOURCE / "python").glob("*flagos/*.py")}
        with zipfile.ZipFile(WHEEL) as wheel:
            found = {name for name in wheel.namelist() if re.fullmatch(r"_?flagos/\w+\.py", name)}
        self.assertEqual(found, expected)

    def test_has_no_path_of_the_machine_that_built_it(self) -> None:
        places = {str(place) for path in (BUILD, SOURCE, PYTHON) for place in (path, path.resolve())}
        with zipfile.ZipFile(WHEEL) as wheel:
            for name in wheel.namelist():
                content = wheel.read(name)
                found = [place for place in places if place.encode() in content]
                self.assertEqual(found, [], name)

    @unittest.skipIf(shutil.which("readelf") is None, "needs readelf: binutils")
    def test_binaries_find_each_other_relative_to_themselves(self) -> None:
        site = next(VENV.glob("lib/python3*/site-packages"))
        binaries = [path for path in site.glob("flagos/**/*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
        self.assertGreaterEqual(len(binaries), 3)
        for binary in binaries:
            dynamic = must("readelf", "--dynamic", "--wide", binary)
            for places in re.findall(r"R(?:UN)?PATH.*\[(.*)\]", dynamic):
                self.assertEqual([p for p in places.split(":") if not p.startswith("$ORIGIN")], [], binary)
            self.assertNotRegex(dynamic, r"NEEDED.*(/|cuda)", binary)

    @unittest.skipUnless((SOURCE / ".git").exists(), "not a git checkout, which `meson dist` needs")
    def test_source_archive_makes_the_same_wheel(self) -> None:
        code = "import sys, flagos_backend as b; b.build_sdist(sys.argv[1], {'setup-args': sys.argv[2]})"
        settings = (SCRATCH / "sdist", f"-Dstaged={SCRATCH / 'staged'}")
        must(PYTHON, "-c", code, *settings, cwd=SOURCE, PYTHONPATH=str(SOURCE / "python/build_backend"))
        (archive,) = (SCRATCH / "sdist").glob("flagos-*.tar.gz")
        with tarfile.open(archive) as packed:
            packed.extractall(SCRATCH / "unpacked", filter="data")
        (source,) = (SCRATCH / "unpacked").iterdir()
        made = pack(source, "wheel-of-sdist")
        self.assertEqual(made.name, WHEEL.name)
        with zipfile.ZipFile(made) as wheel, zipfile.ZipFile(WHEEL) as expected:
            self.assertEqual(sorted(wheel.namelist()), sorted(expected.namelist()))


class Installed(unittest.TestCase):
    def test_import_torch_is_silent_and_the_device_computes(self) -> None:
        done = python("import torch; assert (torch.ones(4, device='flagos') @ torch.ones(4, device='flagos')).item() == 4")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_program_is_executable_and_in_the_package(self) -> None:
        (program,) = VENV.glob("lib/python3*/site-packages/flagos/bin/flagos-diag")
        self.assertTrue(program.stat().st_mode & stat.S_IXUSR)

    def test_version_is_the_packages(self) -> None:
        done = diag("--version")
        version = python("import flagos; print(flagos.__version__)").stdout.strip()
        self.assertEqual((done.returncode, done.stdout), (0, f"flagos-diag {version}\n"), done.stderr)

    def test_check_op(self) -> None:
        done = diag("check-op", "add.Tensor")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"(?m)^aten::add\.Tensor\s+plain\s+fast|add\.Tensor.*fast")
        self.assertNotIn("no Python with torch", done.stdout + done.stderr)  # situation python_mode was carried out

    def test_verify(self) -> None:
        done = diag("verify", "add.Tensor")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_workloads_come_with_it(self) -> None:
        (trace,) = VENV.glob("lib/python3*/site-packages/flagos/share/flagos/workloads/lstm.json")
        done = diag("stats", "--trace", str(trace))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = diag("ab-bench", "--workload", "nonsense")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"nonsense not in \{.*lstm")

    def test_manual_page_comes_with_it(self) -> None:
        (page,) = VENV.glob("lib/python3*/site-packages/flagos/share/man/man1/flagos-diag.1")
        self.assertEqual(page.read_text(encoding="utf-8"), diag("man").stdout)

    def test_doctor_names_the_tool_and_its_version(self) -> None:
        done = run(VENV / "bin/python", "-m", "flagos", "doctor")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"(?m)^ok +tool +\S+/flagos/bin/flagos-diag, \d+\.\d+\.\d+$")
        self.assertNotIn("FAIL", done.stdout)

    def test_commands_of_the_tool_run_through_the_package(self) -> None:
        code = "import flagos; print({v.verdict for v in flagos.explain('add.Tensor') if v.situation == 'plain'})"
        done = python(code)
        self.assertEqual(done.stdout, "{'fast'}\n", done.stderr)

    def test_training_gives_the_losses_of_the_target(self) -> None:
        script = SOURCE / "examples/train_char.py"
        printed = [must(VENV / "bin/python", script, "--device", d, "--steps", "3") for d in ("cpu", "flagos")]
        losses = [re.findall(r"loss\D*([\d.]+)", text) for text in printed]
        self.assertTrue(losses[0], printed[0])
        self.assertEqual(*losses)


class Refused(unittest.TestCase):
    """No torch, or one that the library was not built for."""

    def setUp(self) -> None:
        other = SCRATCH / "other"
        (other / "torch").mkdir(parents=True, exist_ok=True)
        for name in ("__init__.py", "version.py"):
            (other / "torch" / name).write_text("__version__ = '2.1.0'\n", encoding="utf-8")
        self.other = {"PYTHONPATH": str(other)}
        built = python("from _flagos.files import *; print(built_for_torch(find_library()))").stdout
        self.minor = ".".join(built.split(".")[:2])

    def test_program_names_both_versions_and_the_remedy(self) -> None:
        for command in (("--version",), ("check-op", "add.Tensor")):
            done = diag(*command, **self.other)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertRegex(done.stderr, rf"^flagos-diag: .* built for torch {self.minor}\S*, but this is torch 2\.1\.0\.")
            self.assertIn(f"pip install 'torch=={self.minor}.*'", done.stderr)

    def test_doctor_names_both_versions_and_the_remedy(self) -> None:
        done = run(VENV / "bin/python", "-m", "flagos", "doctor", **self.other)
        self.assertEqual((done.returncode, done.stderr), (2, ""))
        self.assertRegex(done.stdout, rf"^FAIL torch .* built for torch {self.minor}\S*, but this is torch 2\.1\.0\.")
        self.assertIn(f"pip install 'torch=={self.minor}.*'", done.stdout)
        self.assertIn("/flagos/bin/flagos-diag", done.stdout)

    def test_no_torch(self) -> None:
        bare = SCRATCH / "bare"
        install(WHEEL, bare, None)
        for command in ((bare / "bin/flagos-diag", "--version"), (bare / "bin/python", "-m", "flagos", "doctor")):
            done = run(*command)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"has no torch. Install it: pip install 'torch=={self.minor}.*'", done.stdout + done.stderr)
            self.assertNotIn("Traceback", done.stderr)

    def test_incomplete_torch_names_the_file(self) -> None:
        for name in ("__init__.py", "version.py"):
            (SCRATCH / "other" / "torch" / name).write_text(f"__version__ = '{self.minor}.0'\n", encoding="utf-8")
        done = diag("--version", **self.other)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"^flagos-diag: the torch in .* has no lib/libc10\.so\. Install it again: pip")

    def test_program_without_its_script_refuses_too(self) -> None:
        (program,) = VENV.glob("lib/python3*/site-packages/flagos/bin/flagos-diag")
        done = run(program, "--version")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, rf"^flagos-diag: can't load .*torch/lib/libc10\.so: .*\. Install torch {self.minor} ")
        libraries = SCRATCH / "torch-2.1"
        libraries.mkdir(exist_ok=True)
        for name in ("libc10.so", "libtorch_cpu.so"):
            shutil.copy(OTHER_TORCH, libraries / name)
        done = run(program, "--version", FLAGOS_DIAG_TORCH=str(libraries))
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"was built for torch {self.minor}, but {libraries} has torch 2.1. Install", done.stderr)


if __name__ == "__main__":
    unittest.main()
