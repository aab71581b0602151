#include "verify/isolated_case.h"

#include <fmt/format.h>

#include <utility>

#include "traces/call_text.h"
#include "verify/verifier.h"

namespace flagos::diag {

Row case_of_answer(Row answer) {
  if (answer.contains("end")) {
    return answer;
  }
  return broken_arm_row(answer.value("stage", ""), answer.value("note", ""));
}

Row case_settings(const CaseInput& input) { return {{"args", call_text(input.call)}, {"data", data_name(input.data)}}; }

CaseInput case_of_settings(const Row& settings, const std::string& op, Variant variant) {
  const bool constant = settings.at("data") == data_name(Data::kConstant);
  return {call_of_text(op, settings.at("args").get<std::string>()), variant, constant ? Data::kConstant : Data::kNoise};
}

IsolatedCase::IsolatedCase(WorkerCommand command) : pool_(std::move(command), 1, kShrinkPatience) {}

Row IsolatedCase::run(const std::string& op, const CaseInput& input) {
  Row found = nullptr;
  const Job job{op, {fmt::format("0:{}", variant_name(input.variant))}, "verify", case_settings(input)};
  pool_.run(
      {job}, [&](const std::string& /*op*/, Row row) { found = case_of_answer(std::move(row)); },
      [](const std::string& /*op*/) {});
  return found;
}

}  // namespace flagos::diag
