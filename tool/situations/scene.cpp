#include "situations/scene.h"

#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/core/grad_mode.h>
#include <ATen/functorch/BatchedTensorImpl.h>
#include <ATen/ops/_conj.h>
#include <ATen/ops/_efficientzerotensor.h>
#include <ATen/ops/_neg_view.h>
#include <ATen/ops/stack.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <optional>
#include <utility>

#include "flagos/redispatch.h"
#include "situations/thread_modes.h"

namespace flagos::diag {
namespace {

namespace functorch = at::functorch;
using c10::DispatchKey;

at::Tensor conjugated(const at::Tensor& tensor) { return tensor.is_complex() ? at::_conj(tensor) : tensor; }
at::Tensor negated(const at::Tensor& tensor) { return is_floating(tensor) ? at::_neg_view(tensor) : tensor; }
at::Tensor zero(const at::Tensor& tensor) {
  return is_floating(tensor) ? at::_efficientzerotensor(tensor.sizes(), tensor.options()) : tensor;
}

// Changes the arguments that are only read; those that are written to only when there are no others.
void change_some(Stack& arguments, const c10::FunctionSchema& schema, at::Tensor (*change)(const at::Tensor&)) {
  for (const bool mutated_ones : {false, true}) {
    size_t changed = 0;
    change_tensors(arguments, schema, [&](const at::Tensor& tensor, bool mutated) {
      at::Tensor result = mutated == mutated_ones ? change(tensor) : tensor;
      changed += result.is_same(tensor) ? 0 : 1;
      return result;
    });
    if (changed != 0) {
      return;
    }
  }
}

// A leaf that requires grad can't be written to: what the operator mutates becomes the result of a clone.
void require_grad(Stack& arguments, const c10::FunctionSchema& schema) {
  change_tensors(arguments, schema, [](const at::Tensor& tensor, bool mutated) {
    if (!is_floating(tensor) || tensor.is_inference()) {
      return tensor;
    }
    at::Tensor leaf = tensor.detach().requires_grad_();
    return mutated ? leaf.clone() : leaf;
  });
}

size_t count_floating(const Stack& arguments) {
  size_t count = 0;
  visit_tensors(arguments, [&](const at::Tensor& tensor) { count += is_floating(tensor) ? 1 : 0; });
  return count;
}

bool needs_floating(Situation situation) {
  return situation == Situation::kConj || situation == Situation::kNeg || situation == Situation::kZeroTensor ||
         situation == Situation::kGrad || situation == Situation::kNoGrad;
}

void check_applicable(Situation situation, const Stack& arguments, const c10::FunctionSchema& schema) {
  if (needs_floating(situation) && count_floating(arguments) == 0) {
    throw NotApplicable("no floating-point tensor among the arguments");
  }
  if (situation == Situation::kGrad) {
    for (const auto& argument : schema.arguments()) {
      if (argument.is_out()) {
        throw NotApplicable("out= arguments do not support automatic differentiation");
      }
    }
  }
}

}  // namespace

// In the order in which a program would set them up.
struct Scene::State {
  std::optional<c10::InferenceMode> inference;
  std::optional<c10::impl::ExcludeDispatchKeyGuard> below_python;  // while the arguments are made
  std::optional<at::NoGradGuard> no_grad;
  std::optional<FlagosAutocast> autocast;
  std::optional<RedispatchGuard> off;
  std::optional<c10::impl::IncludeDispatchKeyGuard> functionalize;
  std::optional<VmapLevel> vmap;
};

namespace {

Stack make_arguments(Situation situation, const CallRecord& call, const c10::OperatorHandle& op,
                     const MaterializeOptions& options) {
  const auto& schema = op.schema();
  Stack arguments = materialize(call, op, options);
  if (const auto on_host = host_argument(schema); on_host.has_value() && arguments.at(*on_host).isTensor()) {
    arguments[*on_host] = arguments[*on_host].toTensor().cpu();
  }
  check_applicable(situation, arguments, schema);
  if (situation == Situation::kConj) {
    change_some(arguments, schema, conjugated);
  } else if (situation == Situation::kNeg) {
    change_some(arguments, schema, negated);
  } else if (situation == Situation::kZeroTensor) {
    change_some(arguments, schema, zero);
  } else if (situation == Situation::kGrad || situation == Situation::kNoGrad) {
    require_grad(arguments, schema);
  } else if (situation == Situation::kFunctionalize) {
    change_tensors(arguments, schema, [](const at::Tensor& tensor, bool /*mutated*/) {
      return at::functionalization::impl::to_functional_tensor(tensor);
    });
  } else if (situation == Situation::kVmap) {
    change_tensors(arguments, schema, [](const at::Tensor& tensor, bool /*mutated*/) {
      return at::stack({tensor, tensor});
    });
  }
  return arguments;
}

}  // namespace

Scene::Scene(Situation situation, const CallRecord& call, const c10::OperatorHandle& op, c10::Device device,
             uint64_t seed)
    : state_(std::make_unique<State>()) {
  MaterializeOptions options;
  options.device = device;
  options.seed = seed;
  options.complex_data = situation == Situation::kConj;
  if (situation == Situation::kInference) {
    state_->inference.emplace(true);
  }
  state_->below_python.emplace(c10::DispatchKeySet({DispatchKey::Python, DispatchKey::PythonTLSSnapshot}));
  arguments_ = make_arguments(situation, call, op, options);
  if (situation == Situation::kPython) {
    state_->below_python.reset();
  } else if (situation == Situation::kNoGrad) {
    state_->no_grad.emplace();
  } else if (situation == Situation::kAutocast) {
    state_->autocast.emplace();
  } else if (situation == Situation::kOff) {
    state_->off.emplace(false);
  } else if (situation == Situation::kFunctionalize) {
    state_->functionalize.emplace(DispatchKey::Functionalize);
  } else if (situation == Situation::kVmap) {
    state_->vmap.emplace();
    const int64_t level = state_->vmap->level();
    change_tensors(arguments_, op.schema(), [level](const at::Tensor& tensor, bool /*mutated*/) {
      return functorch::makeBatched(tensor, 0, level);
    });
  }
  owners_ = arguments_;
}

Scene::~Scene() = default;

}  // namespace flagos::diag
