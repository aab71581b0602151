"""flagos.redispatch, stats and explain, against what was called."""

from __future__ import annotations

import threading
import unittest

import torch

import flagos
from flagos import _tool

X = torch.randn(8, 8, device="flagos")


class RedispatchTest(unittest.TestCase):
    def test_nests_and_is_undone_by_an_exception(self) -> None:
        with self.assertRaises(KeyError), flagos.redispatch(False):
            self.assertFalse(flagos.redispatch_enabled())
            with flagos.redispatch(True):
                self.assertTrue(flagos.redispatch_enabled())
            self.assertFalse(flagos.redispatch_enabled())
            raise KeyError
        self.assertTrue(flagos.redispatch_enabled())

    def test_other_threads_are_not_affected(self) -> None:
        seen = []
        with flagos.redispatch(False):
            thread = threading.Thread(target=lambda: seen.append(flagos.redispatch_enabled()))
            thread.start()
            thread.join()
        self.assertEqual(seen, [True])

    def test_decorates_a_recursive_function(self) -> None:
        @flagos.redispatch(False)
        def depth(n: int) -> list[bool]:
            return [flagos.redispatch_enabled()] + (depth(n - 1) if n else [])

        self.assertEqual(depth(2), [False] * 3)
        self.assertTrue(flagos.redispatch_enabled())

    def test_leaving_on_another_thread_is_an_error(self) -> None:
        guard, errors = flagos.redispatch(False), []

        def leave() -> None:
            try:
                guard.__exit__(None, None, None)
            except RuntimeError as error:
                errors.append(str(error))

        with guard:
            thread = threading.Thread(target=leave)
            thread.start()
            thread.join()
        self.assertRegex(errors[0], "left on another thread")
        self.assertTrue(flagos.redispatch_enabled())

    def test_changes_no_result(self) -> None:
        on = X @ X
        with flagos.redispatch(False):
            off = X @ X
        self.assertTrue(torch.equal(on.cpu(), off.cpu()))


class StatsTest(unittest.TestCase):
    def test_counts_hits_and_refusals(self) -> None:
        flagos.reset_stats()
        X @ X
        with flagos.redispatch(False):
            X @ X
            X @ X
        self.assertEqual(flagos.stats()["aten::mm"], flagos.OpCounts(3, 1, {"FP-OFF": 2}))
        self.assertEqual(flagos.stats()["aten::mm"].hit_rate, 1 / 3)

    def test_views_are_counted_but_have_no_rate(self) -> None:
        flagos.reset_stats()
        X.view(64)
        counts = flagos.stats()["aten::view"]
        self.assertEqual((counts.calls, counts.hits, counts.hit_rate), (1, 0, None))

    def test_reset(self) -> None:
        X + X
        flagos.reset_stats()
        self.assertEqual(flagos.stats(), {})

    def test_sums_threads_that_have_ended(self) -> None:
        flagos.reset_stats()
        thread = threading.Thread(target=lambda: X @ X)
        thread.start()
        thread.join()
        self.assertEqual(flagos.stats()["aten::mm"].calls, 1)


class ExplainTest(unittest.TestCase):
    def verdict(self, *arguments: object) -> tuple[str, str | None]:
        found = flagos.explain(*arguments)
        return found.verdict, found.reason

    def test_of_a_call(self) -> None:
        self.assertEqual(self.verdict("add.Tensor", X, X), ("fast", None))
        self.assertEqual(self.verdict(torch.add, X, 1), ("fast", None))
        self.assertEqual(self.verdict("aten::view", X, [64]), ("view", None))
        self.assertEqual(self.verdict("matmul.default", X, X), ("composite", None))
        self.assertEqual(self.verdict("add.Tensor", X.cpu(), 1), ("n/a", None))

    def test_of_a_refusal_says_what_to_do(self) -> None:
        with flagos.redispatch(False):
            found = flagos.explain("mm", X, X)
        self.assertEqual((found.verdict, found.reason), ("full", "FP-OFF"))
        self.assertRegex(str(found), "full FP-OFF - The kill switch is set")

    def test_counts_this_thread_alone(self) -> None:
        def call() -> None:
            thread = threading.Thread(target=lambda: X @ X)
            thread.start()
            thread.join()

        self.assertEqual(flagos.explain(call).counts, {})

    def test_unknown_operator(self) -> None:
        with self.assertRaisesRegex(ValueError, "no operator 'nosuch'"):
            flagos.explain("nosuch", X)

    @unittest.skipIf(_tool.find_tool() is None, "flagos-diag was not found")
    def test_of_a_name_is_what_the_tool_says(self) -> None:
        found = {each.situation: (each.verdict, each.reason) for each in flagos.explain("add.Tensor")}
        rows = _tool.results("check-op", "add.Tensor")
        self.assertEqual(found, {row["situation"]: (row["verdict"], row["reason"]) for row in rows})
        self.assertEqual((found["plain"], found["off"]), (("fast", None), ("full", "FP-OFF")))


if __name__ == "__main__":
    unittest.main()
