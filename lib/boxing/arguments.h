// How each argument type of an operator is boxed: one specialisation of Argument per type.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/IListRef.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>
#include <c10/core/Stream.h>
#include <c10/util/SmallVector.h>

#include <array>
#include <optional>
#include <type_traits>

#include "boxing/frame.h"
#include "boxing/torch_releases.h"
#include "device/generator.h"

namespace flagos::boxing {

// Types that hold no tensor, device or generator: passed to the target as they are.
template <class T>
inline constexpr bool is_plain_v = std::is_arithmetic_v<T> || std::is_enum_v<T>;
template <class T>
  requires std::is_same_v<T, c10::Scalar> || std::is_same_v<T, c10::SymInt> || std::is_same_v<T, c10::SymBool> ||
      std::is_same_v<T, c10::string_view> || std::is_same_v<T, std::string_view> ||
      std::is_same_v<T, at::OptionalIntArrayRef> || std::is_same_v<T, at::OptionalSymIntArrayRef> || is_dimname_v<T>
inline constexpr bool is_plain_v<T> = true;
template <class T>
inline constexpr bool is_plain_v<c10::ArrayRef<T>> = is_plain_v<T>;
template <class T>
inline constexpr bool is_plain_v<std::optional<T>> = is_plain_v<T>;
template <class T, size_t N>
inline constexpr bool is_plain_v<std::array<T, N>> = is_plain_v<T>;

// Argument<T, Mutated>(frame, value) boxes an argument of C++ type T; get() is what the target's kernel receives.
// Mutated: whether the schema marks the argument (x!). A stateful Argument must outlive the kernel and end before the
// frame does.
template <class T, bool Mutated>
struct Argument {
  static_assert(is_plain_v<std::remove_cvref_t<T>>,
                "flagos: no boxing rule for this argument type; add a specialisation of Argument to "
                "lib/boxing/arguments.h");
  Argument(Frame& /*frame*/, T value) : value_(std::forward<T>(value)) {}
  T get() { return std::forward<T>(value_); }

 private:
  T value_;
};

template <bool Mutated>
struct Argument<const at::Tensor&, Mutated> {
  Argument(Frame& frame, const at::Tensor& value) : boxed_(frame.box<Mutated>(value)) {}
  const at::Tensor& get() { return boxed_; }

 private:
  const at::Tensor& boxed_;
};

template <bool Mutated>
struct Argument<at::Tensor&, Mutated> {
  Argument(Frame& frame, at::Tensor& value) : boxed_(const_cast<at::Tensor&>(frame.box<true>(value))) {}
  at::Tensor& get() { return boxed_; }

 private:
  at::Tensor& boxed_;
};

template <bool Mutated>
struct Argument<const std::optional<at::Tensor>&, Mutated> {
  Argument(Frame& frame, const std::optional<at::Tensor>& value) : boxed_(&value) {
    if (value.has_value()) {
      if (const auto* boxed = frame.boxed(*value, Mutated)) {
        boxed_ = boxed;
      }
    }
  }
  const std::optional<at::Tensor>& get() { return *boxed_; }

 private:
  const std::optional<at::Tensor>* boxed_;
};

// A list of handles that count no references: the aliases (or the caller's tensors) outlive it.
class BorrowedList {
 public:
  explicit BorrowedList(size_t size) { handles_.reserve(size); }
  ~BorrowedList() {
    for (at::Tensor& handle : handles_) {
      Traits::destroyBorrow(handle);
    }
  }
  BorrowedList(const BorrowedList&) = delete;
  BorrowedList& operator=(const BorrowedList&) = delete;
  BorrowedList(BorrowedList&&) = delete;
  BorrowedList& operator=(BorrowedList&&) = delete;

  void push_back(const at::Tensor& tensor) { handles_.push_back(Traits::createBorrow(tensor)); }
  at::TensorList view() const { return handles_; }

