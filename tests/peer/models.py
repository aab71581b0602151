"""One arm of models_test.py: runs stock models with random weights and prints digests and counters, as JSON.

models.py DEVICE: "flagos", "cpu" or "cuda". Each model gives a digest of every result that the arms must agree on,
and on flagos the calls that took the fast path and those that did not. A native arm needs FLAGOS_DISABLE=1.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Any

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
os.environ["HF_HUB_OFFLINE"] = "1"  # weights are random; nothing may be downloaded
warnings.filterwarnings("ignore")

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

DEVICE = sys.argv[1]
NEW_TOKENS = 6
if DEVICE == "flagos":
    import flagos


def digest(tensors: Iterable[torch.Tensor | None]) -> str:
    """Of dtypes, shapes and bits."""
    sha = hashlib.sha256()
    for tensor in tensors:
        if tensor is None:
            sha.update(b"none")
            continue
        host = tensor.detach().cpu().contiguous()
        sha.update(f"{host.dtype}{tuple(host.shape)}".encode())
        sha.update(host.view(-1).view(torch.uint8).numpy().tobytes())
    return sha.hexdigest()[:16]


def noise(*shape: int, seed: int = 1) -> torch.Tensor:
    """The same on each device."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE)


def token_ids(rows: int, length: int, vocabulary: int) -> torch.Tensor:
    """The same on each device."""
    return torch.randint(vocabulary, (rows, length), generator=torch.Generator().manual_seed(2)).to(DEVICE)


def trained(model: nn.Module, loss_of: Callable[[], torch.Tensor], optimizer: torch.optim.Optimizer) -> dict[str, str]:
    """Two steps; digests of the last loss, its gradients, and what the model then holds."""
    for _ in range(2):
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return {
        "loss": digest([loss]),
        "gradients": digest(parameter.grad for parameter in model.parameters()),
        "state": digest(model.state_dict().values()),
    }


def qwen3() -> nn.Module:
    """Two layers with grouped-query attention and normalised heads, as in Qwen3-0.6B."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    config = Qwen3Config(
        hidden_size=64, intermediate_size=192, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        head_dim=32, vocab_size=256, tie_word_embeddings=True, bos_token_id=None, eos_token_id=None, pad_token_id=None,
    )
    return Qwen3ForCausalLM(config).to(DEVICE)


def generated(model: nn.Module, vocabulary: int) -> dict[str, Any]:
    """Logits of the prompt, then greedy tokens and the logits of each, by transformers' own generate()."""
    model.eval()
    prompt = token_ids(2, 9, vocabulary)
    with torch.no_grad():
        prefill = model(prompt, use_cache=True).logits
    done = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=NEW_TOKENS, do_sample=False,
                          output_logits=True, return_dict_in_generate=True)
    return {"prefill": digest([prefill]), "tokens": done.sequences.tolist(), "logits": digest(done.logits)}


def qwen3_inference() -> dict[str, Any]:
    return generated(qwen3(), 256)


def qwen3_inference_bf16() -> dict[str, Any]:
    return generated(qwen3().to(torch.bfloat16), 256)


def qwen3_training(bf16: bool, **kind: bool) -> dict[str, str]:
    model = qwen3().train()
    ids = token_ids(2, 17, 256)

    def loss() -> torch.Tensor:
        with torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=bf16):
            return model(ids, labels=ids, use_cache=False).loss

    return trained(model, loss, torch.optim.AdamW(model.parameters(), lr=1e-2, **kind))


def gptj() -> dict[str, Any]:
    """Its rotary embedding repeats and interleaves; then a training step."""
    from transformers import GPTJConfig, GPTJForCausalLM

    config = GPTJConfig(vocab_size=128, n_positions=64, n_embd=64, n_layer=2, n_head=4, rotary_dim=8, resid_pdrop=0.0,
                        embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=None, eos_token_id=None, pad_token_id=None)
    model = GPTJForCausalLM(config).to(DEVICE)
    results = generated(model, 128)
    ids = token_ids(2, 11, 128)
    step = torch.optim.AdamW(model.parameters(), lr=1e-2, foreach=True)
    return results | trained(model.train(), lambda: model(ids, labels=ids, use_cache=False).loss, step)


def unet2d() -> dict[str, str]:
    """Diffusers' UNet2D with attention, in channels_last."""
    from diffusers import UNet2DModel

    model = UNet2DModel(
        sample_size=16, in_channels=3, out_channels=3, layers_per_block=1, block_out_channels=(16, 32),
        norm_num_groups=8,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )
    model = model.to(DEVICE).to(memory_format=torch.channels_last).train()
    image = noise(2, 3, 16, 16).to(memory_format=torch.channels_last).requires_grad_()
    steps = torch.tensor([10, 700]).to(DEVICE)
    output = model(image, steps).sample
    results = {"output": digest([output]), "strides": str(output.stride())}
    output.square().mean().backward()
    results["gradient of the image"] = digest([image.grad])
    step = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=True)
    return results | trained(model, lambda: model(image, steps).sample.square().mean(), step)


def resnet() -> dict[str, str]:
    """Training with batch statistics, then a forward pass with the running ones."""
    from transformers import ResNetConfig, ResNetModel

    model = ResNetModel(ResNetConfig(embedding_size=16, hidden_sizes=[32, 64], depths=[2, 1])).to(DEVICE).train()
    image = noise(2, 3, 32, 32)
    step = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=True)
    results = trained(model, lambda: model(image).pooler_output.square().mean(), step)
    with torch.no_grad():
        return results | {"evaluated": digest([model.eval()(image).last_hidden_state])}


def lstm() -> dict[str, str]:
    """Embedding, bidirectional two-layer LSTM and cross entropy."""
    table, model, head = nn.Embedding(50, 24), nn.LSTM(24, 16, num_layers=2, bidirectional=True), nn.Linear(32, 50)
    whole = nn.ModuleList([table, model, head]).to(DEVICE).train()
    ids = token_ids(7, 4, 50)

    def loss() -> torch.Tensor:
        return F.cross_entropy(head(model(table(ids))[0]).flatten(0, 1), ids.flatten())

    return trained(whole, loss, torch.optim.AdamW(whole.parameters(), lr=1e-2, fused=True))


MODELS: dict[str, Callable[[], dict[str, Any]]] = {
    "qwen3 inference": qwen3_inference,
    "qwen3 inference, bf16": qwen3_inference_bf16,
    "qwen3 training": lambda: qwen3_training(False, foreach=True),
    "qwen3 training, bf16 autocast": lambda: qwen3_training(True, foreach=True),
    "qwen3 training, bf16 autocast, fused AdamW": lambda: qwen3_training(True, fused=True),
    "gptj": gptj,
    "unet2d": unet2d,
    "resnet": resnet,
    "lstm": lstm,
}


def counters() -> dict[str, dict[str, Any]]:
    """By operator: calls, hits, and refusals by reason, since the last call of this function."""
    counted = {op: dataclasses.asdict(counts) for op, counts in flagos.stats().items()}
    flagos.reset_stats()
    return counted


def main() -> None:
    """Prints {MODEL: {"results": ..., "counters": ...}}."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    arm = {}
    for name, run in MODELS.items():
        torch.manual_seed(0)
        if DEVICE == "flagos":
            counters()
        arm[name] = {"results": run(), "counters": counters() if DEVICE == "flagos" else {}}
    print(json.dumps(arm))


if __name__ == "__main__":
    main()
