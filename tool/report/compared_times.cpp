#include "report/compared_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "measure/statistics.h"
#include "report/matched_rows.h"

namespace flagos::diag {
namespace {

constexpr double kNormal95 = 1.959963984540054;  // two-sided 95% of a normal variable, in deviations

// Nothing that was measured lies outside: a ten-thousandth of a clock cycle, thirty years. Quotients of what lies
// within are finite.
constexpr double kLeastNs = 1e-4;
constexpr double kMostNs = 1e18;

double log_deviation(const MedianTime& time) { return std::log(time.ci_high / time.ci_low) / (2 * kNormal95); }

struct TimePair {
  const Row* before;
  const Row* after;
  std::optional<RatioEstimate> ratio;
};

std::vector<TimePair> pairs_of(const ResultDocument& before, const ResultDocument& after, ComparedRuns& compared) {
  const auto is_time = [](const Row& row) {
    return text_field(row, "arm") != "aa" && number_field(row, "ns_median").has_value();
  };
  const RowsByKey old_rows = rows_by_key(before, {"op", "case", "call", "arm"}, is_time);
  const RowsByKey new_rows = rows_by_key(after, {"op", "case", "call", "arm"}, is_time);
  note_unmatched(old_rows, new_rows, compared);
  std::vector<TimePair> pairs;
  for (const auto& [key, row] : new_rows) {
    const auto old_row = old_rows.find(key);
    if (old_row == old_rows.end()) {
      continue;
    }
    TimePair pair{old_row->second, row, std::nullopt};
    const auto old_time = median_time(*pair.before);
    const auto new_time = median_time(*pair.after);
    if (old_time.has_value() && new_time.has_value()) {
      pair.ratio = ratio_between(*old_time, *new_time);
    }
    pairs.push_back(pair);
  }
  return pairs;
}

void adjust(std::vector<TimePair>& pairs) {
  std::vector<double> p;
  for (const TimePair& pair : pairs) {
    if (pair.ratio.has_value()) {
      p.push_back(pair.ratio->p_adjusted);
    }
  }
  const std::vector<double> adjusted = holm_adjusted(p);
  size_t next = 0;
  for (TimePair& pair : pairs) {
    if (pair.ratio.has_value()) {
      pair.ratio->p_adjusted = adjusted[next++];
    }
  }
}

Row row_of(const TimePair& pair, double floor) {
  Row row;
  for (const char* field : {"op", "case", "call", "arm"}) {
    row[field] = pair.after->contains(field) ? pair.after->at(field) : Row(nullptr);
  }
  row["ns_old"] = pair.before->at("ns_median");
  row["ns_new"] = pair.after->at("ns_median");
  for (const char* field : {"speedup", "speedup_ci_low", "speedup_ci_high", "p_adjusted"}) {
    row[field] = nullptr;
  }
  if (!pair.ratio.has_value()) {
    row["verdict"] = claim_name(Claim::kInconclusive);
    row["note"] = "a median or its interval is missing, or is no time that can be measured";
    return row;
  }
  row["speedup"] = 1 / pair.ratio->ratio;
  row["speedup_ci_low"] = 1 / pair.ratio->interval.high;
  row["speedup_ci_high"] = 1 / pair.ratio->interval.low;
  row["p_adjusted"] = pair.ratio->p_adjusted;
  row["verdict"] = claim_name(claim_of(*pair.ratio, floor, kSameWithin));
  row["note"] = nullptr;
  return row;
}

int rank_of(const Row& row) {
  const auto& verdict = row.at("verdict").get_ref<const std::string&>();
  return verdict == "SLOWER" ? 0 : verdict == "FASTER" ? 1 : verdict == "INCONCLUSIVE" ? 2 : 3;
}

// libflagos has no part in the native arm: where that changed, the others' changes are the machine's too.
void note_changed_natives(ComparedRuns& compared) {
  const auto changed = std::count_if(compared.rows.begin(), compared.rows.end(), [](const Row& row) {
    return text_field(row, "arm") == "native" && rank_of(row) <= 1;
  });
  if (changed != 0) {
    compared.notes.push_back(fmt::format(
        "The native arm changed in {} cases: that is the machine, not libflagos. Runs of one machine in one state compare; "
        "ab-bench's own ratios on_off and on_native do in any.",
        changed));
  }
}

}  // namespace

std::optional<MedianTime> median_time(const Row& row) {
  const auto ns = number_field(row, "ns_median");
  const auto low = number_field(row, "ns_ci_low");
  const auto high = number_field(row, "ns_ci_high");
  const bool told = ns && low && high && *low <= *high;
  if (!told || std::min(*ns, *low) < kLeastNs || std::max(*ns, *high) > kMostNs) {
    return std::nullopt;
  }
  return MedianTime{*ns, *low, *high};
}

RatioEstimate ratio_between(const MedianTime& before, const MedianTime& after) {
  const double log_ratio = std::log(after.ns / before.ns);
  const double deviation = std::hypot(log_deviation(before), log_deviation(after));
  const double half_width = kNormal95 * deviation;
  const double exact = log_ratio == 0 ? 1 : 0;  // without any spread
  return {std::exp(log_ratio),
          {std::exp(log_ratio - half_width), std::exp(log_ratio + half_width)},
          deviation > 0 ? std::erfc(std::abs(log_ratio) / deviation / std::sqrt(2.0)) : exact};
}

ComparedRuns compare_times(const ResultDocument& before, const ResultDocument& after) {
  ComparedRuns compared;
  compared.fields = {
      "op",         "case",    "call", "arm", "ns_old", "ns_new", "speedup", "speedup_ci_low", "speedup_ci_high",
      "p_adjusted", "verdict", "note"};
  std::vector<TimePair> pairs = pairs_of(before, after, compared);
  adjust(pairs);
  const double noise = std::max(number_field(before.summary, "noise_floor").value_or(0),
                                number_field(after.summary, "noise_floor").value_or(0));
  const double floor = std::max(kSameWithin, noise);
  Row verdicts = {{"FASTER", 0}, {"SLOWER", 0}, {"SAME", 0}, {"INCONCLUSIVE", 0}};
  for (const TimePair& pair : pairs) {
    compared.rows.push_back(row_of(pair, floor));
    Row& count = verdicts[compared.rows.back().at("verdict").get<std::string>()];
    count = count.get<size_t>() + 1;
    compared.comparable += pair.ratio.has_value() ? 1 : 0;
  }
  std::stable_sort(compared.rows.begin(), compared.rows.end(),
                   [](const Row& a, const Row& b) { return rank_of(a) < rank_of(b); });
  note_changed_natives(compared);
  compared.findings = verdicts["SLOWER"].get<size_t>();
  compared.summary["compared"] = compared.comparable;
  compared.summary["verdicts"] = verdicts;
  compared.summary["threshold"] = kSameWithin;
  compared.summary["noise_floor"] = noise;
  compared.notes.emplace_back("speedup is the old median divided by the new one: above 1 the new run is faster.");
  return compared;
}

}  // namespace flagos::diag
