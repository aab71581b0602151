"""Scenarios of distributed_arm.py: a small transformer under DDP and FSDP2, and its checkpoints."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from distributed_rank import DEVICE, FOLDER, RANK, WORLD, scenario, see


class Block(nn.Module):
    """A transformer's layer; `spare` takes part on rank 0 alone, when asked to."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out, self.norm = nn.Linear(16, 48), nn.Linear(16, 16), nn.LayerNorm(16)
        self.up, self.down, self.spare = nn.Linear(16, 32), nn.Linear(32, 16), nn.Linear(16, 16)
        self.partial = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(self.norm(x)).unflatten(-1, (3, 2, 8)).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        if not self.partial or RANK == 0:
            x = x + self.spare(x)
        return x + self.down(F.gelu(self.up(x)))


def transformer(partial: bool = False, seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    blocks = [Block() for _ in range(2)]
    for block in blocks:
        block.partial = partial
    return nn.Sequential(nn.Embedding(11, 16), *blocks, nn.Linear(16, 11)).to(DEVICE)


def whole(model: nn.Module) -> list[torch.Tensor]:
    """The parameters, put together from all ranks' shards where they are sharded."""
    return [each.full_tensor() if hasattr(each, "full_tensor") else each for each in model.parameters()]


def train(name: str, model: nn.Module, steps: int = 2) -> torch.optim.Optimizer:
    """Records the loss and the parameters of each step."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for step in range(steps):
        tokens = torch.randint(11, (2, 7), generator=torch.Generator().manual_seed(10 * step + RANK)).to(DEVICE)
        loss = F.cross_entropy(model(tokens[:, :-1]).float().flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        see(f"{name}, step {step}", loss, *whole(model))
    return optimizer


@scenario
def ddp() -> None:
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
    from torch.nn.parallel import DistributedDataParallel

    ids = [0] if DEVICE == "flagos" else None
    train("plain", DistributedDataParallel(transformer(), bucket_cap_mb=0.01, device_ids=ids))
    for views in (False, True):
        train(f"unused parameters, views {views}", DistributedDataParallel(
            transformer(partial=True), find_unused_parameters=True, gradient_as_bucket_view=views))
    hooked = DistributedDataParallel(transformer())
    hooked.register_comm_hook(None, default_hooks.bf16_compress_hook)
    train("communication hook", hooked)


def sharded(**options: Any) -> nn.Module:
    from torch.distributed.fsdp import fully_shard

    model, mesh = transformer(), dist.init_device_mesh(DEVICE, (WORLD,))
    for block in model[1:3]:
        fully_shard(block, mesh=mesh, **options)
    return fully_shard(model, mesh=mesh, **options)


@scenario
def fsdp() -> None:
    from torch.distributed.fsdp import MixedPrecisionPolicy

    train("plain", sharded())
    train("bfloat16", sharded(mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.float32)))


@scenario
def checkpoint() -> None:
    """What is loaded is what was saved, and training goes on from there."""
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

    model = sharded()
    optimizer = train("before", model, 1)
    weights, moments = get_state_dict(model, optimizer)
    dcp.save({"weights": weights, "moments": moments}, checkpoint_id=FOLDER / "checkpoint")
    saved = [each.clone() for each in whole(model)]
    again = train("in between", model, 1)
    weights, moments = get_state_dict(model, again)
    dcp.load({"weights": weights, "moments": moments}, checkpoint_id=FOLDER / "checkpoint")
    set_state_dict(model, again, model_state_dict=weights, optim_state_dict=moments)
    assert all(torch.equal(a, b) for a, b in zip(whole(model), saved)), "the checkpoint holds other parameters"
    see("after loading", *whole(model))
    train("after", model, 1)