 private:
  using Traits = c10::MaybeOwnedTraits<at::Tensor>;
  c10::SmallVector<at::Tensor, 8> handles_;
};

template <bool Mutated>
struct Argument<at::TensorList, Mutated> {
  Argument(Frame& frame, at::TensorList value) : boxed_(value.size()) {
    for (const at::Tensor& tensor : value) {
      boxed_.push_back(frame.box<Mutated>(tensor));
    }
  }
  at::TensorList get() { return boxed_.view(); }

 private:
  BorrowedList boxed_;
};

template <bool Mutated>
struct Argument<const at::ITensorListRef&, Mutated> {
  Argument(Frame& frame, const at::ITensorListRef& value) : handles_(value.size()), boxed_(at::TensorList()) {
    // Walked once: a lazily materialised list may make its tensors anew on each walk, so each is kept.
    kept_.reserve(value.size());
    for (const at::Tensor& tensor : value) {
      kept_.push_back(tensor);
    }
    for (const at::Tensor& tensor : kept_) {
      handles_.push_back(frame.box<Mutated>(tensor));
    }
    boxed_ = at::ITensorListRef(handles_.view());
  }
  const at::ITensorListRef& get() { return boxed_; }

 private:
  c10::SmallVector<at::Tensor, 8> kept_;
  BorrowedList handles_;
  at::ITensorListRef boxed_;
};

template <bool Mutated>
struct Argument<const c10::List<std::optional<at::Tensor>>&, Mutated> {
  // The list owns its elements (kernels copy it), so boxed elements are counted handles.
  // The caller's list keeps the sources alive.
  Argument(Frame& frame, const c10::List<std::optional<at::Tensor>>& value) {
    boxed_.reserve(value.size());
    for (size_t i = 0; i < value.size(); ++i) {
      std::optional<at::Tensor> element = value.get(i);
      if (element.has_value()) {
        if (const auto* boxed = frame.boxed(*element, Mutated)) {
          element = *boxed;
        }
      }
      boxed_.push_back(std::move(element));
    }
  }
  const c10::List<std::optional<at::Tensor>>& get() { return boxed_; }

 private:
  c10::List<std::optional<at::Tensor>> boxed_;
};

template <bool Mutated>
struct Argument<c10::Device, Mutated> {
  Argument(Frame& frame, c10::Device value) : boxed_(frame.box_device(value)) {}
  c10::Device get() { return boxed_; }

 private:
  c10::Device boxed_;
};

template <bool Mutated>
struct Argument<std::optional<c10::Device>, Mutated> {
  Argument(Frame& frame, std::optional<c10::Device> value) {
    if (value.has_value()) {
      boxed_ = frame.box_device(*value);
    }
  }
  std::optional<c10::Device> get() { return boxed_; }

 private:
  std::optional<c10::Device> boxed_;
};

template <bool Mutated>
struct Argument<std::optional<at::Generator>, Mutated> {
  Argument(Frame& frame, std::optional<at::Generator> value) : boxed_(std::move(value)) {
    if (boxed_.has_value() && boxed_->defined()) {
      boxed_ = device::to_target_generator(*boxed_);
      frame.add_keys(boxed_->key_set().raw_repr());
    }
  }
  std::optional<at::Generator> get() { return std::move(boxed_); }

 private:
  std::optional<at::Generator> boxed_;
};

template <bool Mutated>
struct Argument<c10::Stream, Mutated> {
  Argument(Frame& /*frame*/, c10::Stream value)
      : boxed_(c10::Stream(c10::Stream::UNSAFE, to_target_device(value.device()), value.id())) {}
  c10::Stream get() { return boxed_; }

 private:
  c10::Stream boxed_;
};

// Storages carry the target's device already.
template <bool Mutated>
struct Argument<c10::Storage, Mutated> {
  Argument(Frame& /*frame*/, c10::Storage value) : value_(std::move(value)) {}
  c10::Storage get() { return std::move(value_); }

 private:
  c10::Storage value_;
};

}  // namespace flagos::boxing
