// How a kernel's argument tuple is built: boxing in order, with a contiguous copy where the policy asks for one.
#pragma once

#include "boxing/arguments.h"

namespace flagos::boxing {

// A frame and a value: what an Argument is built from inside std::tuple's constructor.
template <class T>
struct Init {
  Frame& frame;
  T value;
};

// For an argument the target's kernel wants contiguous: boxes a contiguous copy where the caller's tensor is not.
template <class T>
struct ContiguousArgument {
  static_assert(std::is_same_v<T, const at::Tensor&>, "flagos: only a Tensor argument can be made contiguous");
  ContiguousArgument(Frame& frame, const at::Tensor& value)
      : contiguous_(value.defined() ? value.contiguous() : value), boxed_(&contiguous_) {
    if (Alias* alias = frame.alias(contiguous_, /*mutated=*/false)) {
      alias->own_storage();  // the copy ends before the frame does
      boxed_ = &alias->tensor();
    }
  }
  const at::Tensor& get() { return *boxed_; }

 private:
  at::Tensor contiguous_;
  const at::Tensor* boxed_;
};

template <class T, bool Mutated, bool Contiguous>
struct ArgumentFor : std::conditional_t<Contiguous, ContiguousArgument<T>, Argument<T, Mutated>> {
  using Base = std::conditional_t<Contiguous, ContiguousArgument<T>, Argument<T, Mutated>>;
  ArgumentFor(Init<T>&& init) : Base(init.frame, std::forward<T>(init.value)) {}  // NOLINT: implicit for std::tuple
};

}  // namespace flagos::boxing
