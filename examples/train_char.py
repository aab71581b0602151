"""Trains a small character-level GPT on a text file, its own source by default.

Nothing in it knows of any device but by the argument. Where flagos is installed, `--device flagos` gives the losses of
its target in float32, digit for digit; what is known to differ under --bfloat16 is in docs/python.md.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

BLOCK, WIDTH, HEADS, LAYERS, DROPOUT = 64, 96, 4, 3, 0.1


class Block(nn.Module):
    """Causal self-attention and a two-layer perceptron, each behind a layer norm and added to its input."""

    def __init__(self) -> None:
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.to_qkv, self.project = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.perceptron = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH), nn.Dropout(DROPOUT)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        q, k, v = self.to_qkv(self.norm_1(x)).view(batch, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + F.dropout(self.project(mixed.transpose(1, 2).reshape(batch, length, WIDTH)), DROPOUT, self.training)
        return x + self.perceptron(self.norm_2(x))


class CharModel(nn.Module):
    def __init__(self, characters: int) -> None:
        super().__init__()
        self.token, self.position = nn.Embedding(characters, WIDTH), nn.Embedding(BLOCK, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, characters, bias=False)
        self.head.weight = self.token.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.norm(self.blocks(self.token(tokens) + self.position(positions))))

    @torch.no_grad()
    def generate(self, tokens: torch.Tensor, count: int) -> torch.Tensor:
        for _ in range(count):
            chances = self(tokens[:, -BLOCK:])[:, -1].softmax(-1)
            tokens = torch.cat([tokens, torch.multinomial(chances, 1)], 1)
        return tokens


def batch(data: torch.Tensor, size: int, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    starts = torch.randint(len(data) - BLOCK - 1, (size,))
    rows = torch.stack([data[start : start + BLOCK + 1] for start in starts.tolist()]).to(device, non_blocking=True)
    return rows[:, :-1], rows[:, 1:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--text", type=Path, default=Path(__file__))
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--bfloat16", action="store_true", help="autocast to bfloat16")
    parser.add_argument("--sample", type=int, default=0, help="characters to generate at the end")
    options = parser.parse_args()

    text = options.text.read_text(encoding="utf-8")
    characters = sorted(set(text))
    data = torch.tensor([characters.index(each) for each in text])
    torch.manual_seed(1337)
    model = CharModel(len(characters)).to(options.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.99))
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, options.steps)
    cast = torch.autocast(torch.device(options.device).type, torch.bfloat16, enabled=options.bfloat16)
    started = time.perf_counter()
    for step in range(options.steps):
        tokens, following = batch(data, options.batch, options.device)
        with cast:
            loss = F.cross_entropy(model(tokens).flatten(0, 1), following.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 10 == 0 or step == options.steps - 1:
            print(f"step {step} loss {loss.item():.17g} gradient {norm.item():.17g}")
        if not math.isfinite(loss.item()):
            raise SystemExit("the loss is not finite")
    if options.sample:
        model.eval()
        shown = model.generate(data[:1].to(options.device)[None], options.sample)[0].tolist()
        print("".join(characters[each] for each in shown))
    print(f"{options.device}: {time.perf_counter() - started:.1f} s", flush=True)


if __name__ == "__main__":
    main()
