#include "cuda/kernel_sequence.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <tuple>

namespace flagos::diag {
namespace {

constexpr size_t kLongestName = 240;

std::string name_at(const KernelSequence& sequence, size_t index) {
  if (index >= sequence.size()) {
    return "nothing";
  }
  const std::string& name = sequence[index];
  return name.size() <= kLongestName ? name : name.substr(0, kLongestName) + "...";
}

// Instantiations of one template can part beyond the length that is shown.
std::string cut_where_they_differ(const std::string& a, const std::string& b) {
  const auto parting = static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  return parting < kLongestName ? ""
                                : fmt::format("; they part at '{}' against '{}'", a.substr(parting, kLongestName),
                                              b.substr(parting, kLongestName));
}

}  // namespace

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                    &std::free);
  // "f" would come out as the type float: only names with the prefix of a symbol are mangled ones.
  return name.starts_with("_Z") && status == 0 && text != nullptr ? std::string(text.get()) : name;
}

KernelSequence in_launch_order(std::vector<LaunchRecord> records) {
  std::stable_sort(records.begin(), records.end(), [](const LaunchRecord& a, const LaunchRecord& b) {
    return std::tie(a.correlation, a.start) < std::tie(b.correlation, b.start);
  });
  KernelSequence sequence;
  std::transform(records.begin(), records.end(), std::back_inserter(sequence),
                 [](const LaunchRecord& record) { return demangled(record.name); });
  return sequence;
}

std::optional<std::string> first_other_kernel(const KernelSequence& a, const KernelSequence& b) {
  const auto parting = static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  if (parting == a.size() && parting == b.size()) {
    return std::nullopt;
  }
  const bool both = parting < a.size() && parting < b.size();
  return fmt::format("kernel {}: {} against {}{}", parting, name_at(a, parting), name_at(b, parting),
                     both ? cut_where_they_differ(a[parting], b[parting]) : "");
}

}  // namespace flagos::diag
