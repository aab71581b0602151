#include "boxing/alias.h"

#include <utility>

#include "boxing/alias_inline.h"
#include "boxing/torch_releases.h"
#include "flagos/target.h"

namespace flagos::boxing {
namespace {

// The bits of a key set that an in-place kernel may change.
constexpr uint64_t kMathBits = keys::bits(c10::DispatchKey::Conjugate) | keys::bits(c10::DispatchKey::Negative) |
                               keys::bits(c10::DispatchKey::ZeroTensor);

}  // namespace

// TensorImpl makes a version counter, which binding would write over without freeing it.
Alias::Alias() : c10::TensorImpl(c10::DispatchKeySet(), caffe2::TypeMeta(), c10::Device(target().type)) {
  version_counter_ = c10::VariableVersion();
}

Alias* Alias::create() {
  auto owner = c10::intrusive_ptr<Alias>::unsafe_steal_from_new(new Alias());
  Alias* alias = owner.get();
  alias->self_.emplace(at::Tensor(std::move(owner)));
  return alias;
}

void Alias::destroy_free() noexcept {
  forget_borrowed(storage_);
  forget_borrowed(version_counter_);
  self_.reset();
}

void Alias::bind(c10::TensorImpl* source, const at::Tensor* caller) {
  if (((source->*Members::key_set).raw_repr() & kNamedBit) != 0) {
    copy_generic_tensor_metadata(source, this);  // the only way to the names
  } else {
    copy_metadata(this, source);
    drop_custom_answers();
  }
  bind_common(source, caller);
}

void Alias::own_references() noexcept {
  if (!owns_storage_) {
    own_storage();
  }
  if (!owns_version_) {
    c10::VariableVersion counted(version_counter_);  // the copy counts
    forget_borrowed(version_counter_);
    version_counter_ = std::move(counted);
    owns_version_ = true;
  }
}

void Alias::write_back_changes() {
  // First what may throw, lest a larger size be left with the smaller storage.
  source_->set_sizes_and_strides(sizes_and_strides_.sizes_arrayref(), sizes_and_strides_.strides_arrayref(),
                                 storage_offset_);
  source_->*Members::storage = storage_;
  source_->*Members::data_type = data_type_;
  const uint64_t ours = key_set_.raw_repr() & kMathBits;
  source_->*Members::key_set = from_raw(((source_->*Members::key_set).raw_repr() & ~kMathBits) | ours);
  copy_names(source_, this);
}

void Alias::leave() noexcept {
  own_references();
  self_.reset();
}

void retag_as_flagos(c10::TensorImpl* impl) noexcept {
  auto& key_set = impl->*Members::key_set;
  key_set = from_raw(((key_set.raw_repr() ^ target().swap_bits) & ~kAutocastBits) | kAutocastPrivateUse1Bit);
  auto& device = impl->*Members::device;
  device = c10::Device(c10::DeviceType::PrivateUse1, target().has_index ? device->index() : c10::DeviceIndex{0});
}

void retag_as_target(c10::TensorImpl* impl) noexcept {
  auto& key_set = impl->*Members::key_set;
  key_set = from_raw((key_set.raw_repr() ^ target().swap_bits) & ~kAutocastBits);
  auto& device = impl->*Members::device;
  device = target().has_index ? c10::Device(target().type, device->index()) : c10::Device(target().type);
}

C10_NOINLINE bool is_boxable_slow(const c10::TensorImpl& impl) noexcept {
  constexpr uint64_t kWrapped = keys::bits(c10::DispatchKey::Python) | keys::bits(c10::DispatchKey::Functionalize) |
                                keys::bits(c10::DispatchKey::FuncTorchBatched);
  const uint64_t raw = impl.key_set().raw_repr();
  auto* const storage = impl.unsafe_storage().unsafeGetStorageImpl();
  if ((raw & kPrivateUse1Bit) == 0 || (raw & kSpecialLayoutBits) != 0 || storage == nullptr) {
    return false;
  }
  if ((raw & keys::bits(c10::DispatchKey::ZeroTensor)) != 0) {
    return true;
  }
  c10::DataPtr& data = storage->_mutable_data_ptr_no_checks();
  const bool has_memory = data.get() != nullptr || (!storage->sym_nbytes().is_symbolic() && storage->nbytes() == 0);
  if ((raw & kWrapped) != 0 || storage->device_type() != c10::DeviceType::PrivateUse1 || !has_memory) {
    return false;
  }
  data.unsafe_set_device(to_target_device(data.device()));
  return true;
}

void set_view_device(c10::TensorImpl* view, const c10::TensorImpl& base) noexcept {
  if (C10_LIKELY(is_boxable(base))) {
    view->*Members::device = base.*Members::device;
  }
}

}  // namespace flagos::boxing
