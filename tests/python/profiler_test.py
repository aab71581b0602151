"""PyTorch's profilers on flagos: each operator once, under its own name, and times of the device."""

from __future__ import annotations

import json
import os
import tempfile
import unittest
from collections import Counter
from typing import Any

import torch
from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile

import flagos

TARGET = flagos.target()


def work(device: str) -> torch.Tensor:
    x = torch.ones(32, 32, device=device)
    y = torch.softmax(x @ x, dim=-1).add_(1)
    return torch.cat([y, x]).view(-1)


def names(profiler: Any) -> Counter[str]:
    return Counter(event.name for event in profiler.events() if event.name.startswith("aten::"))


def profiled(device: str, **settings: Any) -> Any:
    with profile(**settings) as profiler:
        work(device)
    return profiler


class ProfilerTest(unittest.TestCase):
    def test_operators_appear_as_on_the_target(self) -> None:
        activities = [ProfilerActivity.CPU]
        expected = names(profiled(TARGET, activities=activities))
        self.assertEqual(expected["aten::mm"], 1)
        self.assertEqual(names(profiled("flagos", activities=activities)), expected)

    def test_full_dispatch_appears_no_second_time(self) -> None:
        activities = [ProfilerActivity.CPU]
        expected = names(profiled("flagos", activities=activities))
        with flagos.redispatch(False):
            self.assertEqual(names(profiled("flagos", activities=activities)), expected)

    def test_default_activities(self) -> None:
        with profile() as profiler:
            work("flagos")
        self.assertEqual(names(profiler)["aten::_softmax"], 1)

    def test_shapes_and_memory(self) -> None:
        profiler = profiled("flagos", activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True)
        product = next(event for event in profiler.events() if event.name == "aten::mm")
        self.assertEqual(product.input_shapes, [[32, 32], [32, 32]])
        bytes_used = product.cpu_memory_usage if TARGET == "cpu" else product.device_memory_usage
        self.assertGreaterEqual(bytes_used, 32 * 32 * 4)

    def test_use_device_measures_the_device(self) -> None:
        with torch.autograd.profiler.profile(use_device="flagos") as profiler:
            work("flagos")
        averages = {average.key: average for average in profiler.key_averages()}
        self.assertGreater(averages["aten::mm"].self_device_time_total, 0)
        self.assertIn("Self FLAGOS", profiler.key_averages().table())

    @unittest.skipUnless(TARGET == "cpu", "on CUDA the device runs after the host")
    def test_device_time_is_the_hosts_on_the_cpu(self) -> None:
        x = torch.ones(512, 512, device="flagos")
        with torch.autograd.profiler.profile(use_device="flagos") as profiler:
            x @ x
        product = next(average for average in profiler.key_averages() if average.key == "aten::mm")
        self.assertAlmostEqual(product.device_time_total / product.cpu_time_total, 1, delta=0.2)

    def test_privateuse1_activity(self) -> None:
        profiler = profiled("flagos", activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1])
        self.assertEqual(names(profiler)["aten::mm"], 1)

    def test_chrome_trace_parses(self) -> None:
        profiler = profiled("flagos", activities=[ProfilerActivity.CPU])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            profiler.export_chrome_trace(path)
            with open(path, encoding="utf-8") as file:
                events = json.load(file)["traceEvents"]
        self.assertEqual(Counter(event.get("name") for event in events)["aten::mm"], 1)

    def test_execution_trace_names_the_device(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            observer = ExecutionTraceObserver().register_callback(path)
            observer.start()
            work("flagos")
            observer.stop()
            observer.unregister_callback()
            with open(path, encoding="utf-8") as file:
                nodes = json.load(file)["nodes"]
        products = [node for node in nodes if node["name"] == "aten::mm"]
        self.assertEqual(len(products), 1)
        self.assertEqual(products[0]["inputs"]["shapes"], [[32, 32], [32, 32]])
        self.assertEqual([value[-1] for value in products[0]["inputs"]["values"]], ["flagos:0"] * 2)


if __name__ == "__main__":
    unittest.main()
