// Write annotations read from the schema's text, against PyTorch's own parser for every aten operator.
#include "kernel/schema_marks.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>

#include "kernel/registration.h"

namespace flagos::kernel {
namespace {

static_assert(mutated_arguments("add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor") == 0);
static_assert(mutated_arguments("add_(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)") == 0b1);
static_assert(mutated_arguments("max(Tensor s, *, Tensor(a!) max, Tensor(b!) i) -> (Tensor(a!), Tensor(b!))") == 0b110);
static_assert(mutated_arguments("f(Tensor(a!)[] self, int[2] x=[0, 1], Tensor(b!)? y=None) -> ()") == 0b101);

TEST(SchemaMarks, AgreeWithTheParsedSchemaOfEveryOperator) {
  size_t compared = 0;
  for (const auto& shard : all_shards()) {
    for (const RegisteredOp& op : shard) {
      const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow(op.name, op.overload);
      uint64_t expected = op.policy.mutated_args;  // those that the schema does not tell
      for (size_t i = 0; i < handle.schema().arguments().size(); ++i) {
        const auto* alias = handle.schema().arguments()[i].alias_info();
        expected |= static_cast<uint64_t>(alias != nullptr && alias->isWrite()) << i;
      }
      EXPECT_EQ(op.mutated_args, expected) << op.name << "." << op.overload;
      ++compared;
    }
  }
#ifdef FLAGOS_ALL_OPERATORS
  EXPECT_GT(compared, 2'000U);
#else
  EXPECT_GT(compared, 0U);
#endif
}

}  // namespace
}  // namespace flagos::kernel
