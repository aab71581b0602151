#include "situations/checker.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/operator_names.h"
#include "flagos/flagos.h"
#include "prediction/operator_facts.h"

namespace flagos::diag {
namespace {

constexpr size_t kTriedCalls = 3;

Verdict verdict_of(KernelKind kind) {
  switch (kind) {
    case KernelKind::kView:
      return Verdict::kView;
    case KernelKind::kComposite:
      return Verdict::kComposite;
    case KernelKind::kFallback:
      return Verdict::kFallback;
    default:
      return Verdict::kUnknown;
  }
}

c10::Device flagos_device() { return {c10::DeviceType::PrivateUse1, 0}; }

void set_decision(Row& row, const Decision& decision) {
  row["verdict"] = verdict_name(decision.verdict);
  row["reason"] = decision.reason == Reason::kNone ? Row(nullptr) : Row(reason_code(decision.reason));
  row["key"] = decision.key == c10::DispatchKey::Undefined ? Row(nullptr) : Row(c10::toString(decision.key));
}

Row with_verdict(Row row, Verdict verdict, const std::string& note) {
  row["verdict"] = verdict_name(verdict);
  row["note"] = note;
  return row;
}

void set_counts(Row& row, const CallCounts& counts) {
  row["hits"] = counts.hits;
  row["calls"] = counts.calls;
}

// The text that the target itself answers this call with; nothing when it runs there.
std::optional<std::string> target_error(Situation situation, const CallRecord& call, const c10::OperatorHandle& op,
                                        uint64_t seed) {
  try {
    Scene scene(situation, call, op, to_target_device(flagos_device()), seed);
    op.callBoxed(scene.arguments());
    return std::nullopt;
  } catch (const std::exception& error) {
    return call_error_text(error);
  }
}

}  // namespace

Row empty_check_row(const std::string& op, Situation situation) {
  Row row;
  for (const char* field : kCheckFields) {
    row[field] = nullptr;
  }
  row["op"] = std::string(without_aten(op));
  row["situation"] = situation_name(situation);
  row["verdict"] = verdict_name(Verdict::kUnknown);
  return row;
}

Checker::Checker(const ArgumentSource& source, const std::string& op, uint64_t seed)
    : source_(source),
      op_(op),
      handle_(operator_handle(op)),
      seed_(seed),
      table_(handle_),
      predicted_kind_(predict_kind(table_, handle_.schema())),
      kind_(kernel_kind(op)) {
  choose_call();
}

void Checker::choose_call() {
  const auto& calls = source_.calls(op_);
  for (size_t i = 0; i < std::min(calls.size(), kTriedCalls); ++i) {
    try {
      Scene scene(Situation::kPlain, calls[i], handle_, flagos_device(), seed_);
      // A Python mode around this process must not see the trial.
      const c10::impl::ExcludeDispatchKeyGuard below_python(
          c10::DispatchKeySet({c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot}));
      handle_.callBoxed(scene.arguments());
      call_ = &calls[i];
      return;
    } catch (const std::exception& error) {
      call_error_text(error);
      continue;  // the next record may run; if none does, the first one's error is reported
    }
  }
  call_ = calls.empty() ? nullptr : &calls.front();
}

Row Checker::check(Situation situation) {
  Row row = empty_check_row(op_, situation);
  if (call_ == nullptr) {
    return with_verdict(std::move(row), Verdict::kUnknown,
                        "no recorded arguments; pass --trace FILE with a call of it");
  }
  try {
    return kind_ == KernelKind::kBoxed ? check_boxed(situation, row) : check_other(situation, row);
  } catch (const NotApplicable& error) {
    return with_verdict(std::move(row), Verdict::kNotApplicable, error.what());
  } catch (const std::exception& error) {  // from making the arguments
    return failed(situation, std::move(row), call_error_text(error));
  }
}

// The target is asked the same: what it refuses too is no finding about this library.
Row Checker::failed(Situation situation, Row row, const std::string& error) const {
  const auto of_target = target_error(situation, *call_, handle_, seed_);
  if (!of_target.has_value()) {
    row["agrees"] = false;
    return with_verdict(std::move(row), Verdict::kError, fmt::format("only on flagos: {}", error));
  }
  const bool plain = situation == Situation::kPlain;
  return with_verdict(std::move(row), plain ? Verdict::kError : Verdict::kNotApplicable,
                      fmt::format("the target refuses it too: {}", *of_target));
}

Observation Checker::observe_normally(Situation situation) const {
  Scene scene(situation, *call_, handle_, flagos_device(), seed_);
  return observe_normal_call(handle_, scene);
}

std::optional<Observation> Checker::observe_arriving(Situation situation) const {
  Scene scene(situation, *call_, handle_, flagos_device(), seed_);
  Observation arrival = observe_arrival(handle_, scene);
  return arrival.counts.calls != 0 ? std::optional(std::move(arrival)) : std::nullopt;
}

Row Checker::check_boxed(Situation situation, Row row) {
  const Observation normal = observe_normally(situation);
  set_counts(row, normal.counts);
  std::optional<Observation> arrival;
  std::string note;
  if (handled_above_kernel(situation)) {
    arrival = observe_arriving(situation);
    note = arrival.has_value() ? "" : "such a tensor can't reach the kernel; seen in a normal call";
  } else if (normal.counts.calls == 0 && !normal.error.has_value()) {
    arrival = observe_arriving(situation);
    note = "a normal call is decomposed above this kernel; seen by redispatching to it";
  }
  if (normal.error.has_value() && !arrival.has_value() && normal.counts.calls == 0) {
    return failed(situation, std::move(row), *normal.error);
  }
  if (normal.error.has_value()) {
    const Row failure = failed(situation, row, *normal.error);
    // An operator that rejects complex numbers has no conj bit; the other bits its kernel can still be handed.
    if (failure["agrees"].is_boolean() || !handled_above_kernel(situation) || situation == Situation::kConj) {
      return failure;
    }
    note = failure["note"].get<std::string>();
  }
  const Observation& seen = arrival.has_value() ? *arrival : normal;
  const Decision expected = predict(table_, seen.state);
  const Decision observed = decision_of(seen);
  set_decision(row, observed);
  row["predicted"] = decision_text(expected);
  row["observed"] = decision_text(observed);
  const bool key_seen = observed.key != c10::DispatchKey::Undefined || !seen.gate.has_value();
  row["agrees"] = expected.verdict == observed.verdict && expected.reason == observed.reason &&
                  (!key_seen || !seen.gate.has_value() || expected.key == observed.key);
  row["note"] = note.empty() ? Row(nullptr) : Row(note);
  return row;
}

Row Checker::check_other(Situation situation, Row row) {
  const Observation normal = observe_normally(situation);
  set_counts(row, normal.counts);
  if (normal.error.has_value()) {
    return failed(situation, std::move(row), *normal.error);
  }
  const Verdict observed = verdict_of(kind_);
  const Verdict expected = verdict_of(predicted_kind_);
  row["verdict"] = verdict_name(observed);
  row["predicted"] = predicted_kind_ == KernelKind::kBoxed ? "boxed" : verdict_name(expected);
  row["observed"] = verdict_name(observed);
  row["agrees"] = predicted_kind_ == kind_;
  return row;
}

}  // namespace flagos::diag
