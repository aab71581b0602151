#include "verify/verifier.h"

#include <ATen/ATen.h>
#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "flagos/flagos.h"
#include "prediction/operator_facts.h"
#include "situations/observation.h"
#include "verify/argument_copies.h"
#include "verify/known_operators.h"
#include "verify/nondeterminism_alert.h"
#include "verify/normalized_error.h"
#include "verify/repeated_runs.h"

namespace flagos::diag {
namespace {

constexpr int64_t kSmallestScribble = 64;
constexpr int64_t kGreatestScribble = 1 << 20;  // larger blocks come from the system, or are cached per size
constexpr int64_t kSmallScribble = 1 << 14;     // for runs in great number
constexpr int kScribble = 0xa5;
constexpr int kMoreScribbles[] = {0x5a, 0x00, 0xff, 0x7f};  // before further runs, in turn
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
  return normalized_error(text.str(), target_device_type());
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

// Fills and frees memory of the sizes that a call has just used, and of others up to `greatest`, `blocks_each` of each.
void scribble(c10::Device device, const CallOutcome& outcome, int pattern, int blocks_each,
              int64_t greatest = kGreatestScribble) {
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
  for (int64_t bytes = kSmallestScribble; bytes <= greatest; bytes *= 4) {
    add(bytes);
  }
}

Row compared(const char* arm_a, const char* arm_b, const std::optional<Difference>& difference) {
  Row row = {{"arm_a", arm_a},          {"arm_b", arm_b},        {"equal", !difference.has_value()},
             {"max_abs_diff", nullptr}, {"first_diff", nullptr}, {"reason", nullptr}};
  if (difference.has_value()) {
    row["reason"] = difference->reason;
    row["max_abs_diff"] = difference->max_abs_diff.has_value() ? Row(*difference->max_abs_diff) : Row(nullptr);
    row["first_diff"] = difference->first_diff.empty() ? Row(nullptr) : Row(difference->first_diff);
  }
  return row;
}

Row case_row(CaseEnd end, const std::string& why, std::vector<Row> rows) {
  return {{"end", case_end_name(end)}, {"why", why.empty() ? Row(nullptr) : Row(why)}, {"rows", std::move(rows)}};
}

}  // namespace

struct Verifier::Arm {
  const char* name;
  c10::Device device;
  std::optional<bool> redispatch;  // the kill switch; nothing for native arms
  bool arrival = false;
};

struct Verifier::Ran {
  Arm arm;
  CallOutcome outcome;
};

const char* case_end_name(CaseEnd end) noexcept {
  switch (end) {
    case CaseEnd::kEqual:
      return "equal";
    case CaseEnd::kDifferent:
      return "different";
    case CaseEnd::kNondeterministic:
      return "nondeterministic";
    case CaseEnd::kRefused:
      return "refused";
    case CaseEnd::kNotApplicable:
      return "not_applicable";
  }
  return "";
}

// A tensor in a functionalization wrapper has no memory to be boxed and can't come below; the mode can, with a factory.
bool can_arrive(Variant variant, const Stack& arguments) {
  bool wrapped = false;
  if (variant == Variant::kFunctionalize) {
    visit_tensors(arguments, [&](const at::Tensor& /*tensor*/) { wrapped = true; });
  }
  return handled_above_kernel(variant) && !wrapped;
}

Row not_applicable_row(const std::string& why) { return case_row(CaseEnd::kNotApplicable, why, {}); }

Verifier::Verifier(const std::string& op, uint64_t seed, OnArm on_arm)
    : op_(op),
      handle_(operator_handle(op)),
      seed_(seed),
      on_arm_(std::move(on_arm)),
      contents_(why_contents_ignored(op) != nullptr ? Contents::kIgnored : Contents::kCompared) {}

Stack Verifier::host_arguments(const CallRecord& call, Variant variant, Data data) const {
  if (variant != Variant::kAsRecorded && trusts_strides(op_)) {
    throw VariantMakesNoSense(
        "the operator trusts the sizes and strides that it is given: others read beyond the storage");
  }
  MaterializeOptions options;
  options.seed = seed_;
  options.data = data;
  options.complex_data = variant == Variant::kConj;
  Stack arguments = materialize(call, handle_, options);
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
    call(handle_, stack, arm.arrival, variant);
    take_results(stack, outcome);
    for (size_t i = 0; i < versions.size(); ++i) {
      outcome.version_steps.push_back(version_of(outcome.inputs[i]) - versions[i]);
    }
    guard.reset();
    take_out_of_wrappers(outcome);
  } catch (const std::exception& error) {
    outcome.error = normalized_error(call_error_text(error), target_device_type());
  }
  return outcome;
}

