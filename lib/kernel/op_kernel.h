// The one kernel: how every call of an operator on flagos tensors runs.
//
//   flagos op call
//     -> dispatcher -> Kernel<Op>::operator()      this template, registered for every op
//     -> box each argument                         Frame, Argument: aliases from a thread-local pool
//     -> gate(keys of boxed args, TLS)             hit: the target's kernel   miss, kill switch, route: full dispatch
//     -> write back metadata of mutated arguments  Frame::write_back
//     -> unbox results                             Result: fresh -> retag in place; an argument -> that argument
#pragma once

#include <memory>
#include <tuple>
#include <utility>

#include "boxing/arguments.h"
#include "boxing/contiguous.h"
#include "boxing/frame.h"
#include "boxing/results.h"
#include "kernel/call_path.h"
#include "kernel/registration.h"
#include "kernel/schema_marks.h"
#include "kernel/stack_call.h"

namespace flagos::kernel {

template <class Op, OpPolicy Policy, class Schema = typename Op::schema>
class Kernel;

template <class Op, OpPolicy Policy, class R, class... Args>
class Kernel<Op, Policy, R(Args...)> final : public BoxingKernel {
 public:
  using BoxingKernel::BoxingKernel;

  R operator()(Args... args) const { return call(std::index_sequence_for<Args...>(), std::forward<Args>(args)...); }

 private:
  static constexpr uint64_t kMutated = mutated_arguments(Op::schema_str);
  template <size_t I>
  static constexpr bool is_mutated = ((kMutated >> I) & 1) != 0;
  template <size_t I>
  static constexpr bool is_contiguous = ((Policy.contiguous_args >> I) & 1) != 0;

  template <size_t... I>
  R call(std::index_sequence<I...> /*indices*/, Args... args) const {
    boxing::Frame frame(Policy.accepts_host_tensors);
    std::tuple<boxing::ArgumentFor<Args, is_mutated<I>, is_contiguous<I>>...> boxed{
        boxing::Init<Args>{frame, std::forward<Args>(args)}...};
    const auto run = [&]() -> R {
      if (takes_fast_path(context_, frame)) {
        return context_.target_kernel->template call<R, Args...>(context_.handle, target_keys(),
                                                                 std::get<I>(boxed).get()...);
      }
      return Op::call(std::get<I>(boxed).get()...);
    };
    if constexpr (std::is_void_v<R>) {
      run();
      finish<kMutated != 0>(frame);
    } else {
      R result = run();
      finish<kMutated != 0>(frame);
      return boxing::Result<R>::unbox(frame, std::forward<R>(result));
    }
  }
};

// The entry of a generated shard for operator Op.
template <class Op, OpPolicy Policy = OpPolicy{}>
RegisteredOp registered_op() {
  return {Op::name, Op::overload_name, Policy, [](const OpContext& context) {
            return c10::KernelFunction::makeFromUnboxedFunctor<false, Kernel<Op, Policy>>(
                std::make_unique<Kernel<Op, Policy>>(context));
          }};
}

}  // namespace flagos::kernel

// Calls with arguments on a stack (the JIT, torch.ops, boxed fallbacks) share one function for all operators, in place
// of the wrapper that c10 would instantiate for each: half the code and half the time to compile.
template <class Op, flagos::kernel::OpPolicy Policy, class Schema>
struct c10::impl::make_boxed_from_unboxed_functor<flagos::kernel::Kernel<Op, Policy, Schema>, false> final {
  static void call(OperatorKernel* kernel, const OperatorHandle& /*op*/, DispatchKeySet /*keys*/, Stack* stack) {
    flagos::kernel::call_on_stack(*static_cast<flagos::kernel::BoxingKernel*>(kernel), *stack);
  }
};
