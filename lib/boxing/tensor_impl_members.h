// Pointers to the protected metadata of c10::TensorImpl.
#pragma once

#include <c10/core/Storage.h>
#include <c10/core/TensorImpl.h>

#include <cstddef>
#include <cstring>
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

  // Bytes from the storage offset up to the key set: storage offset, numel, dtype, device and the flags.
  static constexpr size_t scalars_size() {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
    static_assert(offsetof(Members, storage_offset_) < offsetof(Members, numel_) &&
                      offsetof(Members, numel_) < offsetof(Members, data_type_) &&
                      offsetof(Members, data_type_) < offsetof(Members, device_opt_) &&
                      offsetof(Members, device_opt_) < offsetof(Members, key_set_),
                  "flagos: this torch orders TensorImpl's members differently; copy them one by one instead");
    return offsetof(Members, key_set_) - offsetof(Members, storage_offset_);
#pragma GCC diagnostic pop
  }
};

// Copies those bytes: all are trivially copyable, and one by one they would take three times the instructions.
inline void copy_scalars(c10::TensorImpl* to, const c10::TensorImpl* from) noexcept {
  std::memcpy(static_cast<void*>(&(to->*Members::storage_offset)), &(from->*Members::storage_offset),
              Members::scalars_size());
}

inline c10::DispatchKeySet from_raw(uint64_t raw) { return {c10::DispatchKeySet::RAW, raw}; }

// A version counter held without a reference, as MaybeOwnedTraits<Storage> does for storages: views that a kernel makes
// of an alias share the source's counter, as they would natively. VariableVersion keeps its pointer private; an
// explicit instantiation may name it ([temp.spec]).
namespace {  // internal linkage: the explicit instantiation defines the function once in each file that reads it
template <auto Member>
struct Reveal {
  friend auto version_pointer() { return Member; }
};
auto version_pointer();
template struct Reveal<&c10::VariableVersion::version_counter_>;
}  // namespace

static inline void borrow_version(c10::VariableVersion& to, const c10::VariableVersion& from) noexcept {
  auto& pointer = to.*version_pointer();
  pointer = std::remove_reference_t<decltype(pointer)>::reclaim((from.*version_pointer()).get());
}

static inline void end_borrowed_version(c10::VariableVersion& borrowed) noexcept {
  (borrowed.*version_pointer()).release();
}

}  // namespace flagos::boxing
