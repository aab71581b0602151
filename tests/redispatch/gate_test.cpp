// The gate against what the dispatcher really does: probe kernels at every key, by itself and in pairs.
#include "redispatch/gate.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "flagos/target.h"

namespace flagos {
namespace {

using c10::DispatchKey;
using c10::DispatchKeySet;

// Which kernel ran last on this thread.
thread_local DispatchKey g_ran = DispatchKey::Undefined;

struct Probe final : c10::OperatorKernel {
  explicit Probe(DispatchKey at) : key(at) {}
  void operator()(const c10::OperatorHandle& /*op*/, DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
    g_ran = key;
    stack->clear();
  }
  DispatchKey key;
};

torch::CppFunction probe(DispatchKey key) {
  return torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Probe>(key));
}

// Every runtime key of a tensor on the CPU target that stands above Dense.
std::vector<DispatchKey> keys_above_dense() {
  std::vector<DispatchKey> keys;
  const auto last = static_cast<uint16_t>(DispatchKey::EndOfFunctionalityKeys);
  for (uint16_t k = static_cast<uint16_t>(DispatchKey::Dense) + 1; k < last; ++k) {
    const auto key = static_cast<DispatchKey>(k);
    keys.push_back(c10::isPerBackendFunctionalityKey(key)
                       ? c10::toRuntimePerBackendFunctionalityKey(key, c10::BackendComponent::CPUBit)
                       : key);
  }
  return keys;
}

// The gate leaves BackendSelect out on purpose (Note [The gate's rule]).
bool compared(DispatchKey key) { return key != DispatchKey::BackendSelect; }

// Exactly these keys and CPU; TensorImpl's constructor would add autograd's and take Python's away.
struct ExactKeys final : c10::TensorImpl {
  explicit ExactKeys(DispatchKeySet keys)
      : c10::TensorImpl(DispatchKeySet(DispatchKey::CPU), caffe2::TypeMeta::Make<float>(), c10::Device(c10::kCPU)) {
    key_set_ = keys | DispatchKeySet(DispatchKey::CPU);
  }
};

at::Tensor tensor_with(DispatchKeySet keys) { return at::Tensor(c10::make_intrusive<ExactKeys>(keys)); }

// Autocast keys are excluded on every thread until autocast is enabled.
bool excluded_by_default(DispatchKey key) { return c10::autocast_dispatch_keyset.has(key); }

std::string overload_of(DispatchKey key) { return std::string(c10::toString(key)); }

// Operators flagos_gate_test::NAME.KEY(Tensor x) -> (), each with a probe at CPU.
class Operators {
 public:
  Operators() : definitions_(torch::Library::FRAGMENT, "flagos_gate_test", std::nullopt, __FILE__, __LINE__) {
    for (const DispatchKey key : keys_above_dense()) {
      libraries_.emplace(
          key, std::make_unique<torch::Library>(torch::Library::IMPL, "flagos_gate_test", key, __FILE__, __LINE__));
    }
    cpu_ = std::make_unique<torch::Library>(torch::Library::IMPL, "flagos_gate_test", DispatchKey::CPU, __FILE__,
                                            __LINE__);
  }

  c10::OperatorHandle define(const std::string& name, const std::string& overload) {
    definitions_.def((name + "." + overload + "(Tensor x) -> ()").c_str());
    cpu_->impl((name + "." + overload).c_str(), probe(DispatchKey::CPU));
    return c10::Dispatcher::singleton().findSchemaOrThrow(("flagos_gate_test::" + name).c_str(), overload.c_str());
  }
  void kernel(const std::string& op, DispatchKey key) { libraries_.at(key)->impl(op.c_str(), probe(key)); }
  void fallthrough(const std::string& op, DispatchKey key) {
    libraries_.at(key)->impl(op.c_str(), torch::CppFunction::makeFallthrough());
  }

