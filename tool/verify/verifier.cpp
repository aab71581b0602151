#include "verify/verifier.h"

#include <ATen/ATen.h>
#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "cli/operator_names.h"
#include "flagos/flagos.h"
#include "prediction/operator_facts.h"
#include "situations/observation.h"
#include "verify/argument_copies.h"

namespace flagos::diag {
namespace {

constexpr int64_t kSmallestScribble = 64;
constexpr int64_t kGreatestScribble = 1 << 20;  // larger blocks come from the system, or are cached per size
constexpr int kScribble = 0xa5;
constexpr int kMoreScribbles[] = {0x5a, 0x00, 0xff, 0x7f};
constexpr int kMoreBlocks = 4;

class VariantMakesNoSense : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

c10::Device flagos_device() { return {c10::DeviceType::PrivateUse1, 0}; }

std::string text_of(const c10::IValue& value) {
  std::ostringstream text;
  text.precision(17);
  text << value;
  return normalized_error(text.str());
}

void take_results(const Stack& results, CallOutcome& outcome) {
  for (const c10::IValue& value : results) {
    if (value.isTensor()) {
      outcome.outputs.push_back(value.toTensor());
    } else if (value.isTensorList()) {
      const auto list = value.toTensorVector();
      outcome.outputs.insert(outcome.outputs.end(), list.begin(), list.end());
      outcome.values.push_back(fmt::format("a list of {}", list.size()));
    } else {
      outcome.values.push_back(text_of(value));
    }
  }
}

int64_t version_of(const at::Tensor& tensor) { return static_cast<int64_t>(tensor._version()); }

void call(const c10::OperatorHandle& op, Stack& stack, bool arrival, Variant variant) {
  std::optional<c10::impl::IncludeDispatchKeyGuard> functionalize;
  if (variant == Variant::kFunctionalize) {
    functionalize.emplace(c10::DispatchKey::Functionalize);
  }
  if (arrival) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), &stack);
  } else {
    op.callBoxed(stack);
  }
}

// Makes of each tensor one with memory. What it was is noted among the values.
void take_out_of_wrappers(CallOutcome& outcome) {
  const auto plain = [&](at::Tensor& tensor) {
    if (!tensor.defined()) {
      return;
    }
    if (at::functionalization::impl::isFunctionalTensor(tensor)) {
      outcome.values.emplace_back("functional");
      at::functionalization::impl::sync(tensor);
      tensor = at::functionalization::impl::from_functional_tensor(tensor);
    }
    if (tensor._is_zerotensor()) {
      outcome.values.emplace_back("a zero tensor");
      tensor = at::zeros(tensor.sizes(), tensor.options());
    }
  };
  std::for_each(outcome.inputs.begin(), outcome.inputs.end(), plain);
  std::for_each(outcome.outputs.begin(), outcome.outputs.end(), plain);
}

// Fills and frees memory of the sizes that a call has just used, `blocks_each` of each.
void scribble(c10::Device device, const CallOutcome& outcome, int pattern, int blocks_each) {
  std::vector<at::Tensor> blocks;
  const auto add = [&](int64_t bytes) {
    for (int i = 0; i < blocks_each && bytes <= kGreatestScribble; ++i) {
      blocks.push_back(at::full({bytes}, pattern, at::TensorOptions().dtype(at::kByte).device(device)));
    }
  };
  for (const auto* tensors : {&outcome.outputs, &outcome.inputs}) {
    for (const at::Tensor& tensor : *tensors) {
      if (tensor.defined() && tensor.layout() == at::kStrided && tensor.has_storage()) {
        add(static_cast<int64_t>(tensor.storage().nbytes()));
      }
    }
  }
  for (int64_t bytes = kSmallestScribble; bytes <= kGreatestScribble; bytes *= 4) {
    add(bytes);
  }
}

}  // namespace

struct Verifier::Arm {
  const char* name;
  c10::Device device;
  std::optional<bool> redispatch;  // the kill switch; nothing for native arms
  bool arrival = false;
};

struct Verifier::FlagosArms {
  CallOutcome on;
  CallOutcome off;
  std::optional<CallOutcome> on_arrival;
  std::optional<CallOutcome> off_arrival;
};

