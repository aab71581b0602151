// Pointers to the protected metadata of c10::TensorImpl.
#pragma once

#include <c10/core/Storage.h>
#include <c10/core/TensorImpl.h>

#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>

namespace flagos::boxing {

using StorageTraits = c10::MaybeOwnedTraits<c10::Storage>;

// Note [Protected members of a foreign TensorImpl]
// c10::TensorImpl keeps its metadata protected. A pointer to a protected member may be formed by naming it through a
// derived class ([class.protected]) and then applies to any TensorImpl; no object is cast to a type it is not.
struct Members : c10::TensorImpl {
  static constexpr auto storage = &Members::storage_;
  static constexpr auto sizes_and_strides = &Members::sizes_and_strides_;
  static constexpr auto storage_offset = &Members::storage_offset_;
  static constexpr auto numel = &Members::numel_;
  static constexpr auto data_type = &Members::data_type_;
  static constexpr auto device = &Members::device_opt_;
  static constexpr auto key_set = &Members::key_set_;
  static constexpr auto version_counter = &Members::version_counter_;

  // TensorImpl's layout from the sizes up to the key set, in bytes: sizes and strides, storage offset, numel and dtype
  // (what a kernel can change), then device and flags. All are trivially copyable but sizes of six and more dimensions.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
  static constexpr size_t changeable_size() {
    static_assert(offsetof(Members, sizes_and_strides_) < offsetof(Members, storage_offset_) &&
                      offsetof(Members, storage_offset_) < offsetof(Members, numel_) &&
                      offsetof(Members, numel_) < offsetof(Members, data_type_) &&
                      offsetof(Members, data_type_) < offsetof(Members, device_opt_) &&
                      offsetof(Members, device_opt_) < offsetof(Members, key_set_),
                  "flagos: this torch orders TensorImpl's members differently; copy them one by one instead");
    return offsetof(Members, data_type_) - offsetof(Members, sizes_and_strides_);
  }
  static constexpr size_t copied_size() { return offsetof(Members, key_set_) - offsetof(Members, sizes_and_strides_); }
  static constexpr size_t scalars_size() { return offsetof(Members, key_set_) - offsetof(Members, storage_offset_); }
#pragma GCC diagnostic pop
};

// Dimensions that SizesAndStrides holds in itself.
inline constexpr size_t kInlineDims = C10_SIZES_AND_STRIDES_MAX_INLINE_SIZE;

// Copies sizes, strides, storage offset, numel, dtype, device and flags, whole: one by one they would take three times
// the instructions. Both have at most kInlineDims dimensions.
inline void copy_inline_metadata(c10::TensorImpl* to, const c10::TensorImpl* from) noexcept {
  std::memcpy(static_cast<void*>(&(to->*Members::sizes_and_strides)), &(from->*Members::sizes_and_strides),
              Members::copied_size());
}

// Whether what a kernel can change of those is the same in both. False may also mean that bytes differ which stand for
// no dimension, or that there are more than kInlineDims.
inline bool same_inline_metadata(const c10::TensorImpl* a, const c10::TensorImpl* b) noexcept {
  using Pair [[gnu::vector_size(16), gnu::aligned(8), gnu::may_alias]] = uint64_t;
  constexpr size_t kWords = Members::changeable_size() / sizeof(uint64_t);
  static_assert(Members::changeable_size() % sizeof(uint64_t) == 0);
  const auto* const left = reinterpret_cast<const uint64_t*>(&(a->*Members::sizes_and_strides));
  const auto* const right = reinterpret_cast<const uint64_t*>(&(b->*Members::sizes_and_strides));
  Pair differs{kWords % 2 != 0 ? left[kWords - 1] ^ right[kWords - 1] : 0, 0};
#pragma GCC unroll 8
  for (size_t i = 0; i + 1 < kWords; i += 2) {
    differs |= *reinterpret_cast<const Pair*>(left + i) ^ *reinterpret_cast<const Pair*>(right + i);
  }
  return (differs[0] | differs[1]) == 0;
}

// copy_inline_metadata for any number of dimensions. Throws std::bad_alloc.
inline void copy_metadata(c10::TensorImpl* to, const c10::TensorImpl* from) {
  to->*Members::sizes_and_strides = from->*Members::sizes_and_strides;
  std::memcpy(static_cast<void*>(&(to->*Members::storage_offset)), &(from->*Members::storage_offset),
              Members::scalars_size());
}

inline c10::DispatchKeySet from_raw(uint64_t raw) { return {c10::DispatchKeySet::RAW, raw}; }

// Private members, which only an explicit instantiation may name ([temp.spec]).
//  - A version counter is held without a reference, as MaybeOwnedTraits<Storage> does for storages: views that a kernel
//    makes of an alias share the source's counter, as they would natively.
//  - autograd_meta() is a call into libc10.
namespace {  // internal linkage: the explicit instantiation defines the functions once in each file that reads them
template <auto Member>
struct RevealVersion {
  friend auto version_pointer() { return Member; }
};
auto version_pointer();
template struct RevealVersion<&c10::VariableVersion::version_counter_>;

template <auto Member>
struct RevealAutogradMeta {
  friend auto autograd_meta_pointer() { return Member; }
};
auto autograd_meta_pointer();
template struct RevealAutogradMeta<&c10::TensorImpl::autograd_meta_>;
}  // namespace

// Holds what `from` holds, without a reference, writing over whatever `to` held without releasing it.
static inline void overwrite_borrowed(c10::VariableVersion& to, const c10::VariableVersion& from) noexcept {
  using Pointer = std::remove_reference_t<decltype(to.*version_pointer())>;
  new (&(to.*version_pointer())) Pointer(Pointer::reclaim((from.*version_pointer()).get()));
}
static inline void overwrite_borrowed(c10::Storage& to, const c10::Storage& from) noexcept {
  new (&to) c10::Storage(StorageTraits::createBorrow(from));
}

static inline bool has_autograd_meta(const c10::TensorImpl& impl) noexcept {
  return (impl.*autograd_meta_pointer()) != nullptr;
}

// Gives up what is borrowed.
static inline void forget_borrowed(c10::VariableVersion& borrowed) noexcept { (borrowed.*version_pointer()).release(); }
static inline void forget_borrowed(c10::Storage& borrowed) noexcept { StorageTraits::destroyBorrow(borrowed); }

}  // namespace flagos::boxing
