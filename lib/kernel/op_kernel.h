// The one kernel: how every call of an operator on flagos tensors runs.
//
//   flagos op call
//     -> dispatcher -> Kernel::operator()          this template, registered for every op
//     -> box each argument                         Frame, Argument: aliases from a thread-local pool
//     -> gate(keys of boxed args, TLS)             hit: the target's kernel   miss, kill switch, route: full dispatch
//     -> write back metadata of mutated arguments  Frame::write_back
//     -> unbox results                             Result: fresh -> retag in place; an argument -> that argument
#pragma once

#include <memory>
#include <utility>

#include "boxing/argument_for.h"
#include "boxing/frame.h"
#include "boxing/results.h"
#include "kernel/call_path.h"
#include "kernel/registration.h"
#include "kernel/schema_marks.h"
#include "kernel/stack_call.h"

namespace flagos::kernel {

// One instance serves every operator of the same C++ schema, mutated arguments and policy; what differs is in the
// context and in the full dispatch, at::_ops::X::call.
template <class Schema, uint64_t MutatedArgs, OpPolicy Policy>
class Kernel;

template <class R, class... Args, uint64_t MutatedArgs, OpPolicy Policy>
class Kernel<R(Args...), MutatedArgs, Policy> final : public BoxingKernel {
 public:
  using FullDispatch = R (*)(Args...);

  Kernel(const OpContext& context, FullDispatch full_dispatch) : BoxingKernel(context), full_dispatch_(full_dispatch) {}

  R operator()(Args... args) const { return call(std::index_sequence_for<Args...>(), args...); }

 private:
  template <size_t I>
  static constexpr bool is_mutated = ((MutatedArgs >> I) & 1) != 0;
  template <size_t I>
  static constexpr bool is_contiguous = ((Policy.contiguous_args >> I) & 1) != 0;
  template <size_t I>
  static constexpr bool is_host = ((Policy.host_args >> I) & 1) != 0;

  template <size_t... I>
  R call(std::index_sequence<I...> /*indices*/, Args&... args) const {
    boxing::Frame frame;
    return run(frame, boxing::ArgumentFor<Args, is_mutated<I>, is_contiguous<I>, is_host<I>>(
                          frame, std::forward<Args>(args))...);
  }

  // The boxed arguments live until this returns; the frame outlives them.
  template <class... Boxed>
  [[gnu::always_inline]] R run(boxing::Frame& frame, Boxed&&... boxed) const {
    if constexpr (std::is_void_v<R>) {
      call_target(frame, boxed...);
      finish<MutatedArgs != 0>(frame);
    } else {
      R result = call_target(frame, boxed...);
      finish<MutatedArgs != 0>(frame);
      return boxing::Result<R>::unbox(frame, std::forward<R>(result));
    }
  }

  template <class... Boxed>
  [[gnu::always_inline]] R call_target(const boxing::Frame& frame, Boxed&... boxed) const {
    if (takes_fast_path(context_, frame)) {
      return context_.target_kernel->template call<R, Args...>(context_.handle, target_keys(), boxed.get()...);
    }
    return full_dispatch_(boxed.get()...);
  }

  FullDispatch full_dispatch_;
};

template <class K>
c10::KernelFunction make_kernel(const OpContext& context, void (*full_dispatch)()) {
  return c10::KernelFunction::makeFromUnboxedFunctor<false, K>(
      std::make_unique<K>(context, reinterpret_cast<typename K::FullDispatch>(full_dispatch)));
}

// The entry of a generated shard for operator Op, one of at::_ops.
template <class Op, OpPolicy Policy = OpPolicy{}>
RegisteredOp registered_op() {
  constexpr uint64_t kMutated = mutated_arguments(Op::schema_str) | Policy.mutated_args;
  using K = Kernel<typename Op::schema, kMutated, Policy>;
  return {Op::name, Op::overload_name, kMutated, Policy, reinterpret_cast<void (*)()>(&Op::call), &make_kernel<K>};
}

}  // namespace flagos::kernel

// Calls with arguments on a stack (the JIT, torch.ops, boxed fallbacks) share one function for all operators, in place
// of the wrapper that c10 would instantiate for each: half the code and half the time to compile.
template <class Schema, uint64_t MutatedArgs, flagos::kernel::OpPolicy Policy>
struct c10::impl::make_boxed_from_unboxed_functor<flagos::kernel::Kernel<Schema, MutatedArgs, Policy>, false> final {
  static void call(OperatorKernel* kernel, const OperatorHandle& /*op*/, DispatchKeySet /*keys*/, Stack* stack) {
    flagos::kernel::call_on_stack(static_cast<flagos::kernel::BoxingKernel*>(kernel)->context(), *stack);
  }
};
