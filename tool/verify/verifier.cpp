#include "verify/verifier.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "flagos/flagos.h"
#include "prediction/operator_facts.h"
#include "situations/observation.h"
#include "verify/argument_copies.h"
#include "verify/call_results.h"
#include "verify/device_failure.h"
#include "verify/host_arguments.h"
#include "verify/known_operators.h"
#include "verify/nondeterminism_alert.h"
#include "verify/normalized_error.h"
#include "verify/repeated_runs.h"
#include "verify/scribble.h"

namespace flagos::diag {
namespace {

constexpr int64_t kSmallScribble = 1 << 14;  // for runs in great number
constexpr int kScribble = 0xa5;
constexpr int kMoreScribbles[] = {0x5a, 0x00, 0xff, 0x7f};  // before further runs, in turn
constexpr int kMoreBlocks = 4;
enum : size_t { kNative, kOn, kOff, kOffArrival, kOnArrival };  // arms, in the order in which they run

c10::Device flagos_device() { return {c10::DeviceType::PrivateUse1, 0}; }

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

// Two arms that are compared.
struct Verifier::Pair {
  size_t a;
  size_t b;
  std::optional<Difference> difference;
};

// What further runs showed.
struct Verifier::Further {
  Repeats repeats;
  std::string named;  // what PyTorch names nondeterministic; empty: nothing
  bool steady_kernels = true;

