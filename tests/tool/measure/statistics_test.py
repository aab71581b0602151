"""ab-bench's statistics against scipy's, on the same data: statistics_test.py PROBE."""

import json
import subprocess
import sys
import unittest

import numpy
import scipy.stats

PROBE = sys.argv.pop(1) if len(sys.argv) > 1 else ""


def ask(values, **more):
    request = json.dumps({"values": [float(value) for value in values], **more})
    done = subprocess.run([PROBE], input=request + "\n", capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def samples():
    """Named data of the shapes that log ratios come in."""
    random = numpy.random.default_rng(0)
    yield "few", random.normal(0.01, 0.02, 8)
    yield "24 blocks", random.normal(0.0, 0.02, 24)
    yield "shifted", random.normal(0.03, 0.02, 48)
    yield "most for exact", random.normal(0.003, 0.02, 50)
    yield "many", random.normal(0.001, 0.02, 501)
    yield "heavy tails", random.standard_t(2, 200) * 0.01
    yield "ties", numpy.round(random.normal(0.2, 1.0, 60), 1)
    yield "ties and zeros", numpy.round(random.normal(0.1, 0.4, 30), 1)


class StatisticsTest(unittest.TestCase):
    def test_median(self):
        for name, values in samples():
            with self.subTest(name):
                self.assertAlmostEqual(ask(values)["median"], float(numpy.median(values)), places=14)

    def test_wilcoxon(self):
        for name, values in samples():
            with self.subTest(name):
                nonzero = values[values != 0]
                ties = len(set(numpy.abs(nonzero))) != len(nonzero)
                method = "exact" if len(nonzero) <= 50 and not ties else "asymptotic"
                expected = scipy.stats.wilcoxon(nonzero, method=method, correction=False).pvalue
                self.assertAlmostEqual(ask(values)["wilcoxon_p"], float(expected), delta=1e-12 + 1e-9 * expected)

    def test_wilcoxon_of_zeros_is_no_evidence(self):
        self.assertEqual(ask([0.0, 0.0, 0.0])["wilcoxon_p"], 1)

    def test_bootstrap(self):
        """The percentile interval is random: both are within what 10,000 resamples vary by."""
        for name, values in samples():
            with self.subTest(name):
                expected = scipy.stats.bootstrap(
                    (values,), numpy.median, n_resamples=10000, method="percentile", rng=numpy.random.default_rng(1)
                ).confidence_interval
                tolerance = 0.05 * (expected.high - expected.low) + 1e-12
                answer = ask(values)
                self.assertAlmostEqual(answer["low"], expected.low, delta=tolerance)
                self.assertAlmostEqual(answer["high"], expected.high, delta=tolerance)

    def test_bootstrap_repeats_by_its_seed(self):
        values = numpy.random.default_rng(2).normal(0, 1, 101)
        self.assertEqual(ask(values, seed=3, resamples=50), ask(values, seed=3, resamples=50))
        intervals = {(got["low"], got["high"]) for got in (ask(values, seed=seed, resamples=50) for seed in range(10))}
        self.assertGreater(len(intervals), 1)

    def test_bootstrap_covers_what_it_should(self):
        """Of 300 samples from a normal distribution, the 95% interval contains the median about 95 times in 100."""
        random = numpy.random.default_rng(5)
        covered = 0
        with subprocess.Popen([PROBE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as probe:
            requests = "".join(json.dumps({"values": list(random.normal(0, 1, 40)), "resamples": 1000}) + "\n" for _ in range(300))
            for line in probe.communicate(requests)[0].splitlines():
                answer = json.loads(line)
                covered += answer["low"] <= 0 <= answer["high"]
        self.assertGreater(covered, 300 * 0.90)
        self.assertLess(covered, 300 * 0.99)

    def test_holm(self):
        """By its definition: the smallest p that leaves a hypothesis rejected at each step down."""
        for p in ([0.01, 0.04, 0.03, 0.005], [0.5], [0.2, 0.2, 0.9, 1.0], list(numpy.linspace(0.001, 0.2, 30))):
            order = sorted(range(len(p)), key=lambda i: p[i])
            expected, greatest = [0.0] * len(p), 0.0
            for step, i in enumerate(order):
                greatest = max(greatest, min(1.0, (len(p) - step) * p[i]))
                expected[i] = greatest
            for got, wanted in zip(ask(p)["holm"], expected, strict=True):
                self.assertAlmostEqual(got, wanted, places=14)


if __name__ == "__main__":
    unittest.main()
