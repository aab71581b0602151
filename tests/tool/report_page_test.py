"""Runs `flagos-diag report` and `flagos-diag compare` on small documents. Called as: report_page_test.py FLAGOS_DIAG."""
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path

PROGRAM = os.path.abspath(sys.argv[1])
REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements.txt"
ENVIRONMENT = {"torch": "2.11.0", "target": "cpu", "devices": ["a CPU"], "cpu": "a CPU", "compiler": "gcc 12.2.0"}
HOSTILE = "</script><img src=x onerror=alert(1)>"


def document(command: str, results: list, summary: dict | None = None, **environment: object) -> dict:
    return {"schema": "flagos-diag/1", "command": command, "environment": {**ENVIRONMENT, **environment},
            "summary": summary or {}, "notes": [], "results": results}


def times(op: str, arm: str, against: str | None, ns: float, ratio: float | None = None, verdict: str | None = None,
          **more: object) -> dict:
    interval = {} if ratio is None else {"ratio_ci_low": ratio * 0.99, "ratio_ci_high": ratio * 1.01}
    return {"op": op, "case": "float32[4]", "call": 0, "arm": arm, "against": against, "ns_median": ns,
            "ns_ci_low": ns * 0.999, "ns_ci_high": ns * 1.001, "ratio": ratio, **interval, "verdict": verdict, **more}


def checked(op: str, **verdicts: str) -> list:
    return [{"op": op, "situation": situation, "verdict": verdict, "reason": "FP-CONJ" if verdict == "full" else None,
             "agrees": True} for situation, verdict in verdicts.items()]


def verified(op: str, equal: bool | None, reason: str = "output 0: contents", **more: object) -> dict:
    return {"op": op, "case": "plain", "call": 0, "arm_a": "native", "arm_b": "on", "equal": equal, "reason": reason,
            "reproduce": f"flagos-diag verify {op} --case plain --call 0", **more}


