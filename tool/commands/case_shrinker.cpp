#include "commands/case_shrinker.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "cli/interrupt.h"
#include "cli/operator_names.h"
#include "cli/shell_word.h"
#include "measure/argument_text.h"
#include "prediction/operator_facts.h"
#include "report/environment.h"
#include "traces/call_text.h"
#include "verify/known_operators.h"
#include "verify/verifier.h"

namespace flagos::diag {
namespace {

constexpr size_t kLongestLine = 100'000;  // Linux takes words of a command up to 128 KiB

}  // namespace

CaseShrinker::CaseShrinker(WorkerCommand command, ShrinkBounds bounds, std::chrono::duration<double> time)
    : isolated_(std::move(command)), bounds_(bounds), time_(time) {}

std::optional<CaseInput> CaseShrinker::smaller(const std::string& op, const CaseInput& input, const Row& found) {
  if (bounds_.deadline == std::chrono::steady_clock::time_point::max()) {
    bounds_.deadline = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(time_);
  }
  const std::string kind = failure_kind(found);
  const auto [known, first] = found_.try_emplace(fmt::format("{} {} {}", op, variant_name(input.variant), kind));
  if (!first) {
    return known->second;
  }
  const auto fails = [&](const CaseInput& candidate) {
    const Row again = interrupted() ? Row(nullptr) : isolated_.run(op, candidate);
    return again.is_object() && again.at("end") == case_end_name(CaseEnd::kDifferent) && failure_kind(again) == kind;
  };
  Shrunk shrunk = shrink(input, operator_handle(op).schema(), trusts_strides(op), fails, bounds_);
  if (shrunk.steps == 0 || call_text(shrunk.input.call).size() > kLongestLine) {
    return std::nullopt;
  }
  known->second = std::move(shrunk.input);
  return known->second;
}

std::string replay_line(const std::string& op, const CaseInput& input, uint64_t seed) {
  return fmt::format(
      "flagos-diag verify {} --case {} --args {}{} --seed {} --target {}", shell_word(std::string(without_aten(op))),
      variant_name(input.variant), shell_word(call_text(input.call)),
      input.data == Data::kNoise ? "" : fmt::format(" --data {}", data_name(input.data)), seed, target_name());
}

std::string input_text(const std::string& op, const CaseInput& input) {
  MaterializeOptions options;
  options.complex_data = input.variant == Variant::kConj;
  std::string text;
  try {
    text = argument_text(materialize(input.call, operator_handle(op), options));
  } catch (const std::runtime_error&) {
    text = "?";  // it could be made in the worker; here memory may be short
  }
  return fmt::format("{}: {}{}", variant_name(input.variant), text, input.data == Data::kNoise ? "" : ", constant");
}

}  // namespace flagos::diag
