#include "boxing/frame.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "boxing/alias_inline.h"

namespace flagos::boxing {
namespace {

size_t bucket_of(const c10::TensorImpl* source) noexcept {
  // TensorImpls are 16-byte aligned and about 200 bytes; mix the bits that differ.
  const auto address = reinterpret_cast<uintptr_t>(source) >> 4;
  return (address ^ (address >> 9)) % ThreadState::kIndexBuckets;
}

// A free alias for the top of the stack, with room for it.
C10_NOINLINE void grow(ThreadState& state) {
  if (state.made == state.room) {
    const uint32_t room = std::max<uint32_t>(16, state.room * 2);
    auto* const aliases = static_cast<Alias**>(std::realloc(state.aliases, room * sizeof(Alias*)));
    if (aliases == nullptr) {
      throw std::bad_alloc();
    }
    state.aliases = aliases;
    state.room = room;
  }
  state.aliases[state.made] = Alias::create();
  ++state.made;
}

// Unbinds the top alias. One that somebody kept leaves the pool, another free one takes its place. The alias counts as
// bound until it is unbound: memory freed by that may run code that calls operators, whose frames bind above it.
[[gnu::always_inline]] inline void unbind_top(ThreadState& state) noexcept {
  const uint32_t top = state.bound - 1;
  const bool free = state.aliases[top]->unbind();
  state.bound = top;
  if (C10_UNLIKELY(!free)) {
    state.aliases[top] = state.aliases[--state.made];
  }
}

}  // namespace

// A kernel that throws leaves what it had changed by then, a resized output for one, as it does natively. Otherwise
// write_back() has left nothing to do.
C10_NOINLINE void Frame::write_back_thrown() noexcept {
  try {
    write_back();
  } catch (...) {  // the kernel's own error is the one to tell
  }
}

void Frame::unbind_all() noexcept {
  if (C10_UNLIKELY(mutated_ != nullptr)) {
    write_back_thrown();
  }
  if (C10_UNLIKELY(state_.bound - base_ > kScan)) {
    unbind_indexed();
  }
  while (state_.bound != base_) {
    unbind_top(state_);
  }
}

// Takes the aliases beyond the first kScan out of the index, newest first: each is the top of its bucket.
C10_NOINLINE void Frame::unbind_indexed() noexcept {
  while (state_.bound - base_ > kScan) {
    const Alias* const alias = state_.aliases[state_.bound - 1];
    state_.index[bucket_of(alias->source())] = alias->bucket_next;
    unbind_top(state_);
  }
  while (state_.made > std::max(ThreadState::kMaxPooled, state_.bound)) {
    state_.aliases[--state_.made]->destroy_free();
  }
}

C10_NOINLINE void Frame::delete_special() noexcept {
  write_back_thrown();
  while (special_ != nullptr) {
    delete std::exchange(special_, special_->next);
  }
}

Alias* Frame::find_source(const c10::TensorImpl* source) const noexcept {
  auto* alias = first();
  for (auto* const end = std::min(last(), first() + kScan); alias != end; ++alias) {
    if ((*alias)->source() == source) {
      return *alias;
    }
  }
  if (alias == last()) {
    return nullptr;
  }
  for (Alias* indexed = state_.index[bucket_of(source)]; indexed != nullptr; indexed = indexed->bucket_next) {
    if (indexed->source() == source && indexed->frame == this) {
      return indexed;
    }
  }
  return nullptr;
}

void Frame::insert_in_index(Alias* alias) noexcept {
  Alias*& bucket = state_.index[bucket_of(alias->source())];
  alias->bucket_next = std::exchange(bucket, alias);
  alias->frame = this;
}

// Binds a free alias in the usual case, without a call: the source is not bound yet, one of the first kScan, and plain.
// False: nothing is done.
[[gnu::always_inline]] inline bool Frame::bind_at_once(Alias*& alias, c10::TensorImpl* source,
                                                       const at::Tensor* handle) {
  const uint32_t bound = state_.bound;
  if (C10_UNLIKELY(bound == state_.made || bound - base_ >= kScan)) {
    return false;
  }
  Alias* const* const aliases = state_.aliases;
  for (uint32_t i = base_; i != bound; ++i) {
    if (C10_UNLIKELY(aliases[i]->source() == source)) {
      return false;
    }
  }
  alias = aliases[bound];
  if (C10_UNLIKELY(!alias->can_bind_inline(*source))) {
    return false;
  }
  alias->bind_inline(source, handle);
  keys_ |= alias->key_set().raw_repr();
  state_.bound = bound + 1;
  return true;
}

// The same in all cases. Throws std::bad_alloc.
C10_NOINLINE Alias* Frame::bind(c10::TensorImpl* source, const at::Tensor* handle) {
  if (Alias* const found = find_source(source)) {
    if (handle != nullptr) {
      found->handle = handle;
    }
    return found;
  }
  if (state_.bound == state_.made) {
    grow(state_);
  }
  Alias* const alias = state_.aliases[state_.bound];
  alias->bind(source, handle);
  keys_ |= alias->key_set().raw_repr();
  if (++state_.bound - base_ > kScan) {
    insert_in_index(alias);
  }
  return alias;
}

[[gnu::always_inline]] inline void Frame::mark_mutated(Alias* alias) noexcept {
  if (C10_LIKELY(!alias->mutated())) {
    alias->make_mutated();
    alias->next_mutated = std::exchange(mutated_, alias);
  }
}

template <bool Mutated>
C10_NOINLINE const at::Tensor& Frame::box_unusual(const at::Tensor& tensor) {
  c10::TensorImpl* const source = tensor.unsafeGetTensorImpl();
  if (!is_boxable(*source)) {
    const auto* special = not_boxable(tensor, Mutated, &tensor);
    return special != nullptr ? **special : tensor;
  }
  Alias* const boxed = bind(source, &tensor);
  if constexpr (Mutated) {
    mark_mutated(boxed);
  }
  return boxed->tensor();
}

template <bool Mutated>
const at::Tensor& Frame::box(const at::Tensor& tensor) {
  c10::TensorImpl* const source = tensor.unsafeGetTensorImpl();
  Alias* boxed = nullptr;
  if (C10_UNLIKELY(!is_boxable_at_once(*source) || !bind_at_once(boxed, source, &tensor))) {
    return box_unusual<Mutated>(tensor);
  }
  if constexpr (Mutated) {
    mark_mutated(boxed);
  }
  return boxed->tensor();
}
template const at::Tensor& Frame::box<false>(const at::Tensor& tensor);
template const at::Tensor& Frame::box<true>(const at::Tensor& tensor);

const std::optional<at::Tensor>* Frame::boxed(const at::Tensor& tensor, bool mutated) {
  c10::TensorImpl* const source = tensor.unsafeGetTensorImpl();
  if (C10_UNLIKELY(!is_boxable_at_once(*source)) && !is_boxable(*source)) {
    return not_boxable(tensor, mutated, nullptr);
  }
  Alias* boxed = nullptr;
  if (C10_UNLIKELY(!bind_at_once(boxed, source, nullptr))) {
    boxed = bind(source, nullptr);
  }
  if (mutated) {
    mark_mutated(boxed);
  }
  return &boxed->optional();
}

const at::Tensor& Frame::box_temporary(const at::Tensor& tensor) {
  c10::TensorImpl* const source = tensor.unsafeGetTensorImpl();
  if (!is_boxable(*source)) {
    const auto* special = not_boxable(tensor, /*mutated=*/false, nullptr);
    return special != nullptr ? **special : tensor;
  }
  Alias* const boxed = bind(source, nullptr);
  boxed->own_references();
  return boxed->tensor();
}

C10_NOINLINE const std::optional<at::Tensor>* Frame::not_boxable(const at::Tensor& tensor, bool mutated,
                                                                 const at::Tensor* handle) {
  const c10::TensorImpl* const source = tensor.unsafeGetTensorImpl();
  if (is_special(*source)) {
    return boxed_special(tensor, mutated, handle);
  }
  keys_ |= source->key_set().raw_repr();
  if (tensor.defined() && source->device_type() == target().type && source->dim() != 0) {
    bare_target_ = source;
  }
  return nullptr;
}

const std::optional<at::Tensor>* Frame::boxed_special(const at::Tensor& tensor, bool mutated,
                                                      const at::Tensor* handle) {
  SpecialAlias* alias = special_;
  while (alias != nullptr && alias->source != tensor.unsafeGetTensorImpl()) {
    alias = alias->next;
  }
  if (alias == nullptr) {
    alias = special_ = new SpecialAlias(tensor, mutated, special_);
    keys_ |= alias->boxed->key_set().raw_repr();
  }
  alias->mutated |= mutated;
  if (handle != nullptr) {
    alias->handle = handle;
  }
  return &alias->boxed;
}

c10::TensorImpl* Frame::source_of(const c10::TensorImpl* impl) const noexcept {
  for (auto* alias = first(); alias != last(); ++alias) {
    if (*alias == impl) {
      return (*alias)->source();
    }
  }
  for (const SpecialAlias* alias = special_; alias != nullptr; alias = alias->next) {
    if (alias->boxed->unsafeGetTensorImpl() == impl) {
      return alias->source;
    }
  }
  return nullptr;
}

const at::Tensor* Frame::handle_of(const c10::TensorImpl* impl) const noexcept {
  Alias* const* const aliases = state_.aliases;
  for (uint32_t i = base_, bound = state_.bound; i != bound; ++i) {
    if (aliases[i] == impl) {
      return aliases[i]->handle;
    }
  }
  return C10_LIKELY(special_ == nullptr) ? nullptr : handle_of_special(impl);
}

C10_NOINLINE const at::Tensor* Frame::handle_of_special(const c10::TensorImpl* impl) const noexcept {
  for (const SpecialAlias* alias = special_; alias != nullptr; alias = alias->next) {
    if (alias->boxed->unsafeGetTensorImpl() == impl) {
      return alias->handle;
    }
  }
  return nullptr;
}

c10::Device Frame::box_device(c10::Device device) {
  TORCH_CHECK(target().has_index || device.type() != c10::DeviceType::PrivateUse1 || device.index() <= 0,
              "flagos: there is no device ", device, "; with the CPU as the target there is flagos:0 only.");
  foreign_device_ |= device.type() != c10::DeviceType::PrivateUse1;
  return to_target_device(device);
}

void Frame::write_back_aliases() {
  do {
    std::exchange(mutated_, mutated_->next_mutated)->write_back();
  } while (C10_UNLIKELY(mutated_ != nullptr));
}

C10_NOINLINE void Frame::write_back_special() {
  for (SpecialAlias* alias = special_; alias != nullptr; alias = alias->next) {
    if (std::exchange(alias->mutated, false)) {
      alias->write_back();
    }
  }
}

C10_NOINLINE void Frame::throw_device_mismatch() const {
  TORCH_CHECK(false, "Expected all tensors to be on the same device, but found at least two devices, ",
              (*first())->source()->device(), " and ", bare_target_->device(), "!");
}

}  // namespace flagos::boxing