std::optional<Difference> Verifier::native_unlike_itself(const CallOutcome& native, const Stack& host, Variant variant,
                                                         int pattern, int blocks) const {
  scribble(native.device, native, pattern, blocks);
  return compare_outcomes(native, run({"native_again", native.device, std::nullopt}, host, variant), contents_);
}

Row Verifier::verify_arguments(const Stack& host, Variant variant) const {
  const Arm native_arm = {"native", to_target_device(flagos_device()), std::nullopt};
  const CallOutcome native = run(native_arm, host, variant);
  if (const auto found = native_unlike_itself(native, host, variant, kScribble, 1)) {
    return case_row(CaseEnd::kNondeterministic, found->reason, {compared("native", "native_again", found)});
  }
  std::vector<Ran> arms = {{native_arm, native}};
  const auto add = [&](const Arm& arm) { arms.push_back({arm, run(arm, host, variant)}); };
  add({"on", flagos_device(), true});
  add({"off", flagos_device(), false});
  std::vector<std::pair<size_t, size_t>> pairs = {{0, 1}, {0, 2}};  // of arms
  if (can_arrive(variant, host)) {
    add({"off_arrival", flagos_device(), false, true});
    add({"on_arrival", flagos_device(), true, true});
    pairs.emplace_back(3, 4);
  }
  std::vector<Row> rows;
  bool equal = true;
  bool rounding = true;
  for (const auto& [a, b] : pairs) {
    const auto difference = compare_outcomes(arms[a].outcome, arms[b].outcome, contents_);
    rows.push_back(compared(arms[a].arm.name, arms[b].arm.name, difference));
    equal = equal && !difference.has_value();
    rounding = rounding && (!difference.has_value() || difference->rounding);
  }
  if (!equal) {
    return mismatch(arms, host, variant, std::move(rows), rounding);
  }
  return native.error.has_value() ? case_row(CaseEnd::kRefused, *native.error, std::move(rows))
                                  : case_row(CaseEnd::kEqual, "", std::move(rows));
}

// What PyTorch names nondeterministic in the native call; empty: nothing.
std::string Verifier::alert(const Stack& host, Variant variant) const {
  return nondeterminism_alert([&] { run({"native", to_target_device(flagos_device()), std::nullopt}, host, variant); });
}

// Before a mismatch is claimed: see Note [Operators that differ from themselves].
Row Verifier::mismatch(const std::vector<Ran>& arms, const Stack& host, Variant variant, std::vector<Row> rows,
                       bool rounding) const {
  size_t scribbles = 0;
  std::vector<RepeatedArm> repeated;
  for (const Ran& ran : arms) {
    repeated.push_back({ran.arm.name, ran.outcome, [&, arm = ran.arm] {
                          // Native comes first: what it reads uninitialised shows itself in the first few runs.
                          const bool thorough = scribbles < std::size(kMoreScribbles);
                          scribble(arm.device, arms.front().outcome,
                                   kMoreScribbles[scribbles++ % std::size(kMoreScribbles)], thorough ? kMoreBlocks : 1,
                                   thorough ? kGreatestScribble : kSmallScribble);
                          return run(arm, host, variant);
                        }});
  }
  const Repeats repeats = repeat_arms(repeated, contents_);
  const std::string named = alert(host, variant);
  std::string facts = repeats.steady && named.empty() ? "" : fmt::format("{}{}", kFactsBegin, repeats.facts);
  facts += named.empty() ? "" : fmt::format("; PyTorch names {} nondeterministic", named);
  for (Row& row : rows) {
    if (!row.at("equal").get<bool>()) {
      row["reason"] = row.at("reason").get<std::string>() + facts;
    }
  }
  const bool by_name = !named.empty() && rounding && repeats.steady && !arms.front().arm.device.is_cpu();
  if (repeats.nondeterministic || by_name) {
    std::erase_if(rows, [](const Row& row) { return row.at("equal").get<bool>(); });
    const Row why = rows.front().at("reason");
    return case_row(CaseEnd::kNondeterministic, why.get<std::string>(), std::move(rows));
  }
  rows.push_back(compared("on", "off", compare_outcomes(arms.at(1).outcome, arms.at(2).outcome, contents_)));
  return case_row(CaseEnd::kDifferent, "", std::move(rows));
}

Row Verifier::verify(const CallRecord& call, Variant variant, Data data) {
  Stack host;
  try {
    host = host_arguments(call, variant, data);
  } catch (const std::exception& error) {
    return not_applicable_row(call_error_text(error));
  }
  try {
    return verify_arguments(host, variant);
  } catch (const std::exception& error) {  // from looking at what a call left behind
    const std::string text = fmt::format("can't be compared: {}", call_error_text(error));
    return case_row(CaseEnd::kDifferent, text, {compared("native", "on", Difference{text, {}, ""})});
  }
}

}  // namespace flagos::diag
