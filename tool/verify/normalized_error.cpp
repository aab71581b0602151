#include "verify/normalized_error.h"

#include <algorithm>
#include <iterator>
#include <regex>

namespace flagos::diag {
namespace {

// Names end where a word does, or before a scalar type: "CUDAFloatType". In kernels' names (foo_cpu) they stay.
std::regex names_of(const std::string& keys, const std::string& devices) {
  const std::string functionality = "\\b(Sparse|SparseCsr|Quantized|NestedTensor|Autograd|Autocast|)";
  return std::regex(functionality + "(?:" + keys + "|" + devices + ")(?::-?[0-9]+)?(?=\\b|[A-Z][A-Za-z0-9]*Type\\b)");
}

const std::regex& names_of_target(c10::DeviceType target) {
  static const std::regex cpu = names_of("CPU|CUDA|PrivateUse1", "cpu|cuda|flagos|privateuse1|privateuseone");
  static const std::regex other = names_of("CUDA|PrivateUse1", "cuda|flagos|privateuse1|privateuseone");
  return target == c10::DeviceType::CPU ? cpu : other;
}

// Cheaply: most messages, and results that are numbers, name none.
bool names_device(const std::string& text) {
  constexpr const char* kNames[] = {"cuda", "CUDA", "flagos", "privateuse", "PrivateUse1", "cpu", "CPU"};
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [&](const char* name) { return text.find(name) != std::string::npos; });
}

}  // namespace

std::string normalized_error(std::string_view text, c10::DeviceType target) {
  static const std::regex dispatcher("Could not run '([^']+)' (?:with arguments )?from the '([^']+)' backend[^]*");
  static const std::regex library("flagos: ([\\w:.]+) has no kernel for (\\w+)\\b[^]*");
  static const std::regex backends("\\[(?:\\w+, )*(?:CPU|CUDA|Meta|BackendSelect)(?:, \\w+)*\\]");
  std::string common(text);
  // Most messages say none of it.
  if (common.find("Could not run '") != std::string::npos) {
    common = std::regex_replace(common, dispatcher, "$1 has no kernel for $2");
  }
  if (common.find("flagos: ") != std::string::npos) {
    common = std::regex_replace(common, library, "$1 has no kernel for $2");
  }
  if (common.find('[') != std::string::npos) {
    common = std::regex_replace(common, backends, "[BACKENDS]");
  }
  return names_device(common) ? std::regex_replace(common, names_of_target(target), "$1DEVICE") : common;
}

}  // namespace flagos::diag