bool makes_results_on_host(const std::string& op) {
  static const std::set<std::string_view> kOps = {
      "_pack_padded_sequence",      "_pad_packed_sequence",       "_rowwise_prune",          "_shape_as_tensor",
      "_test_ambiguous_defaults.a", "_test_ambiguous_defaults.b", "choose_qparams_optimized"};
  return kOps.contains(without_aten(op));
}

const char* why_contents_ignored(const std::string& op) {
  const std::string_view name = without_aten(op);
  if (name.starts_with("empty") || name.starts_with("new_empty") || name.starts_with("_empty")) {
    return "its result is uninitialised memory";
  }
  if (name.starts_with("mkldnn_rnn_layer")) {
    return "its last result is the library's workspace, parts of which it leaves uninitialised";
  }
  if (name.starts_with("resize") || name.starts_with("_resize")) {
    return "elements that it adds are uninitialised memory";
  }
  return nullptr;
}

// A tensor in a functionalization wrapper has no memory to be boxed and can't come below; the mode can, with a factory.
bool can_arrive(Variant variant, const Stack& arguments) {
  bool wrapped = false;
  if (variant == Variant::kFunctionalize) {
    visit_tensors(arguments, [&](const at::Tensor& /*tensor*/) { wrapped = true; });
  }
  return handled_above_kernel(variant) && !wrapped;
}

bool trusts_strides(const std::string& op) { return without_aten(op).starts_with("_reshape_alias"); }

Verifier::Verifier(const ArgumentSource& source, const std::string& op, uint64_t seed, OnArm on_arm,
                   KernelRecorder* recorder)
    : source_(source),
      op_(op),
      handle_(operator_handle(op)),
      seed_(seed),
      on_arm_(std::move(on_arm)),
      recorder_(recorder),
      contents_(why_contents_ignored(op) != nullptr ? Contents::kIgnored : Contents::kCompared) {}

Stack Verifier::host_arguments(size_t call, Variant variant) const {
  if (variant != Variant::kAsRecorded && trusts_strides(op_)) {
    throw VariantMakesNoSense(
        "the operator trusts the sizes and strides that it is given: others read beyond the storage");
  }
  const auto& calls = source_.calls(op_);
  if (call >= calls.size()) {
    throw VariantMakesNoSense(fmt::format("there are {} recorded calls", calls.size()));
  }
  MaterializeOptions options;
  options.seed = seed_;
  options.complex_data = variant == Variant::kConj;
  Stack arguments = materialize(calls[call], handle_, options);
  if (!apply_variant(variant, arguments, handle_.schema())) {
    throw VariantMakesNoSense("no argument that could be changed so");
  }
  return arguments;
}

CallOutcome Verifier::run(const Arm& arm, const Stack& host, Variant variant) const {
  on_arm_(arm.name);
  CallOutcome outcome;
  outcome.device = arm.device;
  outcome.results_anywhere = makes_results_on_host(op_);
  try {
    Stack stack = copy_arguments(host, handle_.schema(), arm.device);
    apply_on_device(variant, stack, handle_.schema());
    const Stack owners = stack;  // see Scene::owners_
    visit_tensors(stack, [&](const at::Tensor& tensor) { outcome.inputs.push_back(tensor); });
    std::vector<int64_t> versions;
    std::transform(outcome.inputs.begin(), outcome.inputs.end(), std::back_inserter(versions), version_of);
    at::manual_seed(seed_);
    std::optional<RedispatchGuard> guard;
    if (arm.redispatch.has_value()) {
      guard.emplace(*arm.redispatch);
    }
    outcome.kernels = run_call(arm, stack, variant);
    take_results(stack, outcome);
    for (size_t i = 0; i < versions.size(); ++i) {
      outcome.version_steps.push_back(version_of(outcome.inputs[i]) - versions[i]);
    }
    guard.reset();
    take_out_of_wrappers(outcome);
  } catch (const CuptiError&) {
    throw;  // it is not the operator's
  } catch (const std::exception& error) {
    outcome.error = normalized_error(call_error_text(error));
  }
  return outcome;
}

std::optional<KernelSequence> Verifier::run_call(const Arm& arm, Stack& stack, Variant variant) const {
  if (recorder_ == nullptr) {
    call(handle_, stack, arm.arrival, variant);
    return std::nullopt;
  }
  recorder_->start();
  call(handle_, stack, arm.arrival, variant);
  return recorder_->stop();
}

