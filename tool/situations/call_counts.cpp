#include "situations/call_counts.h"

#include <string>

#include "flagos/stats.h"
#include "situations/observation.h"
#include "situations/scene.h"

namespace flagos::diag {
namespace {

Row counts_so_far() {
  Row counts = Row::object();
  for (const OpStats& each : stats()) {
    Row refused = Row::object();
    for (size_t reason = 0; reason < each.refused.size(); ++reason) {
      if (each.refused.at(reason) != 0) {
        refused[reason_code(static_cast<Reason>(reason))] = each.refused.at(reason);
      }
    }
    counts[each.op] = {{"calls", each.calls}, {"hits", each.hits}, {"refused", refused}};
  }
  return counts;
}

}  // namespace

Row count_call(const CallRecord& call, const c10::OperatorHandle& op, uint64_t seed) {
  Row row = {{"counts", Row::object()}, {"note", ""}};
  try {
    Scene scene(Situation::kPlain, call, op, c10::Device(c10::DeviceType::PrivateUse1, 0), seed);
    reset_stats();
    try {
      op.callBoxed(scene.arguments());
    } catch (const std::exception& error) {
      row["note"] = call_error_text(error);
    }
    row["counts"] = counts_so_far();
  } catch (const std::exception& error) {
    row["note"] = call_error_text(error);  // the arguments can't be made
  }
  return row;
}

}  // namespace flagos::diag
