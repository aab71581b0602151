// Faults that the sanitizers must report: each in an operator's kernel, below flagos's boxing and libtorch's
// dispatcher, so that a suppression which is too wide hides it. For tests/sanitize/run, which fails when one is not
// reported.
//
// planted-faults overflow|leak|undefined|race: makes the fault once. Without a sanitizer the program shows nothing.
#include <ATen/ATen.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <thread>

#include "boxing/custom_operator.h"
#include "flagos_tensors.h"

namespace flagos::testing {
namespace {

int64_t g_unguarded = 0;
[[maybe_unused]] volatile int64_t g_read = 0;

// The optimiser must not see what is wrong.
template <class T>
T hidden(T value) {
  volatile T stored = value;
  return stored;
}

struct Overflow : CustomOperator<Overflow, at::Tensor(const at::Tensor&)> {
  static constexpr const char* name = "flagos_test::planted_overflow";
  static constexpr const char* overload_name = "";
  static constexpr const char* schema_str = "planted_overflow(Tensor x) -> Tensor";
  static at::Tensor target(const at::Tensor& x) {
    g_read = static_cast<const char*>(x.const_data_ptr())[hidden(x.nbytes())];
    return x.clone();
  }
};

struct Leak : CustomOperator<Leak, at::Tensor(const at::Tensor&)> {
  static constexpr const char* name = "flagos_test::planted_leak";
  static constexpr const char* overload_name = "";
  static constexpr const char* schema_str = "planted_leak(Tensor x) -> Tensor";
  static at::Tensor target(const at::Tensor& x) {
    g_read = *hidden(new int64_t(x.numel()));
    return x.clone();
  }
};

struct Undefined : CustomOperator<Undefined, at::Tensor(const at::Tensor&)> {
  static constexpr const char* name = "flagos_test::planted_undefined";
  static constexpr const char* overload_name = "";
  static constexpr const char* schema_str = "planted_undefined(Tensor x) -> Tensor";
  static at::Tensor target(const at::Tensor& x) {
    g_read = hidden(std::numeric_limits<int64_t>::max()) + x.numel();
    return x.clone();
  }
};

struct Race : CustomOperator<Race, at::Tensor(const at::Tensor&)> {
  static constexpr const char* name = "flagos_test::planted_race";
  static constexpr const char* overload_name = "";
  static constexpr const char* schema_str = "planted_race(Tensor x) -> Tensor";
  static at::Tensor target(const at::Tensor& x) {
    g_unguarded += x.numel();
    return x.clone();
  }
};

// Two threads call the operator; both are in it before either ends.
void race() {
  register_custom_operator<Race>();
  const at::Tensor x = at::ones({4}, on_flagos());
  const auto call = [&x] {
    for (int i = 0; i < 1000; ++i) {
      Race::call(x);
    }
  };
  std::thread other(call);
  call();
  other.join();
}

template <class Op>
void call_once() {
  register_custom_operator<Op>();
  Op::call(at::ones({4}, on_flagos()));
}

}  // namespace
}  // namespace flagos::testing

int main(int argc, char** argv) {
  using namespace flagos::testing;
  const std::string_view fault = argc == 2 ? argv[1] : "";
  if (fault == "overflow") {
    call_once<Overflow>();
  } else if (fault == "leak") {
    call_once<Leak>();
  } else if (fault == "undefined") {
    call_once<Undefined>();
  } else if (fault == "race") {
    race();
  } else {
    std::fprintf(stderr, "planted-faults: give one of overflow, leak, undefined, race.\n");
    return 2;
  }
  return 0;
}
