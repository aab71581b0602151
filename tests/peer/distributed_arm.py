"""One rank of distributed_test.py: runs scenarios over gloo and writes what came out to FOLDER/RANK.json.

distributed_arm.py DEVICE RANK WORLD FOLDER BACKEND SCENARIO...: DEVICE is "cpu" or "flagos"; BACKEND is what
init_process_group is given, "" for nothing. A scenario that fails is reported by its error and ends the run.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any, Callable

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

DEVICE, RANK, WORLD, FOLDER, BACKEND = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]), sys.argv[5]
SEEN: dict[str, Any] = {}
SCENARIOS: dict[str, Callable[[], None]] = {}

if DEVICE == "flagos":
    import flagos  # noqa: F401


def scenario(run: Callable[[], None]) -> Callable[[], None]:
    """Makes a function known by its name."""
    SCENARIOS[run.__name__] = run
    return run


def digest(tensor: torch.Tensor) -> str:
    """Shape, dtype and bits. Fails for a tensor that is not where the arm's tensors belong."""
    assert tensor.device.type == DEVICE, f"a result on {tensor.device}"
    data = tensor.detach().to_dense() if tensor.is_sparse else tensor.detach()
    raw = data.cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes()
    return f"{tuple(tensor.shape)} {tensor.dtype} {hashlib.sha256(raw).hexdigest()[:12]}"


def see(name: str, *tensors: torch.Tensor) -> None:
    """Records results under the scenario's own name for them."""
    SEEN[name] = [digest(tensor) for tensor in tensors]


def mine(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    """Noise that differs from rank to rank."""
    generator = torch.Generator().manual_seed(100 * seed + RANK)
    return (torch.randn(*shape, generator=generator) * 8).to(dtype).to(DEVICE)


def empties(count: int, *shape: int) -> list[torch.Tensor]:
    return [torch.full(shape, -1.0, device=DEVICE) for _ in range(count)]


@scenario
def reductions() -> None:
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int64, torch.uint8):
        for op in (dist.ReduceOp.SUM, dist.ReduceOp.MAX, dist.ReduceOp.MIN, dist.ReduceOp.PRODUCT):
            tensor = mine(5, 3, dtype=dtype)
            dist.all_reduce(tensor, op)
            see(f"all_reduce {dtype} {op}", tensor)
    tensor = mine(4)
    dist.reduce(tensor, 1)
    see("reduce", *[tensor] * (RANK == 1))  # elsewhere it holds anything
    whole = mine(6, 4)
    dist.all_reduce(whole[2:4])
    see("all_reduce of a view", whole)
    tensors = [mine(3, seed=1), mine(2, 2, seed=2)]
    dist.all_reduce_coalesced(tensors)
    see("all_reduce_coalesced", *tensors)
    tensors = [mine(3, seed=3), mine(2, seed=4)]
    with dist._coalescing_manager():
        for tensor in tensors:
            dist.all_reduce(tensor)
    see("_coalescing_manager", *tensors)
    output = torch.empty(3, device=DEVICE)
    dist.reduce_scatter_tensor(output, mine(3 * WORLD))
    see("reduce_scatter_tensor", output)
    dist.reduce_scatter(output, [mine(3, seed=i) for i in range(WORLD)])
    see("reduce_scatter", output)


@scenario
def movements() -> None:
    tensor = mine(7)
    dist.broadcast(tensor, 1)
    see("broadcast", tensor)
    outputs = empties(WORLD, 3)
    dist.all_gather(outputs, mine(3))
    see("all_gather", *outputs)
    output = torch.empty(2 * WORLD, 2, device=DEVICE)
    dist.all_gather_into_tensor(output, mine(2, 2))
    see("all_gather_into_tensor", output)
    outputs = [empties(2, 2) for _ in range(WORLD)]
    dist.all_gather_coalesced(outputs, [mine(2), mine(2, seed=1)])
    see("all_gather_coalesced", *sum(outputs, []))
    outputs = empties(WORLD, 3) if RANK == 0 else None
    dist.gather(mine(3), outputs)
    see("gather", *outputs or [])
    output = torch.empty(3, device=DEVICE)
    dist.scatter(output, [mine(3, seed=i) for i in range(WORLD)] if RANK == 1 else None, src=1)
    see("scatter", output)
    output = torch.empty(2 * WORLD, device=DEVICE)
    dist.all_to_all_single(output, mine(2 * WORLD))
    see("all_to_all_single", output)
    splits = [1 + (RANK + i) % 2 for i in range(WORLD)]
    output = torch.empty(sum(splits), device=DEVICE)
    dist.all_to_all_single(output, mine(sum(splits)), splits, splits)
    see("all_to_all_single, uneven", output)
    dist.barrier()


