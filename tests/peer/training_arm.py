"""One arm of training_test.py: trains small models and prints a digest of the parameters of each, as JSON.

training_arm.py DEVICE: "flagos", "cpu" or "cuda". A native CUDA arm needs FLAGOS_DISABLE=1, since a CUDA backward next to
a PrivateUse1 backend fails in the autograd engine (pytorch issue 161129).
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from typing import Callable

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

DEVICE = sys.argv[1]
if DEVICE == "flagos":
    import flagos  # noqa: F401


class Attention(nn.Module):
    """Causal self-attention and a feed-forward layer, in bf16 by autocast."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(32, 96), nn.Linear(32, 32)
        self.norm, self.up, self.down = nn.LayerNorm(32), nn.Linear(32, 64), nn.Linear(64, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm(x)).view(batch, length, 3, 2, width // 2).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(x)))


class Recurrent(nn.Module):
    """A layer of `kind`, fed a packed sequence or a padded one."""

    def __init__(self, kind: type[nn.RNNBase], packed: bool = False, **options: object) -> None:
        super().__init__()
        self.layer, self.packed = kind(32, 16, num_layers=2, batch_first=True, **options), packed

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.packed:
            x = nn.utils.rnn.pack_padded_sequence(x, [8, 5, 5, 2], batch_first=True)
        out = self.layer(x)[0]
        return out.data if self.packed else out


class Reduced(nn.Module):
    """Reductions whose derivatives ask for the device, and ctc_loss."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(32, 12)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.inner(x)
        targets = torch.tensor([[1, 2], [3, 4], [2, 2], [5, 1]], device=x.device)
        loss = F.ctc_loss(x.transpose(0, 1).log_softmax(2), targets, [8] * 4, [2] * 4)
        return loss + x.max() + x.min() + x.median() + x.nanmedian() + x.renorm(2, 0, 1.0).sum()


def convolutional() -> nn.Module:
    """Convolution, batch norm and group norm in channels_last."""
    return nn.Sequential(
        nn.Unflatten(1, (1, 8)), nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
        nn.Conv2d(8, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(64, 8),
    ).to(memory_format=torch.channels_last)


def digest(model: nn.Module) -> str:
    """Of all parameters and buffers, bit for bit."""
    sha = hashlib.sha256()
    for tensor in model.state_dict().values():
        sha.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return sha.hexdigest()[:16]


def train(make: Callable[[], nn.Module], optimizer: Callable[..., torch.optim.Optimizer], bf16: bool) -> str:
    """Three steps with gradient clipping."""
    torch.manual_seed(0)
    model = make().to(DEVICE)
    stepper = optimizer(model.parameters())
    for step in range(3):
        x = torch.randn(4, 8, 32, generator=torch.Generator().manual_seed(step)).to(DEVICE)
        stepper.zero_grad()
        with torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=bf16):
            loss = model(x).float().square().mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        stepper.step()
    return digest(model)


def main() -> None:
    """Prints the digests."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    adamw = lambda parameters: torch.optim.AdamW(parameters, lr=0.01, fused=True)  # noqa: E731
    sgd = lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9, foreach=True)  # noqa: E731
    print(json.dumps({
        "attention": train(Attention, sgd, False),
        "attention, fused AdamW": train(Attention, adamw, False),
        "attention, bf16 autocast": train(Attention, sgd, True),
        "convolutional": train(convolutional, sgd, False),
        "LSTM": train(lambda: Recurrent(nn.LSTM), sgd, False),
        "LSTM with projections, packed": train(lambda: Recurrent(nn.LSTM, packed=True, proj_size=8), sgd, False),
        "LSTM with dropout": train(lambda: Recurrent(nn.LSTM, dropout=0.3), sgd, False),
        "GRU, both ways, packed": train(lambda: Recurrent(nn.GRU, packed=True, bidirectional=True), sgd, False),
        "RNN without biases": train(lambda: Recurrent(nn.RNN, bias=False), sgd, False),
        "LSTM, bf16 autocast": train(lambda: Recurrent(nn.LSTM), sgd, True),
        "reductions and ctc_loss": train(Reduced, sgd, False),
    }))


if __name__ == "__main__":
    main()
