// Alias: what a flagos tensor looks like to the target's kernels, for the length of one call.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/TensorImpl.h>

#include <cstdint>
#include <optional>

#include "device/target_constants.h"

namespace flagos::boxing {

// Note [Boxed aliases]
// Boxing never touches the caller's TensorImpl: two threads may share it, and an exception would have to undo it.
// Instead each argument gets an Alias, a TensorImpl with the target's keys and device that shares the argument's
// storage. Aliases come from a thread-local pool and carry their own at::Tensor handle, so that handing one out builds
// no handle and counts no reference.
//  - A read-only argument's storage and version counter are borrowed: held without a reference, since the caller keeps
//    them alive. Views that a kernel makes of the alias share both, as they would natively.
//  - A mutated argument's storage is owned, because set_() and its kin replace it.
//  - A free alias still holds what it borrowed last, and nothing looks at that: bind() writes over it.
//  - After the call an alias that somebody kept (a second reference, a PyObject, autograd or extra meta) is given real
//    references and left to whoever kept it; otherwise it goes back to the pool.
class Alias final : public c10::TensorImpl {
 public:
  // A new alias with no source. It owns itself through tensor(); destroy_free(), for one that is not bound, gives that
  // reference up.
  static Alias* create();
  void destroy_free() noexcept;

  // Makes this free alias the read-only one of `source`. `caller` is the caller's handle of it, for results that are
  // references to an argument, or null. Throws std::bad_alloc for names and for six and more dimensions.
  void bind(c10::TensorImpl* source, const at::Tensor* caller);
  // The same, for a source that can_bind_inline(): no names and few dimensions.
  void bind_inline(c10::TensorImpl* source, const at::Tensor* caller) noexcept;
  bool can_bind_inline(const c10::TensorImpl& source) const noexcept;
  // For an argument that the call may change.
  void make_mutated() noexcept;
  // Takes references to what is borrowed, for a source that may end before the alias is unbound.
  void own_references() noexcept;
  // Copies what the call changed (storage, sizes, strides, offset, dtype, conj/neg bits, names) to the source.
  void write_back();
  // Ends the binding. True: back to the pool. False: someone kept the alias; it has been made independent.
  bool unbind() noexcept;

  at::Tensor& tensor() noexcept { return *self_; }
  const std::optional<at::Tensor>& optional() const noexcept { return self_; }
  c10::TensorImpl* source() const noexcept { return source_; }
  bool mutated() const noexcept { return mutated_; }

  // The next mutated alias of the same frame.
  Alias* next_mutated = nullptr;
  // The caller's handle; see bind().
  const at::Tensor* handle = nullptr;
  // The next alias of the same bucket of the duplicate index, and the frame that put it there (see Frame).
  Alias* bucket_next = nullptr;
  const void* frame = nullptr;

 private:
  Alias();
  bool metadata_changed() const noexcept;
  bool kept() const noexcept;
  void write_back_changes();
  void bind_common(c10::TensorImpl* source, const at::Tensor* caller) noexcept;
  void drop_custom_answers() noexcept;
  void own_storage() noexcept;
  void leave() noexcept;  // to whoever kept it

  std::optional<at::Tensor> self_;
  c10::TensorImpl* source_ = nullptr;
  uint64_t bound_keys_ = 0;
  bool mutated_ = false;
  bool owns_storage_ = false;
  bool owns_version_ = false;
};

// Gives `impl` the flagos keys and device, in place; `impl` must be a target tensor that nobody else holds.
void retag_as_flagos(c10::TensorImpl* impl) noexcept;

// The other way round, for a copy that is to be a target tensor; Autocast keys go.
void retag_as_target(c10::TensorImpl* impl) noexcept;

// Gives `view`, which a native view function made of the flagos tensor `base`, the base's device. A view of a tensor
// without memory on the target (fake, meta) is left as it is.
void set_view_device(c10::TensorImpl* view, const c10::TensorImpl& base) noexcept;

// is_boxable() for the usual tensor, whose storage names the target. False: ask is_boxable().
[[gnu::always_inline]] inline bool is_boxable_at_once(const c10::TensorImpl& impl) noexcept {
  const uint64_t raw = impl.key_set().raw_repr();
  const auto* storage = impl.unsafe_storage().unsafeGetStorageImpl();
  return (raw & kPrivateUse1Bit) != 0 && (raw & kSpecialLayoutBits) == 0 && storage != nullptr &&
         storage->device_type() == target().type;
}

// is_boxable() for the rest. A flagos tensor over memory that names flagos, as at::from_blob and DLPack make it, names
// the target from then on: that memory is the target's. Two threads may do so at once; both write the same.
bool is_boxable_slow(const c10::TensorImpl& impl) noexcept;

// Whether `impl` is a tensor that can be boxed: on flagos, with a storage of the target (a fake, meta, functional or
// batched tensor has none; a zero tensor's has no memory and says flagos) and of a plain TensorImpl's shape.
inline bool is_boxable(const c10::TensorImpl& impl) noexcept {
  return is_boxable_at_once(impl) || is_boxable_slow(impl);
}

}  // namespace flagos::boxing
