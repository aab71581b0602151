#include "boxing/frame.h"

#include <exception>
#include <utility>

#include "boxing/alias_inline.h"

namespace flagos::boxing {
namespace {

size_t bucket_of(const c10::TensorImpl* source) noexcept {
  // TensorImpls are 16-byte aligned and about 200 bytes; mix the bits that differ.
  const auto address = reinterpret_cast<uintptr_t>(source) >> 4;
  return (address ^ (address >> 9)) % ThreadState::kIndexBuckets;
}

// A kernel that throws leaves what it had changed by then, a resized output for one, as it does natively.
template <class AnyAlias>
void write_back_if_thrown(AnyAlias& alias) noexcept {
  if (C10_UNLIKELY(std::uncaught_exceptions() > 0)) {
    try {
      alias.write_back();
    } catch (...) {  // the kernel's own error is the one to tell
    }
  }
}

}  // namespace

Frame::~Frame() {
  // Newest first, so that each indexed alias is the top of its bucket.
  for (Alias* alias = first_; alias != nullptr;) {
    Alias* const next = alias->next;
    if (alias->indexed) {
      state_.index[bucket_of(alias->source())] = alias->bucket_next;
      alias->indexed = false;
    }
    if (alias->mutated()) {
      write_back_if_thrown(*alias);
    }
    if (alias->unbind()) {
      if (C10_LIKELY(state_.pooled < ThreadState::kMaxPooled)) {
        alias->next = state_.pool;
        state_.pool = alias;
        ++state_.pooled;
      } else {
        alias->destroy();
      }
    }
    --state_.bound;
    alias = next;
  }
  while (C10_UNLIKELY(special_ != nullptr)) {
    if (special_->mutated) {
      write_back_if_thrown(*special_);
    }
    delete std::exchange(special_, special_->next);
  }
}

inline Alias* Frame::acquire() {
  Alias* alias = state_.pool;
  if (C10_LIKELY(alias != nullptr)) {
    state_.pool = alias->next;
    --state_.pooled;
    return alias;
  }
  return Alias::create();
}

inline Alias* Frame::find_source(const c10::TensorImpl* source) const noexcept {
  if (C10_LIKELY(count_ <= kScan)) {
    for (Alias* alias = first_; alias != nullptr; alias = alias->next) {
      if (alias->source() == source) {
        return alias;
      }
    }
    return nullptr;
  }
  return find_indexed(source);
}

// Beyond kScan aliases: the later ones are in the index, the first kScan at the end of the list.
Alias* Frame::find_indexed(const c10::TensorImpl* source) const noexcept {
  for (Alias* alias = state_.index[bucket_of(source)]; alias != nullptr; alias = alias->bucket_next) {
    if (alias->source() == source && alias->frame == this) {
      return alias;
    }
  }
  for (Alias* alias = last_scanned_; alias != nullptr; alias = alias->next) {
    if (alias->source() == source) {
      return alias;
    }
  }
  return nullptr;
}

void Frame::insert_in_index(Alias* alias) noexcept {
  Alias*& bucket = state_.index[bucket_of(alias->source())];
  alias->bucket_next = std::exchange(bucket, alias);
  alias->frame = this;
  alias->indexed = true;
}

inline Alias* Frame::alias(c10::TensorImpl* source, bool mutated) {
  Alias* alias = find_source(source);
  if (alias == nullptr) {
    alias = acquire();
    alias->bind(source, mutated);
    alias->next = std::exchange(first_, alias);
    ++state_.bound;
    if (C10_UNLIKELY(++count_ >= kScan)) {
      count_ == kScan ? static_cast<void>(last_scanned_ = alias) : insert_in_index(alias);
    }
    keys_ |= alias->key_set().raw_repr();
  } else if (mutated && !alias->mutated()) {
    alias->make_mutated();
  }
  return alias;
}

const std::optional<at::Tensor>* Frame::boxed(const at::Tensor& tensor, bool mutated) {
  c10::TensorImpl* const source = tensor.unsafeGetTensorImpl();
  if (C10_UNLIKELY(!is_boxable(*source))) {
    return not_boxable(tensor, mutated, nullptr);
  }
  return &alias(source, mutated)->optional();
}

const at::Tensor& Frame::box(const at::Tensor& tensor, bool mutated) {
  c10::TensorImpl* const source = tensor.unsafeGetTensorImpl();
  if (C10_UNLIKELY(!is_boxable(*source))) {
    const auto* special = not_boxable(tensor, mutated, &tensor);
    return special != nullptr ? **special : tensor;
  }
  Alias* const boxed = alias(source, mutated);
  boxed->handle = &tensor;
  return boxed->tensor();
}

const at::Tensor& Frame::box_temporary(const at::Tensor& tensor) {
  c10::TensorImpl* const source = tensor.unsafeGetTensorImpl();
  if (!is_boxable(*source)) {
    const auto* special = not_boxable(tensor, /*mutated=*/false, nullptr);
    return special != nullptr ? **special : tensor;
  }
  Alias* const boxed = alias(source, /*mutated=*/false);
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
  for (const Alias* alias = first_; alias != nullptr; alias = alias->next) {
    if (alias == impl) {
      return alias->source();
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
  for (const Alias* alias = first_; alias != nullptr; alias = alias->next) {
    if (alias == impl) {
      return alias->handle;
    }
  }
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

void Frame::write_back() {
  for (Alias* alias = first_; alias != nullptr; alias = alias->next) {
    if (alias->mutated()) {
      alias->write_back();
    }
  }
  for (const SpecialAlias* alias = special_; alias != nullptr; alias = alias->next) {
    if (alias->mutated) {
      alias->write_back();
    }
  }
}

C10_NOINLINE void Frame::throw_device_mismatch() const {
  TORCH_CHECK(false, "Expected all tensors to be on the same device, but found at least two devices, ",
              first_->source()->device(), " and ", bare_target_->device(), "!");
}

}  // namespace flagos::boxing
