#include "commands/bench_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/operator_names.h"
#include "measure/arm.h"
#include "measure/verdict.h"

namespace flagos::diag {
namespace {

Row counts_of_verdicts(const std::vector<Row>& rows) {
  Row counts = Row::object();
  for (const ArmPair& pair : kArmPairs) {
    Row of_pair = Row::object();
    for (const Claim claim : {Claim::kFaster, Claim::kSlower, Claim::kSame, Claim::kInconclusive}) {
      of_pair[claim_name(claim)] = std::count_if(rows.begin(), rows.end(), [&](const Row& row) {
        return row.at("arm") == pair.arm && row.at("against") == pair.against && row.at("verdict") == claim_name(claim);
      });
    }
    counts[fmt::format("{}/{}", pair.arm, pair.against)] = of_pair;
  }
  return counts;
}

}  // namespace

std::string not_reached_text(const NotReached& not_reached, size_t cases) {
  if (not_reached.cases == 0) {
    return "";
  }
  if (not_reached.interrupted) {
    return fmt::format("Interrupted: {} of {} cases were not reached, the first is {}.", not_reached.cases, cases,
                       not_reached.first);
  }
  if (!not_reached.stopped.empty()) {
    return fmt::format("{} of {} cases were not reached, the first is {}: {}.", not_reached.cases, cases,
                       not_reached.first, not_reached.stopped);
  }
  return fmt::format(
      "{} of {} cases were not reached within {:.0f} s, the first is {}; --time-budget {:.0f} should reach all.",
      not_reached.cases, cases, not_reached.budget_s, not_reached.first, std::ceil(not_reached.enough_s));
}

Row bench_summary(const std::vector<BenchCase>& cases, const JudgedCases& judged, const std::vector<std::string>& ops,
                  const ArgumentSource& source, const NotReached& not_reached) {
  Row summary = {{"cases", cases.size()}};
  summary["verdicts"] = counts_of_verdicts(judged.rows);
  summary["noise_floor"] = std::round(judged.noise_floor * 1e5) / 1e5;
  Row unknown = Row::object();
  for (const auto& op : ops) {
    if (source.calls(op).empty()) {
      unknown[std::string(without_aten(op))] = "no recorded arguments";
    }
  }
  Row not_measured = Row::object();
  Row left_out = Row::object();
  for (const BenchCase& each : cases) {
    if (each.measured.contains("note") && !each.measured.contains(kNotReached)) {
      not_measured[fmt::format("{} --call {}", each.op, each.call)] = each.measured.at("note");
    }
    if (each.measured.contains("left_out")) {
      left_out = each.measured.at("left_out");
    }
  }
  summary["unknown"] = unknown;
  summary["not_measured"] = not_measured;
  summary["not_reached"] = not_reached.cases;
  summary["left_out_of_step"] = left_out;
  return summary;
}

}  // namespace flagos::diag
