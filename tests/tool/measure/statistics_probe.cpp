// Statistics of the numbers that statistics_test.py sends, one JSON document a line, for comparison with scipy's.
#include "measure/statistics.h"

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

int main() {
  using nlohmann::json;
  for (std::string line; std::getline(std::cin, line);) {
    const json request = json::parse(line);
    const auto values = request.at("values").get<std::vector<double>>();
    const auto interval =
        flagos::diag::bootstrap_median(values, request.value("seed", 0U), request.value("resamples", 10000U));
    const json answer = {{"median", flagos::diag::median(values)},
                         {"low", interval.low},
                         {"high", interval.high},
                         {"wilcoxon_p", flagos::diag::wilcoxon_p(values)},
                         {"holm", flagos::diag::holm_adjusted(values)}};
    std::cout << answer.dump() << '\n';
  }
  return 0;
}
