// Alias's hot path, for the files that run it (frame.cpp, and alias.cpp for the unusual cases) to inline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "boxing/alias.h"
#include "boxing/tensor_impl_members.h"
#include "boxing/torch_releases.h"

namespace flagos::boxing {

// The free alias's storage and version counter are overwritten, not assigned: see Note [Boxed aliases].
[[gnu::always_inline]] inline void Alias::bind_common(c10::TensorImpl* source, const at::Tensor* caller) noexcept {
  const uint64_t source_keys = (source->*Members::key_set).raw_repr();
  const auto index = static_cast<c10::DeviceIndex>((source->*Members::device)->index() | target().index_mask);
  *device_opt_ = c10::Device(target().type, index);
  bound_keys_ = (source_keys & ~kAutocastBits) ^ target().swap_bits;
  key_set_ = from_raw(bound_keys_);
  overwrite_borrowed(storage_, source->*Members::storage);
  overwrite_borrowed(version_counter_, source->*Members::version_counter);
  owns_storage_ = owns_version_ = mutated_ = false;
  source_ = source;
  handle = caller;
}

// A Python subclass's own answers are not the alias's.
[[gnu::always_inline]] inline void Alias::drop_custom_answers() noexcept {
  sizes_strides_policy_ = 0;
  custom_sizes_strides_ = 0;
  python_custom_sizes_strides_ = 0;
  device_policy_ = layout_policy_ = custom_device_ = custom_layout_ = false;
  python_custom_device_ = python_custom_layout_ = false;
}

[[gnu::always_inline]] inline bool Alias::can_bind_inline(const c10::TensorImpl& source) const noexcept {
  return ((source.*Members::key_set).raw_repr() & kNamedBit) == 0 && sizes_and_strides_.size() <= kInlineDims &&
         (source.*Members::sizes_and_strides).size() <= kInlineDims;
}

[[gnu::always_inline]] inline void Alias::bind_inline(c10::TensorImpl* source, const at::Tensor* caller) noexcept {
  copy_inline_metadata(this, source);
  drop_custom_answers();
  bind_common(source, caller);
}

// Written over the borrowed handle, which holds no reference.
inline void Alias::own_storage() noexcept {
  new (&storage_) c10::Storage(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(storage_.unsafeGetStorageImpl()));
  owns_storage_ = true;
}

inline void Alias::make_mutated() noexcept {
  if (!owns_storage_) {
    own_storage();
  }
  mutated_ = true;
}

inline bool Alias::metadata_changed() const noexcept {
  const auto& theirs = *source_;
  if (C10_UNLIKELY(storage_.unsafeGetStorageImpl() != (theirs.*Members::storage).unsafeGetStorageImpl() ||
                   data_type_ != theirs.*Members::data_type || key_set_.raw_repr() != bound_keys_ ||
                   extra_meta_ != nullptr)) {
    return true;
  }
  return C10_UNLIKELY(!same_inline_metadata(this, source_)) &&
         (sizes_and_strides_ != theirs.*Members::sizes_and_strides ||
          storage_offset_ != theirs.*Members::storage_offset);
}

inline void Alias::write_back() {
  if (C10_UNLIKELY(metadata_changed())) {
    write_back_changes();
  }
}

inline bool Alias::kept() const noexcept {
  return self_->use_count() != 1 || self_->weak_use_count() != 1 || has_python_object(pyobj_slot_) ||
         extra_meta_ != nullptr || has_autograd_meta(*this);
}

inline bool Alias::unbind() noexcept {
  if (C10_UNLIKELY(kept())) {
    leave();
    return false;
  }
  if (owns_storage_) {  // the handle stays, as a borrowed one's does
    c10::intrusive_ptr<c10::StorageImpl>::reclaim(storage_.unsafeGetStorageImpl());
  }
  if (C10_UNLIKELY(owns_version_)) {
    version_counter_ = c10::VariableVersion();
  }
  return true;
}

}  // namespace flagos::boxing