CallOutcome Verifier::native_again(const CallOutcome& native, const Stack& host, Variant variant, int pattern,
                                   int blocks) const {
  scribble(native.device, native, pattern, blocks);
  return run({"native_again", native.device, std::nullopt}, host, variant);
}

bool Verifier::settle_kernels(CallOutcome& native, const CallOutcome& again, const Stack& host, Variant variant) const {
  if (native.kernels != again.kernels) {
    native.kernels = again.kernels;
    if (native_again(native, host, variant, kScribble, 1).kernels != again.kernels) {
      native.kernels.reset();
      return false;
    }
  }
  return true;
}

Verifier::FlagosArms Verifier::run_flagos(const Stack& host, Variant variant) const {
  FlagosArms arms;
  arms.on = run({"on", flagos_device(), true}, host, variant);
  arms.off = run({"off", flagos_device(), false}, host, variant);
  if (can_arrive(variant, host)) {
    arms.off_arrival = run({"off_arrival", flagos_device(), false, true}, host, variant);
    arms.on_arrival = run({"on_arrival", flagos_device(), true, true}, host, variant);
  }
  return arms;
}

std::vector<Row> Verifier::rows_of(const CallOutcome& native, const FlagosArms& arms) const {
  std::vector<Row> rows = {compared({"native", &native}, {"on", &arms.on}, contents_),
                           compared({"native", &native}, {"off", &arms.off}, contents_)};
  if (arms.on_arrival.has_value()) {
    rows.push_back(compared({"off_arrival", &*arms.off_arrival}, {"on_arrival", &*arms.on_arrival}, contents_));
  }
  return rows;
}

Row Verifier::claim(CallOutcome& native, const FlagosArms& arms, const Stack& host, Variant variant) const {
  bool steady = true;
  for (const int pattern : kMoreScribbles) {
    const CallOutcome again = native_again(native, host, variant, pattern, kMoreBlocks);
    if (const auto found = compare_outcomes(native, again, contents_)) {
      return case_row(CaseEnd::kNondeterministic, found->reason, {differing("native", "native_again", *found)});
    }
    steady = steady && native.kernels == again.kernels;
  }
  if (!steady) {
    native.kernels.reset();
  }
  std::vector<Row> rows = rows_of(native, arms);
  const bool equal = std::all_of(rows.begin(), rows.end(), is_equal);
  const Row kernels = steady ? kernel_verdict(rows) : Row(kUnsteadyKernels);
  if (!equal) {
    rows.push_back(compared({"on", &arms.on}, {"off", &arms.off}, contents_));
  }
  Row found = case_row(equal ? CaseEnd::kEqual : CaseEnd::kDifferent, "", std::move(rows));
  found["kernels"] = kernels;
  return found;
}

Row Verifier::verify_arguments(const Stack& host, Variant variant) const {
  CallOutcome native = run({"native", to_target_device(flagos_device()), std::nullopt}, host, variant);
  const CallOutcome again = native_again(native, host, variant, kScribble, 1);
  if (const auto found = compare_outcomes(native, again, contents_)) {
    return case_row(CaseEnd::kNondeterministic, found->reason, {differing("native", "native_again", *found)});
  }
  const bool steady = settle_kernels(native, again, host, variant);
  const FlagosArms arms = run_flagos(host, variant);
  std::vector<Row> rows = rows_of(native, arms);
  if (!std::all_of(rows.begin(), rows.end(), is_equal)) {
    return claim(native, arms, host, variant);
  }
  const Row kernels = steady ? kernel_verdict(rows) : Row(kUnsteadyKernels);
  Row found = native.error.has_value() ? case_row(CaseEnd::kRefused, *native.error, std::move(rows))
                                       : case_row(CaseEnd::kEqual, "", std::move(rows));
  found["kernels"] = kernels;
  return found;
}

Row Verifier::verify(size_t call, Variant variant) {
  Stack host;
  try {
    host = host_arguments(call, variant);
  } catch (const std::exception& error) {
    return case_row(CaseEnd::kNotApplicable, call_error_text(error), {});
  }
  try {
    return verify_arguments(host, variant);
  } catch (const CuptiError&) {
    throw;
  } catch (const std::exception& error) {  // from looking at what a call left behind
    const std::string text = fmt::format("can't be compared: {}", call_error_text(error));
    return case_row(CaseEnd::kDifferent, text, {differing("native", "on", Difference{text, {}, ""})});
  }
}

}  // namespace flagos::diag
