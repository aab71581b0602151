#include "measure/fail_on.h"

#include <fmt/format.h>

#include <regex>

#include "cli/exit_code.h"
#include "measure/arm.h"
#include "measure/verdict.h"
#include "report/foreign_text.h"

namespace flagos::diag {
namespace {

constexpr double kPercent = 100;
constexpr size_t kLongest = 60;  // std::regex recurses once a character

bool is_pair(const FailOn& wanted) {
  if (wanted.against.empty()) {
    return true;
  }
  if (wanted.against == kBaseline) {
    return wanted.arm == "native" || wanted.arm == "off" || wanted.arm == "on";
  }
  for (const ArmPair& pair : kArmPairs) {
    if (wanted.arm == pair.arm && wanted.against == pair.against) {
      return true;
    }
  }
  return false;
}

}  // namespace

FailOn FailOn::parse(std::string_view text) {
  static const std::regex form(R"((?:(\w+)/(\w+):)?slower>(\d{1,6}(?:\.\d{1,6})?)%)");
  std::match_results<std::string_view::const_iterator> parts;
  FailOn wanted;
  if (text.size() <= kLongest && std::regex_match(text.begin(), text.end(), parts, form)) {
    if (parts[1].matched) {
      wanted.arm = parts[1].str();
      wanted.against = parts[2].str();
    }
    wanted.fraction = std::stod(parts[3].str()) / kPercent;
    if (is_pair(wanted)) {
      return wanted;
    }
  }
  throw UsageError(fmt::format(
      "--fail-on '{}': the form is 'slower>2%', for on against off and against the baseline, or 'on/native:slower>2%'; "
      "pairs are off/native, on/native, on/off, aa/on and, with --baseline, native, off or on /baseline.",
      foreign_text(text)));
}

bool FailOn::met_by(std::string_view row_arm, std::string_view row_against, std::string_view verdict,
                    double ratio) const {
  const bool of_pair = against.empty() ? row_against == "off" || row_against == kBaseline : row_against == against;
  return row_arm == arm && of_pair && verdict == claim_name(Claim::kSlower) && ratio > 1 + fraction;
}

}  // namespace flagos::diag
