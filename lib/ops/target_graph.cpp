#include "ops/target_graph.h"

#include <ATen/Functions.h>
#include <ATen/ThreadLocalState.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/StreamGuard.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/variable.h>

#include <exception>
#include <memory>
#include <queue>
#include <string>
#include <thread>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "boxing/shallow_copy.h"
#include "device/guard.h"
#include "device/target_constants.h"
#include "flagos/target.h"

namespace flagos::ops {
namespace {

using torch::autograd::Edge;
using torch::autograd::edge_list;
using torch::autograd::Node;
using torch::autograd::variable_list;
using Nodes = std::unordered_set<Node*>;

template <class T, class... Args>
auto make_node(Args&&... args) {
  if constexpr (std::is_same_v<NodePointer, std::shared_ptr<Node>>) {
    return std::make_shared<T>(std::forward<Args>(args)...);
  } else {
    return c10::make_intrusive<T>(std::forward<Args>(args)...);
  }
}

bool is_flagos(const at::Tensor& tensor) {
  return tensor.defined() && tensor.device().type() == c10::DeviceType::PrivateUse1;
}

at::Tensor plain_to_target(const at::Tensor& tensor) {
  if (is_flagos(tensor) && tensor._is_zerotensor()) {  // its storage says flagos (zero_tensor.h)
    return at::_efficientzerotensor(tensor.sizes(), tensor.options().device(to_target_device(tensor.device())));
  }
  return boxing::as_target(tensor);
}

// Every node that can be reached from `roots`.
Nodes reached_from(const edge_list& roots) {
  Nodes found;
  std::vector<Node*> open;
  const auto visit = [&](const Edge& edge) {
    if (edge.is_valid() && found.insert(edge.function.get()).second) {
      open.push_back(edge.function.get());
    }
  };
  for (const Edge& root : roots) {
    visit(root);
  }
  while (!open.empty()) {
    Node* node = open.back();
    open.pop_back();
    for (const Edge& edge : node->next_edges()) {
      visit(edge);
    }
  }
  return found;
}

// One evaluation of a graph, as the engine does it: a node runs when all that feed it have run, the latest made first.
class Evaluation {
 public:
  Evaluation(const edge_list& roots, variable_list&& gradients) {
    for (Node* node : reached_from(roots)) {
      waiting_.try_emplace(node, 0);
      for (const Edge& edge : node->next_edges()) {
        waiting_[edge.function.get()] += edge.is_valid() ? 1 : 0;
      }
    }
    waiting_.erase(nullptr);
    for (size_t i = 0; i < roots.size(); ++i) {
      add(roots[i], std::move(gradients[i]));
    }
    for (const auto& [node, count] : waiting_) {
      if (count == 0) {
        ready_.push(node);
      }
    }
  }

  // The gradient of each leaf, undefined where none arrived.
  variable_list run(const std::vector<at::Tensor>& leaves) {
    std::unordered_map<Node*, size_t> place;
    std::vector<NodePointer> kept;  // a leaf that nothing leads to has no accumulator of its own yet
    for (size_t i = 0; i < leaves.size(); ++i) {
      kept.push_back(torch::autograd::impl::grad_accumulator(leaves[i]));
      place[kept.back().get()] = i;
    }
    variable_list found(leaves.size());
    while (!ready_.empty()) {
      Node* node = ready_.top();
      ready_.pop();
      variable_list& inputs = buffer(node);
      if (const auto leaf = place.find(node); leaf != place.end()) {
        found[leaf->second] = inputs[0];
      } else {
        pass_on(*node, (*node)(std::move(inputs)));
      }
    }
    return found;
  }

 private:
  struct EarlierMade {
    bool operator()(const Node* a, const Node* b) const { return a->sequence_nr() < b->sequence_nr(); }
  };

  variable_list& buffer(Node* node) {
    variable_list& inputs = buffers_[node];
    inputs.resize(node->num_inputs());
    return inputs;
  }

  void add(const Edge& edge, at::Tensor&& gradient) {
    if (!edge.is_valid()) {
      return;
    }
    at::Tensor& sum = buffer(edge.function.get())[edge.input_nr];
    if (gradient.defined()) {
      sum = sum.defined() ? at::add(sum, gradient) : std::move(gradient);
    }
  }

