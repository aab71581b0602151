// The one kernel: how every call of an operator on flagos tensors runs.
//
//   flagos op call
//     -> dispatcher -> Kernel<Op>::call            this template, registered for every op
//     -> box each argument                         Frame, Argument: aliases from a thread-local pool
//     -> gate(keys of boxed args, TLS)             hit: redispatch   miss, kill switch or route: full dispatch
//     -> write back metadata of mutated arguments  Frame::write_back
//     -> unbox results                             Result: fresh -> retag in place; an argument -> that argument
#pragma once

#include <c10/util/TypeList.h>

#include <tuple>
#include <utility>

#include "boxing/arguments.h"
#include "boxing/contiguous.h"
#include "boxing/frame.h"
#include "boxing/results.h"
#include "kernel/call_path.h"
#include "kernel/registration.h"
#include "kernel/schema_marks.h"

namespace flagos::kernel {

template <class Op, OpPolicy Policy, class Schema>
struct Kernel;

template <class Op, OpPolicy Policy, class R, class... Args>
struct Kernel<Op, Policy, R(Args...)> {
  static R call(Args... args) { return call_with(std::index_sequence_for<Args...>(), std::forward<Args>(args)...); }

  static void set_context(OpContext& context) {
    context_ = &context;
    new (&typed_.value) Typed(context.handle.typed<R(Args...)>());
  }

 private:
  using Typed = c10::TypedOperatorHandle<R(Args...)>;
  static constexpr uint64_t kMutated = mutated_arguments(Op::schema_str);
  template <size_t I>
  static constexpr bool is_mutated = ((kMutated >> I) & 1) != 0;
  template <size_t I>
  static constexpr bool is_contiguous = ((Policy.contiguous_args >> I) & 1) != 0;

  template <size_t... I>
  static R call_with(std::index_sequence<I...> /*indices*/, Args... args) {
    boxing::Frame frame(Policy.accepts_host_tensors);
    std::tuple<boxing::ArgumentFor<Args, is_mutated<I>, is_contiguous<I>>...> boxed{
        boxing::Init<Args>{frame, std::forward<Args>(args)}...};
    const bool fast = takes_fast_path(*context_, frame);
    if constexpr (std::is_void_v<R>) {
      fast ? typed().redispatch(target_keys(), std::get<I>(boxed).get()...) : Op::call(std::get<I>(boxed).get()...);
      finish<kMutated != 0>(frame);
    } else {
      R result = fast ? typed().redispatch(target_keys(), std::get<I>(boxed).get()...)
                      : Op::call(std::get<I>(boxed).get()...);
      finish<kMutated != 0>(frame);
      return boxing::Result<R>::unbox(frame, std::forward<R>(result));
    }
  }

  static const Typed& typed() { return typed_.value; }

  // Set once at registration, before the kernel can be called; no guard is needed to read them.
  union LateTyped {
    LateTyped() {}
    ~LateTyped() {}
    Typed value;
  };
  static inline OpContext* context_ = nullptr;
  static inline LateTyped typed_;
};

// The entry of a generated shard for operator Op.
template <class Op, OpPolicy Policy = OpPolicy{}>
RegisteredOp registered_op() {
  using K = Kernel<Op, Policy, typename Op::schema>;
  return {Op::name, Op::overload_name, [] { return torch::CppFunction(TORCH_FN(K::call)); }, &K::set_context};
}

}  // namespace flagos::kernel
