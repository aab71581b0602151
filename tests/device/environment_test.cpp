#include "device/environment.h"

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

namespace flagos {
namespace {

// Sets a variable and puts the old value back.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) {
      old_ = old;
    }
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { old_.has_value() ? ::setenv(name_, old_->c_str(), 1) : ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST(Environment, SwitchesAreOnForAnyValueButZero) {
  for (const auto& [value, expected] :
       {std::pair{"1", true}, {"true", true}, {"no", true}, {"00", true}, {"0", false}, {"", false}}) {
    const Variable variable("FLAGOS_NO_REDISPATCH", value);
    EXPECT_EQ(read_environment().redispatch_off, expected) << '"' << value << '"';
  }
}

TEST(Environment, ChoicesAreRead) {
  const Variable target("FLAGOS_TARGET", "cpu");
  const Variable fallback("FLAGOS_FALLBACK", "error");
  EXPECT_EQ(read_environment().target, TargetChoice::kCpu);
  EXPECT_EQ(read_environment().fallback, FallbackPolicy::kError);
}

TEST(Environment, EmptyMeansDefault) {
  const Variable target("FLAGOS_TARGET", "");
  EXPECT_EQ(read_environment().target, TargetChoice::kAuto);
}

TEST(Environment, RoutesOfSingleOperators) {
  const Variable second("FLAGOS_OP_mm", "cpu");
  const Variable first("FLAGOS_OP_add__Tensor", "a=b");
  const Variable empty("FLAGOS_OP_relu", "");
  const Variable other("FLAGOS_OPERATOR", "cpu");
  const std::vector<std::pair<std::string, std::string>> expected{{"add__Tensor", "a=b"}, {"mm", "cpu"}};
  EXPECT_EQ(read_environment().op_routes, expected);
  EXPECT_EQ(read_environment().backend_config, "");
  const Variable file("FLAGOS_BACKEND_CONFIG", "routes.conf");
  EXPECT_EQ(read_environment().backend_config, "routes.conf");
}

TEST(Environment, GarbageNamesVariableValueAndChoices) {
  const std::string very_long(100'000, 'x');
  for (const std::string& value : {std::string("gpu"), std::string("CPU"), std::string("\xff\xfe"), very_long}) {
    const Variable target("FLAGOS_TARGET", value);
    try {
      read_environment();
      FAIL() << "no error";
    } catch (const c10::Error& error) {
      const std::string text = error.what_without_backtrace();
      EXPECT_NE(text.find("FLAGOS_TARGET"), std::string::npos);
      EXPECT_NE(text.find("auto, cpu, cuda"), std::string::npos);
      EXPECT_LT(text.size(), 400U);
      for (const char c : text) {
        EXPECT_TRUE(c >= ' ' && c <= '~') << "byte " << static_cast<int>(c);
      }
    }
  }
}

}  // namespace
}  // namespace flagos
