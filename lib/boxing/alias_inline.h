// Alias's hot path, for the one file that runs it (frame.cpp) to inline.
#pragma once

#include <ATen/NamedTensorUtils.h>

#include <cstddef>
#include <cstring>
#include <utility>

#include "boxing/alias.h"
#include "boxing/tensor_impl_members.h"

namespace flagos::boxing {

inline void Alias::bind(c10::TensorImpl* source, bool mutated) {
  source_ = source;
  const uint64_t source_keys = (source->*Members::key_set).raw_repr();
  if (C10_UNLIKELY((source_keys & kNamedBit) != 0)) {
    copy_generic_tensor_metadata(source, this);  // the only way to the names
  } else {
    sizes_and_strides_ = source->*Members::sizes_and_strides;
    copy_scalars(this, source);
    // A Python subclass's own answers are not the alias's.
    sizes_strides_policy_ = 0;
    custom_sizes_strides_ = 0;
    python_custom_sizes_strides_ = 0;
    device_policy_ = layout_policy_ = custom_device_ = custom_layout_ = false;
    python_custom_device_ = python_custom_layout_ = false;
  }
  device_opt_ =
      target().has_index ? c10::Device(target().type, (source->*Members::device)->index()) : c10::Device(target().type);
  bound_keys_ = (source_keys & ~kAutocastBits) ^ target().swap_bits;
  key_set_ = from_raw(bound_keys_);
  StorageTraits::assignBorrow(storage_, source->*Members::storage);
  borrow_version(version_counter_, source->*Members::version_counter);
  owns_references_ = false;
  mutated_ = false;
  if (mutated) {
    make_mutated();
  }
}

inline void Alias::make_mutated() {
  own_references();
  mutated_ = true;
}

inline bool Alias::metadata_changed() const noexcept {
  const auto& ours = sizes_and_strides_;
  const auto& theirs = source_->*Members::sizes_and_strides;
  const size_t dims = ours.size();
  if (storage_.unsafeGetStorageImpl() != (source_->*Members::storage).unsafeGetStorageImpl() ||
      storage_offset_ != source_->*Members::storage_offset || data_type_ != source_->*Members::data_type ||
      key_set_.raw_repr() != bound_keys_ || dims != theirs.size() || extra_meta_ != nullptr) {
    return true;
  }
  const int64_t* const our_sizes = ours.sizes_data();
  const int64_t* const their_sizes = theirs.sizes_data();
  const int64_t* const our_strides = ours.strides_data();
  const int64_t* const their_strides = theirs.strides_data();
  int64_t differs = 0;
  for (size_t i = 0; i < dims; ++i) {
    differs |= (our_sizes[i] ^ their_sizes[i]) | (our_strides[i] ^ their_strides[i]);
  }
  return differs != 0;
}

inline bool Alias::kept() const noexcept {
  return self_->use_count() != 1 || self_->weak_use_count() != 1 || pyobj_slot_.pyobj_interpreter() != nullptr ||
         extra_meta_ != nullptr || autograd_meta() != nullptr;
}

inline bool Alias::unbind() noexcept {
  source_ = nullptr;
  handle = nullptr;
  if (C10_UNLIKELY(kept())) {
    leave();
    return false;
  }
  if (owns_references_) {
    storage_ = c10::Storage();
    version_counter_ = c10::VariableVersion();
  } else {
    StorageTraits::destroyBorrow(storage_);
    end_borrowed_version(version_counter_);
  }
  return true;
}

}  // namespace flagos::boxing