  void pass_on(const Node& node, variable_list&& gradients) {
    const edge_list& edges = node.next_edges();
    torch::autograd::validate_outputs(edges, gradients, [&](const std::string& message) {
      return "Function " + node.name() + " returned an " + message;
    });
    for (size_t i = 0; i < edges.size(); ++i) {
      if (edges[i].is_valid()) {
        add(edges[i], std::move(gradients[i]));
        if (--waiting_[edges[i].function.get()] == 0) {
          ready_.push(edges[i].function.get());
        }
      }
    }
  }

  std::unordered_map<Node*, size_t> waiting_;  // for so many edges
  std::unordered_map<Node*, variable_list> buffers_;
  std::priority_queue<Node*, std::vector<Node*>, EarlierMade> ready_;
};

// Nodes leave out what the running backward pass does not want, by a list of the caller's nodes (autograd.grad with
// `inputs`). The target's are not in it and would leave out everything. There is no such list on another thread.
template <class Function>
void without_graph_task(const Function& function) {
  const auto* listed = torch::autograd::get_current_graph_task_exec_info();
  if (listed == nullptr || listed->empty()) {
    function();
    return;
  }
  const at::ThreadLocalState state;
  const c10::Stream stream = device::guard()->getStream(device::guard()->getDevice());
  std::exception_ptr error;
  std::thread([&] {
    try {
      const at::ThreadLocalStateGuard same_state(state);
      const c10::StreamGuard same_stream(stream);
      function();
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  if (error) {
    std::rethrow_exception(error);
  }
}

}  // namespace

class TargetGraphNode final : public Node {
 public:
  explicit TargetGraphNode(std::string name) : name_(std::move(name)) {}

  std::string name() const override { return name_; }

  void release_variables() override {
    for (Node* node : reached_from(roots)) {
      if (earlier.count(node) == 0) {
        node->release_variables();
      }
    }
  }

  edge_list roots;                 // where the gradient of each output enters the target's graph
  std::vector<at::Tensor> leaves;  // where those of the next edges leave it
  // Nodes that a recorded backward pass shares with the graph it was of, whose own node releases them: the caller's
  // pass may come to both.
  std::unordered_set<const Node*> earlier;

 private:
  variable_list apply(variable_list&& gradients) override {
    TargetGraph recorded;  // of this pass itself
    for (at::Tensor& gradient : gradients) {
      gradient = recorded.to_target(gradient);
    }
    variable_list results;
    without_graph_task([&] { results = Evaluation(roots, std::move(gradients)).run(leaves); });
    for (size_t i = 0; at::GradMode::is_enabled() && i < leaves.size(); ++i) {
      recorded.add_leaf(leaves[i], next_edge(i));
    }
    if (at::GradMode::is_enabled()) {
      const Nodes shared = reached_from(roots);
      recorded.earlier_.insert(shared.begin(), shared.end());
    }
    for (at::Tensor& result : results) {
      result = recorded.to_flagos(result);
    }
    return results;
  }

  std::string name_;
};

void TargetGraph::add_leaf(const at::Tensor& leaf, Edge edge) {
  leaves_.push_back(leaf);
  next_edges_.push_back(std::move(edge));
}

at::Tensor TargetGraph::to_target(const at::Tensor& tensor) {
  at::Tensor seen = plain_to_target(tensor);
  if (!is_flagos(tensor) || seen.is_same(tensor)) {
    return seen;
  }
  boxing::add_autocast_key(seen);
  if (at::GradMode::is_enabled() && tensor.requires_grad()) {
    seen.set_requires_grad(true);
    add_leaf(seen, torch::autograd::impl::gradient_edge(tensor));
  }
  shown_.emplace_back(seen, tensor);
  return seen;
}

at::Tensor TargetGraph::to_flagos(const at::Tensor& result) {
  for (const auto& [seen, tensor] : shown_) {
    if (seen.is_same(result)) {
      return tensor;  // an operator that returns its argument returns the caller's
    }
  }
  at::Tensor seen = boxing::as_flagos(result);
  if (!result.defined() || seen.is_same(result) || !at::GradMode::is_enabled() || !result.requires_grad()) {
    return seen;
  }
  Edge root = torch::autograd::impl::gradient_edge(result);
  if (node_ == nullptr) {
    node_ = NodePointer(make_node<TargetGraphNode>(root.function->name()));
    node_->set_next_edges(std::move(next_edges_));
    auto& node = static_cast<TargetGraphNode&>(*node_);
    node.leaves = std::move(leaves_);
    node.earlier = std::move(earlier_);
  }
  static_cast<TargetGraphNode&>(*node_).roots.push_back(std::move(root));
  torch::autograd::set_history(seen, node_);
  return seen;
}

}  // namespace flagos::ops