@scenario
def errors() -> None:
    """What is refused is refused in the same words."""
    for name, call in {
        "not contiguous": lambda: dist.all_reduce(mine(3, 4).t()),
        "sizes differ": lambda: dist.all_gather(empties(WORLD, 2), mine(3)),
        "dtypes differ": lambda: dist.all_gather(empties(WORLD, 3), mine(3, dtype=torch.float64)),
        "not in gloo": lambda: dist.all_to_all(empties(WORLD, 2), [mine(2)] * WORLD),
        "no such operation": lambda: dist.all_reduce(mine(3), dist.ReduceOp.BAND),
    }.items():
        try:
            call()
        except (RuntimeError, ValueError) as error:
            SEEN[name] = str(error).splitlines()[0].replace("flagos:0", "cpu").replace("flagos", "cpu")
        else:
            SEEN[name] = "no error"


@scenario
def groups() -> None:
    pairs = [dist.new_group([first, first + 1]) for first in range(0, WORLD, 2)]
    tensor = mine(3)
    dist.all_reduce(tensor, group=pairs[RANK // 2])
    see("all_reduce in a pair", tensor)


@scenario
def objects() -> None:
    gathered: list[Any] = [None] * WORLD
    dist.all_gather_object(gathered, {"rank": RANK, "tensor": mine(2)})
    see("all_gather_object", *[each["tensor"] for each in gathered])
    sent = [f"from {RANK}", RANK]
    dist.broadcast_object_list(sent, src=1)
    received: list[Any] = [None]
    dist.scatter_object_list(received, [f"to {i}" for i in range(WORLD)], src=0)
    gathered = [None] * WORLD if RANK == 0 else None
    dist.gather_object(RANK * 10, gathered)
    SEEN["lists of objects"] = [sent, received, gathered]


@scenario
def messages() -> None:
    after, before = (RANK + 1) % WORLD, (RANK - 1) % WORLD
    received = torch.empty(4, device=DEVICE)
    if RANK % 2 == 0:
        dist.send(mine(4), after)
        dist.recv(received, before)
    else:
        dist.recv(received, before)
        dist.send(mine(4), after)
    see("send, recv", received)
    sending, receiving = dist.isend(mine(4, seed=1), after, tag=3), dist.irecv(received, before, tag=3)
    sending.wait(), receiving.wait()
    see("isend, irecv", received)
    works = dist.batch_isend_irecv(
        [dist.P2POp(dist.isend, mine(4, seed=2), after), dist.P2POp(dist.irecv, received, before)]
    )
    for work in works:
        work.wait()
    see("batch_isend_irecv", received)
    if RANK == 0:
        senders = sorted(dist.recv(received) for _ in range(1, WORLD))
        SEEN["recv from anyone"] = senders
    else:
        dist.send(mine(4), 0)


@scenario
def asynchronous() -> None:
    """Works outlive the tensors that they were made for, and hand out tensors of the arm's device."""
    works = [dist.all_reduce(mine(1000, seed=i), async_op=True) for i in range(20)]
    torch.full((1000,), 7.0, device=DEVICE)  # memory that was given back too early would now be this
    assert all(work.wait() for work in works)
    see("of dropped tensors", *[work.result()[0] for work in works])
    assert all(work.is_completed() and work.is_success() for work in works)
    tensor = mine(5)
    work = dist.all_reduce(tensor, async_op=True)
    double = work.get_future().then(lambda done: done.value()[0] * 2)
    see("a future's value", double.wait(), tensor)
    outputs = empties(WORLD, 3)
    work = dist.all_gather(outputs, mine(3), async_op=True)
    work.wait()
    see("all_gather's result", *work.result(), *outputs)
    assert work.result()[0] is outputs[0], "a result is another tensor than the caller's"


@scenario
def sparse() -> None:
    tensor = torch.eye(4)[[RANK, 3]].to(DEVICE).to_sparse()
    dist.all_reduce(tensor)
    see("all_reduce of a sparse tensor", tensor)
    tensor = torch.eye(4)[[RANK, 3]].to(DEVICE).to_sparse()
    work = dist.all_reduce(tensor, async_op=True)
    see("its future", work.get_future().wait()[0], tensor)


@scenario
def functional() -> None:
    import torch.distributed._functional_collectives as funcol

    group = dist.group.WORLD
    see("all_reduce", funcol.all_reduce(mine(3), "sum", group) + 0)
    see("all_gather_tensor", funcol.all_gather_tensor(mine(2, 2), 0, group) + 0)
    see("reduce_scatter_tensor", funcol.reduce_scatter_tensor(mine(2 * WORLD), "sum", 0, group) + 0)
    see("all_to_all_single", funcol.all_to_all_single(mine(WORLD), None, None, group) + 0)
    see("broadcast", funcol.broadcast(mine(3), 0, group) + 0)
    see("all_reduce_coalesced", *[t + 0 for t in funcol.all_reduce_coalesced([mine(2), mine(3)], "sum", group)])
    leaf = mine(2, 2).requires_grad_()
    (funcol.all_gather_tensor_autograd(leaf, 0, group) * mine(2 * WORLD, 2, seed=1)).sum().backward()
    see("all_gather_tensor_autograd", leaf.grad)


@scenario
def dtensor() -> None:
    from torch.distributed.tensor import Partial, Replicate, Shard, distribute_tensor

    mesh = dist.init_device_mesh(DEVICE, (WORLD,))
    torch.manual_seed(0)
    a, b = torch.randn(8, 8).to(DEVICE), torch.randn(8, 8).to(DEVICE)
    left, right = distribute_tensor(a, mesh, [Shard(1)]), distribute_tensor(b, mesh, [Shard(0)])
    product = left @ right
    assert product.placements == (Partial(),), product.placements
    see("sharded matmul", product.full_tensor(), product.redistribute(placements=[Shard(0)]).to_local())
    see("resharded", left.redistribute(placements=[Shard(0)]).to_local(), left.redistribute(
        placements=[Replicate()]).to_local())


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


@scenario
def mixed() -> None:
    """For flagos alone: mixed devices, and the backend that serves flagos."""
    group, outputs = dist.group.WORLD, [torch.empty(3) for _ in range(WORLD)]
    try:
        dist.all_gather(outputs, mine(3))
    except RuntimeError as error:
        SEEN["error"] = str(error).splitlines()[0]
    backend = group._get_backend(torch.device(DEVICE))
    SEEN["backend"], SEEN["same"] = backend.name(), backend is group._get_backend(torch.device("cpu"))
    SEEN["default"] = dist.get_default_backend_for_device(DEVICE)


@scenario
def killed() -> None:
    """Rank 1 dies; the others must notice."""
    started = time.monotonic()
    try:
        dist.barrier()  # all have connected
        if RANK == 1:
            os._exit(9)
        for _ in range(1000):
            dist.all_reduce(mine(1000))
    except RuntimeError as error:
        SEEN["error"] = str(error).splitlines()[0]
    SEEN["seconds"] = time.monotonic() - started


def main() -> None:
    """Runs the scenarios."""

    torch.set_num_threads(1)
    dist.init_process_group(BACKEND or None, store=dist.FileStore(str(FOLDER / "store"), WORLD), rank=RANK,
                            world_size=WORLD, timeout=datetime.timedelta(seconds=30))
    results = {}
    for name in sys.argv[6:]:
        SEEN.clear()
        try:
            SCENARIOS[name]()
        except Exception:
            SEEN["failed"] = traceback.format_exc()[-1500:]
        results[name] = dict(SEEN)
        if "failed" in SEEN:  # the other ranks wait for this one: none goes on from here
            break
    (FOLDER / f"{RANK}.json").write_text(json.dumps(results))
    if "killed" not in results and "failed" not in SEEN:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
