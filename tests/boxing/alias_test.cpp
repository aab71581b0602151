// Aliases kept by a kernel, returned by it, thrown through; nothing of the caller's may change.
#include "boxing/alias.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "boxing/custom_operator.h"
#include "boxing/frame.h"
#include "boxing/thread_state.h"
#include "flagos/target.h"
#include "flagos_tensors.h"

namespace flagos {
namespace {

using testing::CustomOperator;
using testing::iota;
using testing::on_flagos;
using testing::register_custom_operator;

std::vector<at::Tensor>& kept() {
  static auto* tensors = new std::vector<at::Tensor>();
  return *tensors;
}

struct Keep : CustomOperator<Keep, at::Tensor(const at::Tensor&)> {
  static constexpr const char* name = "flagos_test::keep";
  static constexpr const char* overload_name = "";
  static constexpr const char* schema_str = "keep(Tensor x) -> Tensor";
  static at::Tensor target(const at::Tensor& x) {
    kept().push_back(x);
    return x + 1;
  }
};

struct KeepMutated : CustomOperator<KeepMutated, void(at::Tensor&)> {
  static constexpr const char* name = "flagos_test::keep_mutated";
  static constexpr const char* overload_name = "";
  static constexpr const char* schema_str = "keep_mutated(Tensor(a!) x) -> ()";
  static void target(at::Tensor& x) {
    x.add_(1);
    kept().push_back(x);
  }
};

struct ReturnArgument : CustomOperator<ReturnArgument, at::Tensor(const at::Tensor&)> {
  static constexpr const char* name = "flagos_test::return_argument";
  static constexpr const char* overload_name = "";
  static constexpr const char* schema_str = "return_argument(Tensor x) -> Tensor";
  static at::Tensor target(const at::Tensor& x) { return x; }
};

struct ReturnView : CustomOperator<ReturnView, at::Tensor(const at::Tensor&)> {
  static constexpr const char* name = "flagos_test::return_view";
  static constexpr const char* overload_name = "";
  static constexpr const char* schema_str = "return_view(Tensor x) -> Tensor";
  static at::Tensor target(const at::Tensor& x) { return x.slice(0, 1, 3); }
};

struct ReturnHeld : CustomOperator<ReturnHeld, at::Tensor(const at::Tensor&)> {
  static constexpr const char* name = "flagos_test::return_held";
  static constexpr const char* overload_name = "";
  static constexpr const char* schema_str = "return_held(Tensor x) -> Tensor";
  static at::Tensor target(const at::Tensor& x) {
    kept().push_back(x * 2);
    return kept().back();
  }
};

struct Throw : CustomOperator<Throw, void(at::Tensor&, const at::Tensor&)> {
  static constexpr const char* name = "flagos_test::throw";
  static constexpr const char* overload_name = "";
  static constexpr const char* schema_str = "throw(Tensor(a!) x, Tensor y) -> ()";
  static void target(at::Tensor& /*x*/, const at::Tensor& /*y*/) { throw std::runtime_error("on purpose"); }
};

// As _cudnn_rnn_flatten_weight does: the schema does not say that the tensors get another storage.
struct ReplaceStorage : CustomOperator<ReplaceStorage, at::Tensor(at::TensorList)> {
  static constexpr const char* name = "flagos_test::replace_storage";
  static constexpr const char* overload_name = "";
  static constexpr const char* schema_str = "replace_storage(Tensor[] xs) -> Tensor";
  static at::Tensor target(at::TensorList xs) {
    at::Tensor buffer = at::cat(at::TensorList(xs));
    int64_t start = 0;
    for (const at::Tensor& x : xs) {
      const int64_t end = start + x.numel();
      at::Tensor(x).set_data(buffer.slice(0, std::exchange(start, end), end));
    }
    return buffer;
  }
};

struct SameImpl : CustomOperator<SameImpl, bool(const at::Tensor&, const at::Tensor&)> {
  static constexpr const char* name = "flagos_test::same_impl";
  static constexpr const char* overload_name = "";
  static constexpr const char* schema_str = "same_impl(Tensor x, Tensor y) -> bool";
  static bool target(const at::Tensor& x, const at::Tensor& y) { return x.is_same(y); }
};

struct Recurse : CustomOperator<Recurse, at::Tensor(const at::Tensor&, const at::Tensor&, int64_t)> {
  static constexpr const char* name = "flagos_test::recurse";
  static constexpr const char* overload_name = "";
  static constexpr const char* schema_str = "recurse(Tensor x, Tensor f, int depth) -> Tensor";
  static at::Tensor target(const at::Tensor& x, const at::Tensor& /*f*/, int64_t depth) {
    if (depth == 0) {
      return x + 1;
    }
    const at::Tensor again = at::ones({2}, on_flagos());  // a flagos op inside a target's kernel
    return Recurse::call(again, again, depth - 1).to(x.device()) + x;
  }
};

std::function<void()> g_on_free;

class AliasTest : public ::testing::Test {
 protected:
  void SetUp() override {
    kept().clear();
    bound_ = thread_state().bound;
  }
  void TearDown() override {
    kept().clear();
    EXPECT_EQ(thread_state().bound, bound_) << "an alias is still bound";
  }
  static at::Tensor host(const at::Tensor& x) { return x.to(at::kCPU); }