class Page(HTMLParser):
    """A page's elements, its text outside scripts, and the data for its scripts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict]] = []
        self.words = ""
        self.inside = ""
        self.json = ""
        self.feed(html)
        self.data = json.loads(self.json)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.elements.append((tag, dict(attrs)))
        self.inside = "data" if dict(attrs).get("id") == "data" else tag

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside == "data":
            self.json += data
        elif self.inside not in ("script", "style"):
            self.words += data + "\n"

    def component(self, kind: str) -> dict | list:
        """The data of the first component of that kind."""
        return next(self.data[attributes["data-key"]] for _, attributes in self.elements
                    if attributes.get("data-component") == kind)


class Documents(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.page = self.folder / "page.html"

    def file(self, content: object, name: str = "") -> str:
        file = self.folder / (name or f"{len(os.listdir(self.folder))}.json")
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(file)

    def run_tool(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess:
        env = {**os.environ, "FLAGOS_TARGET": "cpu", **variables}
        return subprocess.run([PROGRAM, *arguments], env=env, capture_output=True, text=True, timeout=120, check=False)

    def report(self, *documents: dict) -> Page:
        if importlib.util.find_spec("plotly") is None:
            self.skipTest("plotly is not installed")
        done = self.run_tool("report", *[self.file(each) for each in documents], "-o", str(self.page))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return Page(self.page.read_text(encoding="utf-8"))


class Report(Documents):
    def test_nothing_is_fetched(self):
        page = self.report(document("verify", [verified("mm", False)]))
        self.assertIn("plotly.js v", self.page.read_text(encoding="utf-8"))
        links = [attributes[name] for _, attributes in page.elements for name in ("src", "href") if name in attributes]
        self.assertEqual([link for link in links if not link.startswith(("#", "data:"))], [])
        policies = [attributes["content"] for tag, attributes in page.elements
                    if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"]
        self.assertEqual(len(policies), 1)
        self.assertIn("default-src 'none'", policies[0])

    def test_headings_and_environments(self):
        page = self.report(document("verify", []), document("check-op", checked("mm", plain="fast"), torch="2.10.0"))
        tags = [tag for tag, _ in page.elements]
        self.assertEqual(tags.count("h1"), 1)
        self.assertGreaterEqual(tags.count("h2"), 3)
        for text in ("2.11.0", "2.10.0", "gcc 12.2.0", "differs"):
            self.assertIn(text, page.words)

    def test_forest_is_sorted_by_ratio_without_the_control(self):
        rows = [times("mm", "native", None, 100), times("mm", "on", "off", 98, 0.98, "INCONCLUSIVE"),
                times("add.Tensor", "on", "off", 80, 0.80, "FASTER"), times("mm", "on", "native", 105, 1.05, "SLOWER"),
                times("mm", "aa", "on", 98, 1.002, "SAME")]
        forest = self.report(document("ab-bench", rows, {"noise_floor": 0.012})).component("forest")
        found = {each["name"]: [row[:2] for row in each["rows"]] for each in forest["comparisons"]}
        self.assertEqual(found, {"on against off": [["add.Tensor (float32[4])", 0.80], ["mm (float32[4])", 0.98]],
                                 "on against native": [["mm (float32[4])", 1.05]]})
        self.assertEqual((forest["floor"], forest["same"]), (0.012, 0.01))

    def test_noise_floor_from_the_control_or_not_recorded(self):
        control = times("mm", "aa", "on", 98, 0.97, "SAME")
        page = self.report(document("ab-bench", [times("mm", "on", "off", 98, 0.98), control]))
        self.assertAlmostEqual(page.component("forest")["floor"], 0.03)
        page = self.report(document("ab-bench", [times("mm", "on", "off", 98, 0.98)]))
        self.assertIsNone(page.component("forest")["floor"])
        self.assertIn("was not recorded", page.words)

    def test_times_of_an_arm_once_with_its_samples(self):
        rows = [times("mm", "on", "off", 98, 0.98), times("mm", "on", "native", 98, 1.02, samples=[97, 98, 99]),
                times("mm", "off", "native", 100, 1.04)]
        found = self.report(document("ab-bench", rows)).component("times")
        self.assertEqual([(row[1], row[2], row[5]) for row in found], [("on", 98, [97, 98, 99]), ("off", 100, None)])

    def test_operators_of_one_pattern_share_a_line(self):
        rows = [*checked("mm", plain="fast", conj="full"), *checked("view", plain="view", conj="view"),
                *checked("bmm", plain="fast", conj="full")]
        heat = self.report(document("check-op", rows)).component("heat")
        self.assertEqual(heat, {"situations": ["plain", "conj"],
                                "groups": [[["mm", "bmm"], [["fast", ""], ["full", "FP-CONJ"]]],
                                           [["view"], [["view", ""], ["view", ""]]]]})

    def test_findings_have_the_line_that_replays_them(self):
        rows = [verified("mm", False), verified("rand", None, "nondeterministic: x"), verified("add.Tensor", True)]
        page = self.report(document("verify", rows, {"cases": 9, "equal": 7, "different": 1}))
        tables = [value["rows"] for key, value in page.data.items() if key.endswith("findings")]
        self.assertEqual(len(tables[0]), 1)
        self.assertIn("flagos-diag verify mm --case plain --call 0", tables[0][0])
        self.assertIn("native differs from itself (1)", page.words)

    def test_kernel_parity(self):
        page = self.report(document("verify", [verified("mm", False)]))
        self.assertRegex(page.words, r"Kernel parity\s+Not recorded")
        kernels = {"native": ["gemm"], "on": ["gemm", "copy"]}
        page = self.report(document("verify", [verified("mm", True, kernels_equal=False, kernels=kernels),
                                               verified("bmm", True, kernels_equal=True)]))
        self.assertRegex(page.words, r"rows with kernels\s+2\s+same kernels\s+1\s+other kernels\s+1")
        tables = [value["rows"] for key, value in page.data.items() if key.endswith("kernels")]
        self.assertIn("native gemm, on gemm, copy", tables[0][0])
        findings = [value["rows"] for key, value in page.data.items() if key.endswith("findings")]
        self.assertEqual([row[0] for row in findings[0]], ["mm"], "other kernels are a finding, equal results or not")

    def test_text_of_a_document_never_becomes_markup(self):
        page = self.report(document("check-op", checked(HOSTILE, plain="error"), cpu=HOSTILE),
                           document("verify", [verified(HOSTILE, False, HOSTILE)]),
                           document("ab-bench", [times(HOSTILE, "on", "off", 1, 1.1, HOSTILE)]),
                           {**document(HOSTILE, [{HOSTILE: HOSTILE}], {HOSTILE: HOSTILE}), "notes": [HOSTILE]})
        self.assertNotIn("img", [tag for tag, _ in page.elements])
        self.assertEqual(page.component("heat")["groups"][0][0], [HOSTILE])
        self.assertIn(HOSTILE, page.words)

    def test_fields_may_be_missing(self):
        page = self.report(*[{"schema": "flagos-diag/1", "command": command, "results": [{"op": "mm"}]}
                             for command in ("ab-bench", "check-op", "verify", "stats")])
        self.assertIn("No row has a ratio.", page.words)

    def test_other_commands_have_their_rows(self):
        page = self.report(document("doctor", [{"check": "rpath", "verdict": "ok"}], {"verdicts": {"ok": 1}}))
        self.assertEqual(page.component("table")["rows"], [["rpath", "ok"]])


class ReportUsage(Documents):
    def refused(self, *arguments: str, **variables: str) -> str:
        self.page.write_text("old")
        before = sorted(os.listdir(self.folder))
        done = self.run_tool("report", *arguments, **variables)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(self.page.read_text(), "old")
        self.assertEqual(sorted(os.listdir(self.folder)), before)
        return done.stderr

    def plotly(self, code: str) -> str:
        """A folder for PYTHONPATH with a plotly.offline of this code."""
        package = self.folder / "modules" / "plotly"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
        (package / "offline.py").write_text(code)
        return str(package.parent)

    def test_files_that_are_no_documents(self):
        good = self.file(document("verify", []))
        for bad in ("/no/such.json", str(self.folder), self.file("{"), self.file({"schema": "other/1"})):
            error = self.refused(good, bad, "-o", str(self.page))
            self.assertIn(bad, error)
            self.assertRegex(error, "--format json")

    def test_page_that_can_not_be_written(self):
        good = self.file(document("verify", []))
        self.assertIn("-o", self.refused(good))
        self.assertIn("/no/such/folder", self.refused(good, "-o", "/no/such/folder/page.html"))
        self.assertIn("one of the documents", self.refused(good, "-o", good))

    def test_no_plotly_says_what_to_install(self):
        good = self.file(document("verify", []))
        error = self.refused(good, "-o", str(self.page), PYTHONPATH=self.plotly("raise ImportError('none')"))
        pin = re.search(r"pip install (plotly==[\d.]+)", error)
        self.assertIsNotNone(pin, error)
        self.assertIn(pin[1], REQUIREMENTS.read_text().splitlines())

    def test_a_failure_leaves_the_old_page(self):
        good = self.file(document("verify", []))
        broken = self.plotly("def get_plotlyjs(): raise RuntimeError('broken plotly')")
        self.assertIn("broken plotly", self.refused(good, "-o", str(self.page), PYTHONPATH=broken))


class Compare(Documents):
    def compare(self, before: dict, after: dict, *more: str) -> tuple[int, dict]:
        done = self.run_tool("compare", self.file(before), self.file(after), "--format", "json", *more)
        return done.returncode, json.loads(done.stdout) if done.stdout else {"error": done.stderr}

    def bench(self, ns: float, **environment: object) -> dict:
        return document("ab-bench", [times("mm", "on", "off", ns, 0.9, "FASTER")], **environment)

    def test_exit_codes_of_times(self):
        for after, code, verdict in ((120, 1, "SLOWER"), (100, 0, "SAME"), (80, 0, "FASTER")):
            found, compared = self.compare(self.bench(100), self.bench(after))
            self.assertEqual((found, [row["verdict"] for row in compared["results"]]), (code, [verdict]))
            self.assertAlmostEqual(compared["results"][0]["speedup"], 100 / after)

    def test_a_changed_native_arm_is_the_machine(self):
        def runs(ns: float) -> dict:
            return document("ab-bench", [times("mm", arm, "off", ns, 0.9, "FASTER") for arm in ("native", "on")])

        self.assertIn("native arm changed in 1 cases", str(self.compare(runs(100), runs(120))[1]["notes"]))
        self.assertNotIn("native arm", str(self.compare(self.bench(100), self.bench(120))[1]["notes"]))

    def test_changes_of_checks_and_verifications(self):
        code, compared = self.compare(document("check-op", checked("mm", plain="fast", off="full")),
                                      document("check-op", checked("mm", plain="full", off="full")))
        self.assertEqual((code, [(row["situation"], row["verdict"]) for row in compared["results"]]),
                         (1, [("plain", "SLOWER")]))
        code, compared = self.compare(document("verify", [verified("mm", False)], {"cases": 5}),
                                      document("verify", [], {"cases": 5}))
        self.assertEqual((code, [row["verdict"] for row in compared["results"]]), (0, ["NEWLY_EQUAL"]))

    def test_nothing_in_common(self):
        code, _ = self.compare(document("check-op", checked("mm", plain="fast")),
                               document("check-op", checked("bmm", plain="fast")))
        self.assertEqual(code, 3)
        self.assertEqual(self.compare(document("verify", []), document("verify", []))[0], 3)

    def test_unlike_environments_need_force(self):
        runs = self.bench(100), self.bench(120, torch="2.10.0", devices=["another"], seed=7)
        code, compared = self.compare(*runs)
        self.assertEqual(code, 2)
        for text in ("torch", "2.10.0", "devices", "another", "--force"):
            self.assertIn(text, compared["error"])
        self.assertNotIn("seed", compared["error"])
        code, compared = self.compare(*runs, "--force")
        self.assertEqual((code, len(compared["summary"]["unlike"])), (1, 2))

    def test_other_commands_are_usage_errors_even_with_force(self):
        code, compared = self.compare(document("verify", []), document("check-op", []), "--force")
        self.assertEqual(code, 2)
        self.assertIn("check-op", compared["error"])


if __name__ == "__main__":
    sys.argv.pop(1)
    unittest.main()
