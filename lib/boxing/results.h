// How each result type of an operator is unboxed.
#pragma once

#include <ATen/core/Tensor.h>

#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "boxing/frame.h"

namespace flagos::boxing {

// Note [Unboxing]
// A tensor the target's kernel returned is
//  (a) undefined: as it is;
//  (b) on another device than the target, or asked for on another device than flagos: as it is;
//  (c) one of the call's aliases: the caller's own tensor;
//  (d) fresh, or a view nobody else holds: retagged in place, nothing allocated;
//  (e) held by somebody else as well: a shallow copy, retagged.
at::Tensor unbox_tensor(Frame& frame, at::Tensor&& result);

// A result that is a reference is one of the arguments: the caller's handle of it.
at::Tensor& unbox_reference(Frame& frame, const at::Tensor& result);

template <class R>
struct Result {
  static_assert(std::is_arithmetic_v<R> || std::is_enum_v<R> || std::is_same_v<R, at::Scalar> ||
                    std::is_same_v<R, c10::SymInt> || std::is_same_v<R, c10::SymBool>,
                "flagos: no unboxing rule for this result type; add a specialisation of Result to "
                "lib/boxing/results.h");
  static R unbox(Frame& /*frame*/, R&& result) { return std::move(result); }
};

template <>
struct Result<at::Tensor> {
  static at::Tensor unbox(Frame& frame, at::Tensor&& result) { return unbox_tensor(frame, std::move(result)); }
};

template <>
struct Result<at::Tensor&> {
  static at::Tensor& unbox(Frame& frame, at::Tensor& result) { return unbox_reference(frame, result); }
};

template <>
struct Result<const at::Tensor&> {
  static const at::Tensor& unbox(Frame& frame, const at::Tensor& result) { return unbox_reference(frame, result); }
};

template <>
struct Result<std::vector<at::Tensor>> {
  static std::vector<at::Tensor> unbox(Frame& frame, std::vector<at::Tensor>&& result) {
    for (at::Tensor& tensor : result) {
      tensor = unbox_tensor(frame, std::move(tensor));
    }
    return std::move(result);
  }
};

template <class... Rs>
struct Result<std::tuple<Rs...>> {
  static std::tuple<Rs...> unbox(Frame& frame, std::tuple<Rs...>&& result) {
    return std::apply(
        [&frame](auto&&... each) { return std::tuple<Rs...>(Result<Rs>::unbox(frame, std::forward<Rs>(each))...); },
        std::move(result));
  }
};

}  // namespace flagos::boxing