 private:
  size_t bound_ = 0;
};

TEST_F(AliasTest, KeptArgumentOutlivesTheCallersTensor) {
  register_custom_operator<Keep>();
  at::Tensor x = at::arange(4, on_flagos().dtype(at::kFloat));
  const at::Tensor expected = host(x);
  Keep::call(x);
  ASSERT_EQ(kept().size(), 1U);
  EXPECT_EQ(x.use_count(), 1) << "the caller's tensor must not be what was kept";
  EXPECT_EQ(x.storage().use_count(), 2) << "the kept alias must own its storage";
  x.reset();
  EXPECT_TRUE(at::equal(host(kept()[0]), expected));
  EXPECT_EQ(kept()[0].device().type(), target_device_type());
  EXPECT_EQ(kept()[0].storage().use_count(), 1);
}

TEST_F(AliasTest, KeptArgumentIsNeverReused) {
  register_custom_operator<Keep>();
  const at::Tensor x = at::arange(4, on_flagos().dtype(at::kFloat));
  Keep::call(x);
  const at::Tensor first = kept()[0];
  for (int i = 0; i < 8; ++i) {
    Keep::call(at::full({2, 2}, i, on_flagos()));
  }
  EXPECT_EQ(first.sizes(), at::IntArrayRef({4}));
  EXPECT_TRUE(at::equal(host(first), host(x)));
}

TEST_F(AliasTest, KeptMutatedArgumentSharesTheStorage) {
  register_custom_operator<KeepMutated>();
  at::Tensor x = at::zeros({3}, on_flagos());
  KeepMutated::call(x);
  EXPECT_TRUE(at::equal(host(x), at::ones({3})));
  x.fill_(7);
  EXPECT_TRUE(at::equal(host(kept()[0]), at::full({3}, 7)));
}

TEST_F(AliasTest, ReturnedArgumentIsTheCallersTensor) {
  register_custom_operator<ReturnArgument>();
  const at::Tensor x = at::ones({3}, on_flagos());
  EXPECT_TRUE(ReturnArgument::call(x).is_same(x));
}

TEST_F(AliasTest, ReturnedViewAliasesTheCallersStorage) {
  register_custom_operator<ReturnView>();
  const at::Tensor x = at::zeros({5}, on_flagos());
  const at::Tensor view = ReturnView::call(x);
  EXPECT_EQ(view.device(), x.device());
  EXPECT_TRUE(view.is_alias_of(x));
  x.fill_(3);
  EXPECT_TRUE(at::equal(host(view), at::full({2}, 3)));
  EXPECT_EQ(view._version(), x._version());
}

TEST_F(AliasTest, ResultHeldElsewhereIsNotRetagged) {
  register_custom_operator<ReturnHeld>();
  const at::Tensor result = ReturnHeld::call(at::ones({3}, on_flagos()));
  EXPECT_EQ(result.device().type(), at::kPrivateUse1);
  EXPECT_EQ(kept()[0].device().type(), target_device_type());
  EXPECT_TRUE(result.is_alias_of(kept()[0]));
}

TEST_F(AliasTest, ExceptionLeavesArgumentsAsTheyWere) {
  register_custom_operator<Throw>();
  at::Tensor x = at::arange(6, on_flagos().dtype(at::kFloat)).view({2, 3});
  const at::Tensor y = at::ones({2, 3}, on_flagos());
  const at::Tensor before = host(x).clone();
  const auto version = x._version();
  const auto holders = x.storage().use_count();
  for (int i = 0; i < 100; ++i) {
    EXPECT_THROW(Throw::call(x, y), std::runtime_error);
  }
  EXPECT_TRUE(at::equal(host(x), before));
  EXPECT_EQ(x._version(), version);
  EXPECT_EQ(x.use_count(), 1);
  EXPECT_EQ(x.storage().use_count(), holders);
  EXPECT_EQ(x.device().type(), at::kPrivateUse1);
  EXPECT_TRUE(at::equal(host(x + y), before + 1)) << "the next call works";
}

TEST_F(AliasTest, OneTensorOneAlias) {
  register_custom_operator<SameImpl>();
  const at::Tensor x = at::ones({3}, on_flagos());
  const at::Tensor other = at::ones({3}, on_flagos());
  EXPECT_TRUE(SameImpl::call(x, x));
  EXPECT_FALSE(SameImpl::call(x, other));
  EXPECT_FALSE(SameImpl::call(x, x.alias()));
}

TEST_F(AliasTest, NestedCallsAThousandDeep) {
  register_custom_operator<Recurse>();
  const at::Tensor x = at::ones({2}, on_flagos());
  const at::Tensor result = Recurse::call(x, x, 1000);
  EXPECT_TRUE(at::equal(host(result), at::full({2}, 1002)));
}

TEST_F(AliasTest, LayoutFlagsEqualTheSources) {
  register_custom_operator<Keep>();
  const at::Tensor base = at::arange(2 * 3 * 4 * 5, on_flagos().dtype(at::kFloat)).view({2, 3, 4, 5});
  const std::vector<at::Tensor> cases{
      base,
      base.contiguous(at::MemoryFormat::ChannelsLast),
      base.transpose(1, 2),
      base.slice(3, 1, 4),
      base.select(0, 1),
      base.expand({2, 3, 4, 5}),
      at::empty({0}, on_flagos()),
      at::ones({}, on_flagos()),
      at::ones({1, 1, 1, 1}, on_flagos()),
      at::ones({2, 1, 3, 4, 5}, on_flagos()).contiguous(at::MemoryFormat::ChannelsLast3d)};
  for (const at::Tensor& x : cases) {
    kept().clear();
    Keep::call(x);
    const at::Tensor& alias = kept()[0];
    EXPECT_EQ(alias.sizes(), x.sizes());
    EXPECT_EQ(alias.strides(), x.strides());
    EXPECT_EQ(alias.storage_offset(), x.storage_offset());
    EXPECT_EQ(alias.numel(), x.numel());
    for (const auto format :
         {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast, at::MemoryFormat::ChannelsLast3d}) {
      EXPECT_EQ(alias.is_contiguous(format), x.is_contiguous(format)) << x.sizes() << x.strides();
    }
    EXPECT_EQ(alias.suggest_memory_format(), x.suggest_memory_format()) << x.sizes() << x.strides();
    EXPECT_EQ(alias.is_non_overlapping_and_dense(), x.is_non_overlapping_and_dense()) << x.sizes() << x.strides();
  }
}

// Freeing a temporary's memory may run code that calls operators, while its frame's aliases are being unbound.
TEST_F(AliasTest, FreeingMemoryMayCallOperators) {
  auto& state = thread_state();
  bool freed = false;
  double sum = 0;
  {
    std::vector<at::Tensor> sources(std::max<size_t>(state.made, 2), at::Tensor());
    for (at::Tensor& source : sources) {
      source = at::ones({2}, on_flagos());
    }
    std::vector<at::Tensor> kept_handles;
    boxing::Frame frame;
    {
      static std::array<float, 2> memory{};
      c10::DataPtr data(
          memory.data(), memory.data(), [](void* /*context*/) { g_on_free(); }, to_target_device(on_flagos().device()));
      g_on_free = [&] {
        freed = true;
        EXPECT_GE(state.made, state.bound) << "a call would take an alias that is no longer there";
        sum = (at::ones({3}, on_flagos()) + 1).sum().item<double>();
      };
      at::Tensor temporary = at::empty({0}, on_flagos().dtype(at::kFloat));
      temporary.set_(c10::Storage(c10::Storage::use_byte_size_t(), sizeof(memory), std::move(data)), 0, {2}, {1});
      frame.box_temporary(temporary);
    }
    for (const at::Tensor& source : sources) {
      kept_handles.push_back(frame.box<false>(source));
    }
  }
  EXPECT_TRUE(freed);
  EXPECT_EQ(sum, 6);
}

TEST_F(AliasTest, UnmarkedArgumentsThatGetAnotherStorage) {
  register_custom_operator<ReplaceStorage, kernel::OpPolicy{.mutated_args = 1}>();
  std::vector<at::Tensor> xs{iota(2), iota(3)};
  const at::Tensor before = xs[0].alias();
  const at::Tensor buffer = ReplaceStorage::call(xs);
  EXPECT_TRUE(xs[0].is_alias_of(buffer) && xs[1].is_alias_of(buffer));
  EXPECT_FALSE(before.is_alias_of(buffer));
  EXPECT_EQ(xs[1].storage_offset(), 2);
  EXPECT_EQ(xs[1].device().type(), at::kPrivateUse1);
  EXPECT_TRUE(host(xs[1]).equal(at::arange(3, at::kFloat)));
  EXPECT_TRUE(host(before).equal(at::arange(2, at::kFloat)));
  EXPECT_EQ(before.storage().use_count(), 1);
}

}  // namespace
}  // namespace flagos
