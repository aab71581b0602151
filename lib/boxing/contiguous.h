// Boxing with a contiguous copy, where the policy asks for one.
#pragma once

#include "boxing/arguments.h"

namespace flagos::boxing {

// For an argument the target's kernel wants contiguous: boxes a contiguous copy where the caller's tensor is not.
template <class T>
struct ContiguousArgument {
  static_assert(std::is_same_v<T, const at::Tensor&>, "flagos: only a Tensor argument can be made contiguous");
  ContiguousArgument(Frame& frame, const at::Tensor& value)
      : contiguous_(value.defined() && value.layout() == at::kStrided ? value.contiguous() : value),
        boxed_(frame.box_temporary(contiguous_)) {}
  const at::Tensor& get() { return boxed_; }

 private:
  at::Tensor contiguous_;
  const at::Tensor& boxed_;
};

// The Argument that a kernel uses for one argument.
template <class T, bool Mutated, bool Contiguous>
using ArgumentFor = std::conditional_t<Contiguous, ContiguousArgument<T>, Argument<T, Mutated>>;

}  // namespace flagos::boxing