  std::string facts() const {
    std::string text = repeats.steady && named.empty() ? "" : kFactsBegin + repeats.facts;
    return named.empty() ? text : fmt::format("{}; PyTorch names {} nondeterministic", text, named);
  }
};

// A tensor in a functionalization wrapper has no memory to be boxed and can't come below; the mode can, with a factory.
bool can_arrive(Variant variant, const Stack& arguments) {
  bool wrapped = false;
  if (variant == Variant::kFunctionalize) {
    visit_tensors(arguments, [&](const at::Tensor& /*tensor*/) { wrapped = true; });
  }
  return handled_above_kernel(variant) && !wrapped;
}

Verifier::Verifier(const std::string& op, uint64_t seed, OnArm on_arm, KernelRecorder* recorder)
    : op_(op),
      handle_(operator_handle(op)),
      seed_(seed),
      on_arm_(std::move(on_arm)),
      recorder_(recorder),
      contents_(why_contents_ignored(op) != nullptr ? Contents::kIgnored : Contents::kCompared) {}

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
    outcome.error = normalized_error(call_error_text(error), target_device_type());
  }
  if (const auto failure = device_failure()) {
    throw DeviceFailure(arm.name, *failure);
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

CallOutcome Verifier::native_again(const CallOutcome& native, const Stack& host, Variant variant) const {
  scribble(native.device, native, kScribble, 1);
  return run({"native_again", native.device, std::nullopt}, host, variant);
}

bool Verifier::settle_kernels(CallOutcome& native, const CallOutcome& again, const Stack& host, Variant variant) const {
  if (native.kernels != again.kernels) {
    native.kernels = again.kernels;
    if (native_again(native, host, variant).kernels != again.kernels) {
      native.kernels.reset();
      return false;
    }
  }
  return true;
}

Row Verifier::verify_arguments(const Stack& host, Variant variant) const {
  const Arm native_arm = {"native", to_target_device(flagos_device()), std::nullopt};
  CallOutcome native = run(native_arm, host, variant);
  const CallOutcome again = native_again(native, host, variant);
  if (const auto found = compare_outcomes(native, again, contents_)) {
    return case_row(CaseEnd::kNondeterministic, found->reason, {differing("native", "native_again", *found)});
  }
  const bool steady = settle_kernels(native, again, host, variant);
  std::vector<Ran> arms = run_arms({native_arm, std::move(native)}, host, variant);
  std::vector<Pair> pairs = compare_arms(arms);
  std::vector<Row> rows = rows_of(arms, pairs);
  if (!std::all_of(rows.begin(), rows.end(), is_equal)) {
    return mismatch(std::move(arms), std::move(pairs), host, variant);
  }
  const auto& error = arms.front().outcome.error;
  return with_kernel_verdict(
      case_row(error.has_value() ? CaseEnd::kRefused : CaseEnd::kEqual, error.value_or(""), std::move(rows)), steady);
}

std::vector<Verifier::Ran> Verifier::run_arms(Ran native, const Stack& host, Variant variant) const {
  std::vector<Ran> arms = {std::move(native)};
  const auto add = [&](const Arm& arm) { arms.push_back({arm, run(arm, host, variant)}); };
  add({"on", flagos_device(), true});
  add({"off", flagos_device(), false});
  if (can_arrive(variant, host)) {
    add({"off_arrival", flagos_device(), false, true});
    add({"on_arrival", flagos_device(), true, true});
  }
  return arms;
}

std::vector<Verifier::Pair> Verifier::compare_arms(const std::vector<Ran>& arms) const {
  std::vector<Pair> pairs = {{kNative, kOn, {}}, {kNative, kOff, {}}};
  if (arms.size() > kOnArrival) {
    pairs.push_back({kOffArrival, kOnArrival, {}});
  }
  for (Pair& pair : pairs) {
    pair.difference = compare_outcomes(arms.at(pair.a).outcome, arms.at(pair.b).outcome, contents_);
  }
  return pairs;
}

std::vector<Row> Verifier::rows_of(const std::vector<Ran>& arms, const std::vector<Pair>& pairs) {
  std::vector<Row> rows;
  for (const Pair& pair : pairs) {
    const Ran& a = arms.at(pair.a);
    const Ran& b = arms.at(pair.b);
    rows.push_back(compared({a.arm.name, &a.outcome}, {b.arm.name, &b.outcome}, pair.difference));
  }
  return rows;
}

// What PyTorch names nondeterministic in the native call; empty: nothing.
std::string Verifier::alert(const Stack& host, Variant variant) const {
  return nondeterminism_alert([&] { run({"native", to_target_device(flagos_device()), std::nullopt}, host, variant); });
}

Verifier::Further Verifier::run_further(const std::vector<Ran>& arms, const Stack& host, Variant variant) const {
  Further further;
  const CallOutcome& native = arms.at(kNative).outcome;
  size_t scribbles = 0;
  std::vector<RepeatedArm> repeated;
  for (const Ran& ran : arms) {
    repeated.push_back({ran.arm.name, ran.outcome, [&, arm = ran.arm] {
                          // Native comes first: what it reads uninitialised shows itself in the first few runs.
                          const bool thorough = scribbles < std::size(kMoreScribbles);
                          scribble(arm.device, native, kMoreScribbles[scribbles++ % std::size(kMoreScribbles)],
                                   thorough ? kMoreBlocks : 1, thorough ? kGreatestScribble : kSmallScribble);
                          CallOutcome again = run(arm, host, variant);
                          const bool other = !arm.redispatch.has_value() && again.kernels != native.kernels;
                          further.steady_kernels = further.steady_kernels && !other;
                          return again;
                        }});
  }
  further.repeats = repeat_arms(repeated, contents_);
  further.named = alert(host, variant);
  return further;
}

// Before a mismatch is claimed: see Note [Operators that differ from themselves].
Row Verifier::mismatch(std::vector<Ran> arms, std::vector<Pair> pairs, const Stack& host, Variant variant) const {
  const Further further = run_further(arms, host, variant);
  if (!further.steady_kernels) {
    arms.at(kNative).outcome.kernels.reset();
  }
  std::vector<Row> unlike;
  bool rounding = true;
  for (Pair& pair : pairs) {
    if (pair.difference.has_value()) {
      rounding = rounding && pair.difference->rounding;
      pair.difference->reason += further.facts();
      unlike.push_back(differing(arms.at(pair.a).arm.name, arms.at(pair.b).arm.name, *pair.difference));
    }
  }
  std::vector<Row> rows = rows_of(arms, pairs);
  const bool other_kernels = std::any_of(rows.begin(), rows.end(), has_other_kernels);
  const bool by_name =
      !further.named.empty() && !unlike.empty() && rounding && !other_kernels && !arms.at(kNative).arm.device.is_cpu();
  if (further.repeats.nondeterministic || by_name) {
    if (unlike.empty()) {  // only kernels differed at first
      unlike.push_back(differing("native", "native_again", Difference{further.repeats.facts, {}, ""}));
    }
    const Row why = unlike.front().at("reason");
    return case_row(CaseEnd::kNondeterministic, why.get<std::string>(), std::move(unlike));
  }
  const bool equal = std::all_of(rows.begin(), rows.end(), is_equal);  // native's kernels need not be steady
  Row found = with_kernel_verdict(case_row(equal ? CaseEnd::kEqual : CaseEnd::kDifferent, "", std::move(rows)),
                                  further.steady_kernels);
  if (!equal) {
    const auto& on = arms.at(kOn);
    const auto& off = arms.at(kOff);
    found["rows"].push_back(compared({on.arm.name, &on.outcome}, {off.arm.name, &off.outcome}, contents_));
  }
  return found;
}

Row Verifier::verify(const CallRecord& call, Variant variant, Data data) {
  Stack host;
  try {
    host = host_arguments(call, handle_, variant, data, seed_);
  } catch (const std::exception& error) {
    return not_applicable_row(call_error_text(error));
  }
  try {
    return verify_arguments(host, variant);
  } catch (const CuptiError&) {
    throw;
  } catch (const DeviceFailure& failure) {
    return broken_arm_row(failure.arm(), failure.what());
  } catch (const std::exception& error) {  // from looking at what a call left behind
    const std::string text = fmt::format("can't be compared: {}", call_error_text(error));
    return case_row(CaseEnd::kDifferent, text, {differing("native", "on", Difference{text, {}, ""})});
  }
}

}  // namespace flagos::diag
