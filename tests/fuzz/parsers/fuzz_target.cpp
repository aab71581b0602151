#include "fuzz_target.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace flagos::fuzz {
namespace {

constexpr size_t kLongest = 2000;  // bytes: a screen of text

[[noreturn]] void fail(const char* what, std::string_view text) {
  std::fprintf(stderr, "an error text %s: %.*s\n", what, static_cast<int>(text.substr(0, kLongest).size()),
               text.data());
  std::abort();
}

}  // namespace

void require_clear(std::string_view text, std::string_view subject) {
  if (text.find(subject) == std::string_view::npos) {
    fail("does not name its subject", text);
  }
  if (text.size() > kLongest) {
    fail("is too long", text);
  }
  for (const char c : text) {
    if (c < ' ' || c > '~') {
      fail("is not printable", text);
    }
  }
}

}  // namespace flagos::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  flagos::fuzz::accepts({reinterpret_cast<const char*>(data), size});
  return 0;
}
