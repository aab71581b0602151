"""A graph of flagos tensors as the same graph of the target's tensors, for the target's code generation.

Boxing, at compile time: nothing changes but the device that a tensor, an argument or a constant names.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, in_kernel_invocation_manager
from torch.fx.node import map_aggregate
from torch.utils._pytree import tree_leaves, tree_map

from flagos._library import target
from flagos._tensors import as_target, is_flagos

_NAME = "flagos"
_VALUES = ("val", "example_value", "eager_input_vals")  # the keys of Node.meta that hold fake tensors


def mentions_flagos(graph: torch.fx.GraphModule) -> bool:
    """Whether any value of the graph, or of the graphs it calls, is on flagos."""
    return any(
        is_flagos(value)
        for module in graph.modules()
        if isinstance(module, torch.fx.GraphModule)
        for node in module.graph.nodes
        for value in _values_of(node, module)
    )


def _values_of(node: torch.fx.Node, module: torch.fx.GraphModule) -> list[Any]:
    values: list[Any] = [leaf for key in _VALUES for leaf in tree_leaves(node.meta.get(key))]
    if node.op == "get_attr":
        values.append(getattr(module, str(node.target), None))
    return values


def _target_device(device: torch.device) -> torch.device:
    if device.type != _NAME:
        return device
    return torch.device(target()) if target() == "cpu" else torch.device(target(), device.index or 0)


class Retargeter:
    """Changes graphs, and fake tensors alike, each fake tensor to one other: graphs and inputs share them."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}  # by id, with what keeps the id taken

    def value(self, value: Any) -> Any:
        """A tensor or a device on the target where it was on flagos; anything else as it is."""
        if isinstance(value, torch.device):
            return _target_device(value)
        if not is_flagos(value):
            return value
        if id(value) not in self._made:
            made = self._fake(value) if isinstance(value, FakeTensor) else as_target(value)
            self._made[id(value)] = (value, made)
        return self._made[id(value)][1]

    def graph(self, graph: torch.fx.GraphModule) -> None:
        """Changes `graph`, and the graphs it calls, in place."""
        for module in list(graph.modules()):
            if isinstance(module, torch.fx.GraphModule):
                self._one_graph(module)

    @staticmethod
    def _fake(value: FakeTensor) -> FakeTensor:
        with in_kernel_invocation_manager(value.fake_mode):  # here a fake tensor is the meta tensor that it carries
            meta = torch.ops.aten.alias.default(value)
        return FakeTensor(value.fake_mode, meta, _target_device(value.device))

    def _one_graph(self, module: torch.fx.GraphModule) -> None:
        for node in module.graph.nodes:
            node.args = map_aggregate(node.args, self.value)
            node.kwargs = map_aggregate(node.kwargs, self.value)
            for key in _VALUES:
                if key in node.meta:
                    node.meta[key] = tree_map(self.value, node.meta[key])
            if node.op == "get_attr":
                name = str(node.target)
                constant = getattr(module, name, None)
                if isinstance(constant, torch.Tensor) and is_flagos(constant):
                    setattr(module, name, self._constant(constant))
        module.recompile()

    def _constant(self, constant: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = self.value(constant.detach())
        return torch.nn.Parameter(made, requires_grad=False) if isinstance(constant, torch.nn.Parameter) else made
