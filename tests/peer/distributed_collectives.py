"""Scenarios of distributed_arm.py: the operations of torch.distributed, and what is built on them but for training."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist

from distributed_rank import DEVICE, RANK, SEEN, WORLD, empties, mine, scenario, see


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