 private:
  torch::Library definitions_;
  std::map<DispatchKey, std::unique_ptr<torch::Library>> libraries_;
  std::unique_ptr<torch::Library> cpu_;
};

Operators& operators() {
  static auto* made = new Operators();
  return *made;
}

// What the dispatcher runs next for `op` on a tensor with these keys.
DispatchKey dispatched(const c10::OperatorHandle& op, const at::Tensor& x) {
  g_ran = DispatchKey::Undefined;
  torch::jit::Stack stack{x};
  op.callBoxed(stack);
  return g_ran;
}

void expect_agreement(const c10::OperatorHandle& op, DispatchKeySet keys) {
  const at::Tensor x = tensor_with(keys);
  const DispatchKey next = dispatched(op, x);
  const GateDecision decision = gate(op, x.key_set());
  ASSERT_NE(next, DispatchKey::Undefined) << op.operator_name();
  EXPECT_EQ(decision.fast(), next == DispatchKey::CPU) << op.operator_name() << " keys " << toString(x.key_set());
  if (!decision.fast()) {
    EXPECT_EQ(c10::toFunctionalityKey(decision.key), c10::toFunctionalityKey(next)) << toString(x.key_set());
  }
}

class Gate : public ::testing::Test {
 protected:
  // A plain call must not see what the thread's own state adds for CPU tensors.
  void SetUp() override {
    if (target_dispatch_key() != DispatchKey::CPU) {
      GTEST_SKIP() << "the probes stand at CPU; run with FLAGOS_TARGET=cpu";
    }
  }
};

TEST_F(Gate, KernelAtOneKeyRefuses) {
  for (const DispatchKey key : keys_above_dense()) {
    const auto op = operators().define("one", overload_of(key));
    operators().kernel("one." + overload_of(key), key);
    if (compared(key)) {
      expect_agreement(op, DispatchKeySet(key));
      EXPECT_EQ(gate(op, tensor_with(DispatchKeySet(key)).key_set()).fast(), excluded_by_default(key)) << toString(key);
    }
  }
}

TEST_F(Gate, OperatorsOwnFallthroughPasses) {
  for (const DispatchKey key : keys_above_dense()) {
    const auto op = operators().define("through", overload_of(key));
    operators().fallthrough("through." + overload_of(key), key);
    expect_agreement(op, DispatchKeySet(key));
    EXPECT_TRUE(gate(op, tensor_with(DispatchKeySet(key)).key_set()).fast()) << toString(key);
  }
}

// For each key: a kernel there, fallthroughs everywhere else; every pair of keys on the tensor.
TEST_F(Gate, PairsOfKeys) {
  const auto keys = keys_above_dense();
  for (const DispatchKey stop : keys) {
    const auto op = operators().define("pair", overload_of(stop));
    const std::string name = "pair." + overload_of(stop);
    for (const DispatchKey key : keys) {
      key == stop ? operators().kernel(name, key) : operators().fallthrough(name, key);
    }
    for (const DispatchKey first : keys) {
      for (const DispatchKey second : keys) {
        if (compared(stop)) {
          expect_agreement(op, DispatchKeySet({first, second}));
        }
      }
    }
  }
}

// Kernels at every key: the highest of a pair decides.
TEST_F(Gate, HighestOfTwoDecides) {
  const auto keys = keys_above_dense();
  const auto op = operators().define("all", "keys");
  for (const DispatchKey key : keys) {
    operators().kernel("all.keys", key);
  }
  for (const DispatchKey first : keys) {
    for (const DispatchKey second : keys) {
      if (compared(first) && compared(second)) {
        expect_agreement(op, DispatchKeySet({first, second}));
      }
    }
  }
}

TEST_F(Gate, ThreadStateIncludesAndExcludes) {
  const auto op = operators().define("tls", "neg");
  operators().kernel("tls.neg", DispatchKey::Negative);
  const DispatchKeySet negative(DispatchKey::Negative);
  {
    const c10::impl::IncludeDispatchKeyGuard included(DispatchKey::Negative);
    expect_agreement(op, {});
    EXPECT_FALSE(gate(op, DispatchKeySet(DispatchKey::CPU)).fast());
  }
  {
    const c10::impl::ExcludeDispatchKeyGuard excluded(DispatchKey::Negative);
    expect_agreement(op, negative);
    EXPECT_TRUE(gate(op, negative | DispatchKeySet(DispatchKey::CPU)).fast());
  }
  expect_agreement(op, negative);
}

// A kernel registered, then taken away, while the operator lives: the gate reads the live table.
TEST_F(Gate, FollowsLaterRegistration) {
  const auto op = operators().define("late", "conj");
  operators().fallthrough("late.conj", DispatchKey::Conjugate);
  const DispatchKeySet conjugate(DispatchKey::Conjugate);
  EXPECT_TRUE(gate(op, conjugate | DispatchKeySet(DispatchKey::CPU)).fast());
  {
    torch::Library later(torch::Library::IMPL, "flagos_gate_test", DispatchKey::Conjugate, __FILE__, __LINE__);
    later.impl("late.conj", probe(DispatchKey::Conjugate));
    expect_agreement(op, conjugate);
    EXPECT_EQ(gate(op, conjugate | DispatchKeySet(DispatchKey::CPU)).reason, Reason::kConj);
  }
  expect_agreement(op, conjugate);
  EXPECT_TRUE(gate(op, conjugate | DispatchKeySet(DispatchKey::CPU)).fast());
}

TEST_F(Gate, ReasonNamesTheKey) {
  const std::map<DispatchKey, Reason> expected{
      {DispatchKey::Conjugate, Reason::kConj},        {DispatchKey::Negative, Reason::kNeg},
      {DispatchKey::ZeroTensor, Reason::kZero},       {DispatchKey::Functionalize, Reason::kFunctionalize},
      {DispatchKey::FuncTorchBatched, Reason::kVmap}, {DispatchKey::FuncTorchGradWrapper, Reason::kVmap},
      {DispatchKey::Python, Reason::kPython},         {DispatchKey::AutogradCPU, Reason::kAutograd},
      {DispatchKey::Tracer, Reason::kOther},
  };
  for (const auto& [key, reason] : expected) {
    const auto op = operators().define("reason", overload_of(key));
    operators().kernel("reason." + overload_of(key), key);
    EXPECT_EQ(gate(op, tensor_with(DispatchKeySet(key)).key_set()).reason, reason) << toString(key);
  }
}

// An argument whose backend outranks the target's goes to that backend's kernel.
TEST_F(Gate, OtherBackendRefuses) {
  const auto op = operators().define("device", "cuda");
  const GateDecision decision = gate(op, DispatchKeySet({DispatchKey::CPU, DispatchKey::CUDA}));
  EXPECT_EQ(decision.reason, Reason::kDevice);
  EXPECT_EQ(decision.key, DispatchKey::CUDA);
}

TEST_F(Gate, NoTensorArgumentsMeansTheTarget) {
  const auto op = operators().define("none", "none");
  EXPECT_TRUE(gate(op, DispatchKeySet()).fast());
}

struct AutocastOn {
  AutocastOn() { at::autocast::set_autocast_enabled(at::kCPU, true); }
  ~AutocastOn() { at::autocast::set_autocast_enabled(at::kCPU, false); }
};

// Real backend-wide fallbacks: what PyTorch registers for all operators.
TEST_F(Gate, BackendWideFallbacks) {
  const auto add = c10::Dispatcher::singleton().findSchemaOrThrow("aten::add", "Tensor");
  const DispatchKeySet cpu(DispatchKey::CPU);
  EXPECT_EQ(gate(add, cpu | DispatchKeySet(DispatchKey::Conjugate)).reason, Reason::kConj);
  EXPECT_EQ(gate(add, cpu | DispatchKeySet(DispatchKey::Negative)).reason, Reason::kNeg);
  EXPECT_EQ(gate(add, cpu | DispatchKeySet(DispatchKey::Python)).reason, Reason::kPython);
  const AutocastOn autocast;
  const auto mm = c10::Dispatcher::singleton().findSchemaOrThrow("aten::mm", "");
  EXPECT_EQ(gate(mm, cpu | DispatchKeySet(DispatchKey::AutocastCPU)).reason, Reason::kAutocast);
  EXPECT_TRUE(gate(add, cpu | DispatchKeySet(DispatchKey::AutocastCPU)).fast()) << "a fallthrough for add";
}

TEST(ReasonText, EveryReasonHasCodeAndHelp) {
  for (uint8_t r = 1; r < static_cast<uint8_t>(Reason::kCount); ++r) {
    const auto reason = static_cast<Reason>(r);
    EXPECT_EQ(std::string(reason_code(reason)).substr(0, 3), "FP-");
    EXPECT_GT(std::string(reason_help(reason)).size(), 20U) << reason_code(reason);
  }
  EXPECT_STREQ(reason_code(Reason::kNone), "");
}

}  // namespace
}  // namespace flagos
