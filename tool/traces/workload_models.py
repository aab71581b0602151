"""The models whose steps record_workloads.py records: stock transformers, diffusers and torch, with random weights.

Each function prepares a model and returns the step to record. Widths are those of the real model where memory allows;
docs/workloads.md says what is smaller. Nothing here reads or writes files, and nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F

Step = Callable[[], None]
CACHED_TOKENS = 64


def _qwen3(**sizes: int) -> torch.nn.Module:
    from transformers import Qwen3Config, Qwen3ForCausalLM

    config = Qwen3Config(
        num_hidden_layers=2, head_dim=128, attn_implementation="sdpa", tie_word_embeddings=True, **sizes
    )
    return Qwen3ForCausalLM(config)


def qwen3_decode() -> Step:
    """One greedy token of Qwen3-0.6B in bfloat16, after 64 cached ones."""
    from transformers import DynamicCache

    model = _qwen3(
        hidden_size=1024, num_attention_heads=16, num_key_value_heads=8, intermediate_size=3072, vocab_size=4096
    )
    model = model.to(torch.bfloat16).eval()
    cache = DynamicCache(config=model.config)
    prompt = torch.randint(0, model.config.vocab_size, (1, CACHED_TOKENS))
    with torch.inference_mode():
        token = model(prompt, cache=cache).logits[:, -1:].argmax(-1)

    def step() -> None:
        with torch.inference_mode():
            model(token, cache=cache).logits[:, -1:].argmax(-1)

    return step


def qwen3_train() -> Step:
    """Forward under bfloat16 autocast, backward, gradient clipping and AdamW of a narrow Qwen3."""
    model = _qwen3(
        hidden_size=256, num_attention_heads=4, num_key_value_heads=2, intermediate_size=768, vocab_size=1024
    )
    model.train()
    tokens = torch.randint(0, model.config.vocab_size, (2, 33))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1, foreach=True)

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(tokens[:, :-1], use_cache=False).logits
        loss = F.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    step()  # the first step also makes the optimizer's state
    return step


def gptj_rotary() -> Step:
    """GPT-J's attention with its interleaved rotary embedding, forward and backward."""
    from transformers import GPTJConfig
    from transformers.models.gptj.modeling_gptj import GPTJAttention, GPTJRotaryEmbedding

    config = GPTJConfig(n_embd=1024, n_head=4, rotary_dim=64, n_positions=256, attn_implementation="eager")
    attention, rotary = GPTJAttention(config, layer_idx=0).train(), GPTJRotaryEmbedding(config)
    hidden = torch.randn(1, 32, config.n_embd, requires_grad=True)
    positions = torch.arange(32).unsqueeze(0)

    def step() -> None:
        attention(hidden, rotary(hidden, position_ids=positions))[0].square().mean().backward()

    return step


def unet2d_block() -> Step:
    """A down block of UNet2D with attention, at 320 channels in channels_last, forward and backward."""
    from diffusers.models.unets.unet_2d_blocks import AttnDownBlock2D

    block = AttnDownBlock2D(
        in_channels=320, out_channels=320, temb_channels=1280, num_layers=1, attention_head_dim=64,
        downsample_type="conv",
    )
    block = block.to(memory_format=torch.channels_last).train()
    image = torch.randn(1, 320, 16, 16).to(memory_format=torch.channels_last).requires_grad_()
    time_embedding = torch.randn(1, 1280)

    def step() -> None:
        block(image, time_embedding)[0].square().mean().backward()

    return step


def resnet_block() -> Step:
    """A bottleneck stage of ResNet-50 with batch norm, forward and backward."""
    from transformers import ResNetConfig
    from transformers.models.resnet.modeling_resnet import ResNetStage

    stage = ResNetStage(ResNetConfig(), in_channels=256, out_channels=512, stride=2, depth=2).train()
    image = torch.randn(2, 256, 28, 28, requires_grad=True)

    def step() -> None:
        stage(image).square().mean().backward()

    return step


def lstm() -> Step:
    """A bidirectional two-layer LSTM, forward and backward."""
    model = torch.nn.LSTM(256, 256, num_layers=2, bidirectional=True, batch_first=True).train()
    sequence = torch.randn(4, 8, 256, requires_grad=True)

    def step() -> None:
        model(sequence)[0].square().mean().backward()

    return step


def adamw_step() -> Step:
    """AdamW for one layer's tensors, an optimizer of each kind: foreach, fused, and one tensor at a time."""
    shapes = [(1024, 512), (256, 1024), (1024,), (1024,), (128,), (128,)]
    optimizers = []
    for kind in ({"foreach": True}, {"fused": True}, {"foreach": False}):
        parameters = [torch.nn.Parameter(torch.randn(shape)) for shape in shapes]
        for parameter in parameters:
            parameter.grad = torch.randn_like(parameter)
        optimizers.append(torch.optim.AdamW(parameters, lr=1e-3, **kind))

    def step() -> None:
        for optimizer in optimizers:
            optimizer.step()

    step()  # the first step also makes the optimizers' state
    return step


WORKLOADS: dict[str, Callable[[], Step]] = {
    "qwen3-decode": qwen3_decode,
    "qwen3-train": qwen3_train,
    "gptj-rotary": gptj_rotary,
    "unet2d-block": unet2d_block,
    "resnet-block": resnet_block,
    "lstm": lstm,
    "adamw-step": adamw_step,
}
