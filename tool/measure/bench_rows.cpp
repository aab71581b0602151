#include "measure/bench_rows.h"

#include <algorithm>
#include <cmath>

#include "measure/arm.h"
#include "measure/verdict.h"

namespace flagos::diag {
namespace {

constexpr size_t kManyCases = 20;
constexpr double kOfMany = 0.95;
constexpr const char* kSamples = "samples";

const Row& pair_of(const BenchCase& measured, const ArmPair& pair) {
  const Row& pairs = measured.measured.at("pairs");
  return *std::find_if(pairs.begin(), pairs.end(), [&](const Row& each) {
    return each.at("arm") == pair.arm && each.at("against") == pair.against;
  });
}

bool was_measured(const BenchCase& each) { return each.measured.contains("pairs"); }

constexpr ArmPair kNoise{"aa", "on"};

double noise_floor_of_run(const std::vector<BenchCase>& cases) {
  std::vector<double> differences;
  for (const BenchCase& each : cases) {
    if (was_measured(each)) {
      differences.push_back(std::abs(std::log(pair_of(each, kNoise).at("ratio").get<double>())));
    }
  }
  if (differences.empty()) {
    return 0;
  }
  std::sort(differences.begin(), differences.end());
  const auto last = static_cast<double>(differences.size() - 1);
  const auto at = static_cast<size_t>(differences.size() < kManyCases ? last : std::floor(last * kOfMany));
  return std::expm1(differences[at]);
}

double noise_floor_of_case(const BenchCase& each, double of_run) {
  const Row& noise = pair_of(each, kNoise);
  const double low = std::abs(std::log(noise.at("ratio_ci_low").get<double>()));
  const double high = std::abs(std::log(noise.at("ratio_ci_high").get<double>()));
  return std::max(of_run, std::expm1(std::max(low, high)));
}

Row empty_row(const BenchCase& each) {
  Row row;
  for (const char* field : kBenchFields) {
    row[field] = nullptr;
  }
  row["op"] = each.op;
  row["case"] = each.measured.value("case", "");
  row["call"] = each.call;
  row["note"] = each.measured.value("note", Row(nullptr));
  return row;
}

void put_arm(Row& row, const BenchCase& each, const char* name) {
  const Row& arm = each.measured.at("arms").at(name);
  row["arm"] = name;
  for (const char* field : {"ns_median", "ns_ci_low", "ns_ci_high", "device_ns_median", kSamples}) {
    row[field] = arm.at(field);
  }
  row["blocks"] = each.measured.at("blocks");
  row["runs"] = each.measured.at("runs");
}

Row judged_row(const BenchCase& each, const ArmPair& pair, double p_adjusted, double floor, double threshold) {
  Row row = empty_row(each);
  put_arm(row, each, pair.arm);
  const Row& measured = pair_of(each, pair);
  for (const char* field : {"against", "ratio", "ratio_ci_low", "ratio_ci_high", "device_ratio"}) {
    row[field] = measured.at(field);
  }
  row["p_adjusted"] = p_adjusted;
  const RatioEstimate estimate{measured.at("ratio").get<double>(),
                               {measured.at("ratio_ci_low").get<double>(), measured.at("ratio_ci_high").get<double>()},
                               p_adjusted};
  row["verdict"] = claim_name(claim_of(estimate, floor, threshold));
  return row;
}

}  // namespace

JudgedCases judge(const std::vector<BenchCase>& cases, double threshold) {
  JudgedCases judged;
  judged.noise_floor = noise_floor_of_run(cases);
  std::vector<std::vector<double>> adjusted;
  for (const ArmPair& pair : kArmPairs) {
    std::vector<double> p;
    for (const BenchCase& each : cases) {
      if (was_measured(each)) {  // what was not tested is not to be corrected for
        p.push_back(pair_of(each, pair).at("p").get<double>());
      }
    }
    adjusted.push_back(holm_adjusted(p));
  }
  size_t tested = 0;
  for (const BenchCase& each : cases) {
    judged.rows.push_back(empty_row(each));
    if (!was_measured(each)) {
      judged.rows.back()["verdict"] = "n/a";
      continue;
    }
    put_arm(judged.rows.back(), each, "native");
    const double floor = noise_floor_of_case(each, judged.noise_floor);
    for (size_t pair = 0; pair < std::size(kArmPairs); ++pair) {
      judged.rows.push_back(judged_row(each, kArmPairs[pair], adjusted[pair][tested], floor, threshold));
    }
    ++tested;
  }
  return judged;
}

}  // namespace flagos::diag
