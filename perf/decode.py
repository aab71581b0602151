"""Time of a Qwen3-0.6B-shaped decode on flagos over native, from Python: one process, arms by turns.

decode.py [--target cuda|cpu] [--rounds N] [--tokens N] [--layers N]. Needs the `flagos` package and transformers; the
weights are random and the same in each arm. Printed: the median over rounds of the ratio to the native arm of the same
round, with its 95% interval. Processes of their own differ by several percent before anything is measured (where their
memory lies, which processor they got), hence one process; what is left is what a call costs.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import time

import torch
from paired import median_interval
from transformers import Qwen3Config, Qwen3ForCausalLM

ARMS = ("native", "on", "off")


def make_model(layers: int, target: str) -> Qwen3ForCausalLM:
    """The model on the target, bfloat16."""
    full = {"hidden_size": 1024, "intermediate_size": 3072, "num_attention_heads": 16, "num_key_value_heads": 8,
            "head_dim": 128, "vocab_size": 151936}
    small = {"hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4, "num_key_value_heads": 2,
             "head_dim": 16, "vocab_size": 1000}
    config = Qwen3Config(**(full if target == "cuda" else small), num_hidden_layers=layers,
                         max_position_embeddings=4096, tie_word_embeddings=True)
    torch.manual_seed(0)
    with torch.device(target):
        return Qwen3ForCausalLM(config).to(torch.bfloat16).eval()


def main() -> int:
    """Prints one line an arm."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--target", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--tokens", type=int, default=16, help="decoded a round; default 16")
    parser.add_argument("--layers", type=int, default=28)
    options = parser.parse_args()
    if options.rounds < 10:
        parser.error("--rounds: at least 10, for an interval")
    os.environ["FLAGOS_TARGET"] = options.target
    import flagos  # reads FLAGOS_TARGET

    native = make_model(options.layers, options.target)
    models = {"native": native, "flagos": make_model(options.layers, options.target).to("flagos")}
    prompt = torch.randint(0, 1000, (1, 16), generator=torch.Generator().manual_seed(1))

    def decode(arm: str) -> tuple[float, list[int]]:
        name = "native" if arm == "native" else "flagos"
        ids = prompt.to(options.target if arm == "native" else "flagos")
        with torch.no_grad(), flagos.redispatch(arm != "off"):
            started = time.perf_counter()
            out = models[name].generate(ids, max_new_tokens=options.tokens, do_sample=False, use_cache=True,
                                        pad_token_id=0)
            tokens = out[0].tolist()
        return time.perf_counter() - started, tokens

    times: dict[str, list[float]] = {arm: [] for arm in ARMS}
    expected = decode("native")[1]
    for number in range(options.rounds + 1):
        for arm in random.sample(ARMS, len(ARMS)):
            elapsed, tokens = decode(arm)
            if tokens != expected:
                print(f"decode.py: {arm} decodes other tokens than native: {tokens}, not {expected}", file=sys.stderr)
                return 1
            if number > 0:
                times[arm].append(elapsed)
    for arm in ARMS:
        ratio, low, high = median_interval([x / y for x, y in zip(times[arm], times["native"], strict=True)])
        print(f"{arm:<8}{1e3 * statistics.median(times[arm]) / options.tokens:>9.3f} ms a token   over native "
              f"{ratio:.3f} [{low:.3f}, {high:.3f}]")
    return 0


if __name__ == "__main__":
    sys.exit(main())
