// Checker: one operator in one situation, predicted and observed; a row of check-op.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>
#include <optional>
#include <string>

#include "prediction/dispatch_table.h"
#include "report/report.h"
#include "situations/observation.h"
#include "situations/situation.h"
#include "traces/argument_source.h"

namespace flagos::diag {

// The fields of a row, in order.
inline constexpr const char* kCheckFields[] = {"op",       "situation", "verdict", "reason", "key", "predicted",
                                               "observed", "agrees",    "hits",    "calls",  "note"};

// A row with everything but what is known so far left null.
Row empty_check_row(const std::string& op, Situation situation);

class Checker {
 public:
  // `source` must outlive the checker. `op` is "aten::add.Tensor".
  Checker(const ArgumentSource& source, const std::string& op, uint64_t seed);

  // Never throws for what the operator does; a crash is the caller's to isolate.
  Row check(Situation situation);

 private:
  Row check_boxed(Situation situation, Row row);
  Row check_other(Situation situation, Row row);
  Row failed(Situation situation, Row row, const std::string& error) const;
  void choose_call();
  Observation observe_normally(Situation situation) const;
  std::optional<Observation> observe_arriving(Situation situation) const;

  const ArgumentSource& source_;
  std::string op_;
  c10::OperatorHandle handle_;
  uint64_t seed_;
  DispatchTable table_;
  KernelKind predicted_kind_;
  KernelKind kind_;
  const CallRecord* call_ = nullptr;  // the first recorded call that runs, else the first; null: none
};

}  // namespace flagos::diag
