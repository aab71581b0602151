"""Checks the recorded workloads, and the script that slims them: workloads_test.py FOLDER [FLAGOS_DIAG]."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

PROGRAM = sys.argv.pop() if len(sys.argv) > 2 else None
ROOT = Path(__file__).resolve().parents[3]
FOLDER = Path(sys.argv.pop()) if len(sys.argv) > 1 else ROOT / "tool" / "traces" / "workloads"
sys.path.insert(0, str(ROOT / "tool" / "traces"))
sys.dont_write_bytecode = True

from record_workloads import attribute, calls_of_kernels, is_decomposed, slim, slim_trace  # noqa: E402

NAMES = "adamw-step gptj-rotary lstm qwen3-decode qwen3-train resnet-block unet2d-block".split()
# A call without which the file would not be a trace of what its name says.
TYPICAL = {
    "adamw-step": {"_fused_adamw_", "_foreach_lerp_.Scalar", "addcdiv_"},
    "gptj-rotary": {"mm", "stack", "neg", "_softmax", "_softmax_backward_data"},
    "lstm": {"mkldnn_rnn_layer", "mkldnn_rnn_layer_backward"},
    "qwen3-decode": {"embedding", "mm", "rsqrt", "silu", "argmax", "_scaled_dot_product_flash_attention_for_cpu"},
    "qwen3-train": {"embedding_dense_backward", "nll_loss_backward", "silu_backward", "_foreach_addcdiv_.ScalarList"},
    "resnet-block": {"convolution_backward", "native_batch_norm_backward", "threshold_backward"},
    "unet2d-block": {"convolution_backward", "native_group_norm_backward", "silu_backward"},
}
ADD = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
LINEAR = "aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor"


def operator(node: dict[str, Any]) -> str:
    return attribute(node, "op_schema").partition("(")[0].removeprefix("aten::")


def documents() -> dict[str, dict[str, Any]]:
    return {file.stem: json.loads(file.read_text()) for file in sorted(FOLDER.glob("*.json"))}


class Files(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.documents = documents()

    def test_all_are_there_and_small(self):
        self.assertEqual(sorted(self.documents), NAMES)
        sizes = [file.stat().st_size for file in FOLDER.glob("*.json")]
        self.assertLessEqual(max(sizes), 300_000)
        self.assertLessEqual(sum(sizes), 1_500_000)

    def test_say_nothing_of_the_machine(self):
        for file in FOLDER.glob("*.json"):
            text = file.read_text()
            self.assertNotRegex(text, r'"(?:pid|tid|time|start_ts|finish_ts|rf_id)"|/(?:home|tmp|work|root|usr)/')
        for name, document in self.documents.items():
            self.assertEqual(set(document), {"schema", "workload", "about", "versions", "nodes"}, name)
            self.assertEqual(set(document["versions"]), {"torch", "transformers", "diffusers"})

    def test_have_what_their_names_promise(self):
        for name, document in self.documents.items():
            called = {operator(node) for node in document["nodes"]}
            self.assertLessEqual(TYPICAL[name], called, name)

    def test_hold_no_operator_that_is_decomposed(self):
        for name, document in self.documents.items():
            found = {operator(node) for node in document["nodes"] if is_decomposed("aten::" + operator(node))}
            self.assertEqual(found, set(), name)

    def test_are_numbered_from_one(self):
        for document in self.documents.values():
            ids = [node["id"] for node in document["nodes"]]
            self.assertEqual(ids, list(range(1, len(ids) + 1)))

    def test_indices_have_ranges_within_the_table(self):
        for name in ("qwen3-decode", "qwen3-train"):
            embeddings = [node for node in self.documents[name]["nodes"] if operator(node) == "embedding"]
            self.assertTrue(embeddings)
            for node in embeddings:
                low, high = json.loads(attribute(node, "tensor_range"))["1"]
                self.assertGreaterEqual(low, 0)
                self.assertLess(high, node["inputs"]["shapes"][0][0])


def node(identity: int, parent: int, schema: str, storage: int = 77) -> dict[str, Any]:
    """As the observer writes one: add.Tensor's columns for each operator, which is enough here."""
    tensor = [900 + identity, storage, 0, 3, 8, "cpu"]
    return {
        "id": identity, "name": "x", "ctrl_deps": parent,
        "inputs": {"values": [tensor, copy.copy(tensor), 1], "shapes": [[3], [3], []],
                   "types": ["Tensor(long int)", "Tensor(long int)", "Int"], "strides": [[1], [1], []]},
        "outputs": {"values": [], "shapes": [], "types": [], "strides": []},
        "attrs": [{"name": "tid", "type": "uint64", "value": 1},
                  {"name": "op_schema", "type": "string", "value": schema},
                  {"name": "tensor_range", "type": "string", "value": '{"0":[0,5],"1":[-7,7881299348356864]}'}],
    }


class Slimming(unittest.TestCase):
    def test_keeps_the_outermost_kernel_and_what_is_decomposed_into(self):
        nodes = [node(2, 1, ""), node(3, 2, LINEAR), node(5, 4, ADD), node(4, 3, ADD), node(6, 2, ADD)]
        kept = [found["id"] for found in calls_of_kernels({"nodes": nodes})]
        self.assertEqual(kept, [4, 6])  # 5 is called by the kernel of 4; 3 has no kernel; 2 is no operator

    def test_renames_ids_and_drops_ranges_of_uninitialised_memory(self):
        slimmed = slim(node(9, 1, ADD), {})
        self.assertEqual(slimmed["inputs"]["values"], [[1, 1, 0, 3, 8, "cpu"], [1, 1, 0, 3, 8, "cpu"], 1])
        self.assertEqual(json.loads(attribute(slimmed, "tensor_range")), {"0": [0, 5]})
        self.assertEqual(set(slimmed), {"inputs", "attrs"})

    def test_repeats_stay(self):
        document = slim_trace({"schema": "1.1.1", "nodes": [node(3, 1, ADD), node(2, 1, ADD)]}, {"workload": "x"})
        self.assertEqual([found["id"] for found in document["nodes"]], [1, 2])
        self.assertEqual(document["nodes"][0]["attrs"], document["nodes"][1]["attrs"])


@unittest.skipIf(PROGRAM is None, "no flagos-diag was named")
class Replayed(unittest.TestCase):
    def test_every_call_runs_and_is_fast(self):
        for name in NAMES:
            with self.subTest(name):
                file = str(FOLDER / f"{name}.json")
                command = [PROGRAM, "stats", "--trace", file, "--format", "json", "--target", "cpu"]
                done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                document = json.loads(done.stdout)
                # torch.tensor() detaches its result in place; a replay gives detach_ a view, which PyTorch refuses.
                self.assertLessEqual(set(document["summary"]["errors"]), {"detach_"})
                self.assertGreaterEqual(document["summary"]["hit_rate"], 0.95)
                self.assertFalse([note for note in document["notes"] if re.search("passed over|newer", note)])


if __name__ == "__main__":
    unittest.main()
