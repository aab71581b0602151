// An operator call on target tensors whose autograd graph is one node of the caller's graph.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/edge.h>
#include <torch/csrc/autograd/function.h>

#include <unordered_set>
#include <utility>
#include <vector>

namespace flagos::ops {

// A counted pointer to a node: std::shared_ptr, c10::intrusive_ptr in newer releases of PyTorch.
using NodePointer = decltype(torch::autograd::Edge::function);

// Note [A target's graph in one node]
// What a composite records on target tensors is the target's own graph: cuDNN's nodes for an LSTM on CUDA, for one.
// PyTorch's engine can't run it as part of a backward pass over flagos tensors: with a PrivateUse1 backend registered,
// it takes the streams of that backend alone and fails on CUDA nodes (pytorch issue 161129). So the caller's graph gets
// one node, which holds the target's graph and evaluates it itself, in the engine's order, on the thread and stream
// that the engine gave it. Saved tensors, their version checks and error texts are the target's. A backward pass that
// is itself recorded (create_graph) becomes a node of the same kind; higher derivatives are so added up in another
// order than the engine would, and agree to rounding. One thread only; make one for each call.
class TargetGraph {
 public:
  TargetGraph() = default;

  // The target's view of a flagos tensor; a leaf of the target's graph where the caller's wants a gradient. Any other
  // tensor as it is.
  at::Tensor to_target(const at::Tensor& tensor);
  // The flagos view of a result, with its history; the argument itself where the result is what was made of it.
  at::Tensor to_flagos(const at::Tensor& result);

 private:
  friend class TargetGraphNode;
  void add_leaf(const at::Tensor& leaf, torch::autograd::Edge edge);

  NodePointer node_;                                          // a TargetGraphNode
  std::vector<std::pair<at::Tensor, at::Tensor>> shown_;      // the target's view of an argument, and the argument
  std::vector<at::Tensor> leaves_;                            // of the target's graph
  torch::autograd::edge_list next_edges_;                     // of the caller's, one a leaf
  std::unordered_set<const torch::autograd::Node*> earlier_;  // not this graph's to release
};

}  // namespace flagos::ops
