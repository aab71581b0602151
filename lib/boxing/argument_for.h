// What the policy asks for the boxing of one argument: a contiguous copy, or leave to come from the host.
#pragma once

#include "boxing/arguments.h"
#include "device/target_constants.h"

namespace flagos::boxing {

// CUDA's kernels take these arguments for contiguous. The CPU's look at the layout of the large ones, which their
// results follow; the small ones (weights, statistics) they read as memory, without looking, so those must fill theirs.
inline at::Tensor made_contiguous(const at::Tensor& tensor) {
  constexpr int64_t kLarge = 3;  // dimensions
  const bool as_it_is = !tensor.defined() || tensor.layout() != at::kStrided ||
                        (!target().has_index && (tensor.dim() >= kLarge || tensor.is_non_overlapping_and_dense()));
  return as_it_is ? tensor : tensor.contiguous();
}

// For an argument the target's kernel wants contiguous: boxes a contiguous copy where the caller's tensor is not.
template <class T>
struct ContiguousArgument {
  static_assert(std::is_same_v<T, const at::Tensor&>, "flagos: only a Tensor argument can be made contiguous");
  ContiguousArgument(Frame& frame, const at::Tensor& value)
      : contiguous_(made_contiguous(value)), boxed_(frame.box_temporary(contiguous_)) {}
  const at::Tensor& get() { return boxed_; }

 private:
  at::Tensor contiguous_;
  const at::Tensor& boxed_;
};

template <>
struct ContiguousArgument<const std::optional<at::Tensor>&> {
  ContiguousArgument(Frame& frame, const std::optional<at::Tensor>& value) {
    if (value.has_value()) {
      contiguous_ = made_contiguous(*value);
      boxed_ = frame.box_temporary(contiguous_);
    }
  }
  const std::optional<at::Tensor>& get() { return boxed_; }

 private:
  at::Tensor contiguous_;
  std::optional<at::Tensor> boxed_;  // a counted handle; it goes before the frame looks at the alias
};

// For an argument that the target takes from the host too.
template <class T, bool Mutated>
struct HostArgument : Argument<T, Mutated> {
  HostArgument(Frame& frame, T value) : HostArgument(frame, std::forward<T>(value), Frame::HostTensors(frame)) {}

 private:
  HostArgument(Frame& frame, T value, const Frame::HostTensors& /*until_boxed*/)
      : Argument<T, Mutated>(frame, std::forward<T>(value)) {}
};

// The Argument that a kernel uses for one argument.
template <class T, bool Mutated, bool Contiguous, bool Host>
using ArgumentFor = std::conditional_t<Contiguous, ContiguousArgument<T>,
                                       std::conditional_t<Host, HostArgument<T, Mutated>, Argument<T, Mutated>>>;

}  // namespace flagos::boxing
