"""CUDA kernels that a Qwen3-0.6B-shaped model launches, flagos against CUDA itself, and the tokens that it decodes.

model_kernels.py [--small] [--json FILE]

Random weights, bfloat16 for decoding; float32 under autocast with AdamW for training. Each arm (native, on, off) is a
process of its own, one after the other, since two CUPTI clients at once see nothing. Compared are the names of kernels,
copies and fills, in the order of launch, of a prefill, a decode step and a training step, 16 decoded tokens, and the
bits of logits, loss and weights. `--small` takes two layers. FLAGOS_LIBRARY says which library; needs transformers.
Ends with 1 where something differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
from typing import Any, Callable

ARMS = {"native": {"FLAGOS_DISABLE": "1"}, "on": {}, "off": {"FLAGOS_NO_REDISPATCH": "1"}}
SHAPE = {"hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16,
         "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936}
SMALL = {**SHAPE, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "vocab_size": 1000}
TOKENS = 16


def kernels_of(call: Callable[[], Any]) -> list[str]:
    """Names in the order of launch."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    gpu = (torch.autograd.DeviceType.CUDA, torch.autograd.DeviceType.PrivateUse1)
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as recorded:
        call()
        torch.cuda.synchronize()
    events = sorted((e for e in recorded.events() if e.device_type in gpu), key=lambda e: e.time_range.start)
    return [event.name for event in events]


def bits(*tensors: Any) -> str:
    """A digest of what the tensors hold."""
    import torch

    sha = hashlib.sha256()
    for tensor in tensors:
        sha.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return sha.hexdigest()[:16]


def run_arm(device: str, small: bool) -> dict[str, Any]:
    """What one arm launches and computes."""
    import torch

    if device == "flagos":
        import flagos  # noqa: F401
    from transformers import Qwen3Config, Qwen3ForCausalLM

    shape = SMALL if small else SHAPE

    def model_of(dtype: torch.dtype) -> torch.nn.Module:
        torch.manual_seed(0)
        with torch.device("cpu" if small else "cuda"):
            return Qwen3ForCausalLM(Qwen3Config(**shape, tie_word_embeddings=True)).to(dtype).to(device)

    def ids(*size: int) -> torch.Tensor:
        return torch.randint(0, 1000, size, generator=torch.Generator().manual_seed(1)).to(device)

    said: dict[str, Any] = {}
    model, prompt = model_of(torch.bfloat16).eval(), ids(1, 16)
    with torch.no_grad():
        options = {"max_new_tokens": TOKENS, "do_sample": False, "use_cache": True, "pad_token_id": 0}
        said["tokens"] = model.generate(prompt, **options)[0].tolist()
        state: dict[str, Any] = {}

        def prefill() -> None:
            state["out"] = model(prompt, use_cache=True)

        def step() -> None:
            state["out"] = model(prompt[:, :1], past_key_values=state["out"].past_key_values, use_cache=True)

        said["prefill"] = kernels_of(prefill)
        step()
        said["decode"] = kernels_of(step)
        said["logits"] = bits(state["out"].logits)
    model, batch = model_of(torch.float32).train(), ids(2, 64)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def train() -> None:
        optimizer.zero_grad()
        with torch.autocast(device, torch.bfloat16):
            state["loss"] = model(input_ids=batch, labels=batch).loss
        state["loss"].backward()
        optimizer.step()

    train()
    said["train"] = kernels_of(train)
    said["loss"] = bits(state["loss"])
    said["weights"] = bits(*model.parameters())
    return said


def compare(said: dict[str, dict[str, Any]]) -> int:
    """Prints a line for each thing compared; the number of those that differ."""
    different = 0
    for what, native in said["native"].items():
        for arm in ("on", "off"):
            same = said[arm][what] == native
            different += not same
            count = f"{len(native)} " if isinstance(native, list) else ""
            print(f"{arm:3s} {count}{what}: {'same' if same else 'different'}")
            if not same and isinstance(native, list):
                at = next((i for i, pair in enumerate(zip(native, said[arm][what])) if pair[0] != pair[1]), None)
                print(f"    native {len(native)}, {arm} {len(said[arm][what])}; first unlike: {at}")
                if at is not None:
                    print(f"    native {native[at][:150]}\n    {arm:6s} {said[arm][what][at][:150]}")
    return different


def main() -> int:
    """Command line; see the top of this file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="two layers")
    parser.add_argument("--json", help="write all names to this file")
    parser.add_argument("--arm", choices=ARMS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.arm:
        print(json.dumps(run_arm("cuda" if options.arm == "native" else "flagos", options.small)))
        return 0
    said = {}
    for arm, variables in ARMS.items():
        environment = {**os.environ, "FLAGOS_TARGET": "cuda", "HF_HUB_OFFLINE": "1", **variables}
        command = [sys.executable, "-W", "ignore", __file__, "--arm", arm, *(["--small"] if options.small else [])]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            print(f"model_kernels.py: the {arm} arm ended with status {done.returncode}; what it says is above",
                  file=sys.stderr)
            return 2
        said[arm] = json.loads(done.stdout.splitlines()[-1])
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(said, file)
    return 1 if compare(said) else 0


if __name__ == "__main__":
    sys.exit(main())
