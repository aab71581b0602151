#include "boxing/alias.h"

#include <ATen/NamedTensorUtils.h>
#include <c10/core/Storage.h>
#include <c10/core/UndefinedTensorImpl.h>

#include <utility>

namespace flagos::boxing {
namespace {

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
  static constexpr auto extra_meta = &Members::extra_meta_;
  using c10::TensorImpl::copy_generic_tensor_metadata;
};

// A version counter held without a reference, as MaybeOwnedTraits<Storage> does for storages: views that a kernel makes of
// an alias share the source's counter, as they would natively. VariableVersion keeps its pointer private; an explicit
// instantiation may name it ([temp.spec]).
template <auto Member>
struct Reveal {
  friend auto version_pointer() { return Member; }
};
auto version_pointer();
template struct Reveal<&c10::VariableVersion::version_counter_>;

void borrow_version(c10::VariableVersion& to, const c10::VariableVersion& from) noexcept {
  auto& pointer = to.*version_pointer();
  pointer = std::remove_reference_t<decltype(pointer)>::reclaim((from.*version_pointer()).get());
}

void end_borrowed_version(c10::VariableVersion& borrowed) noexcept { (borrowed.*version_pointer()).release(); }

// The bits of a key set that an in-place kernel may change.
constexpr uint64_t kMathBits = keys::bits(c10::DispatchKey::Conjugate) | keys::bits(c10::DispatchKey::Negative) |
                               keys::bits(c10::DispatchKey::ZeroTensor);

// Up to three dimensions a contiguous tensor has no channels-last flag: every layout flag is known.
constexpr size_t kMaxSimpleDims = 3;

c10::DispatchKeySet from_raw(uint64_t raw) { return {c10::DispatchKeySet::RAW, raw}; }

}  // namespace

Alias::Alias() : c10::TensorImpl(c10::DispatchKeySet(), caffe2::TypeMeta(), c10::Device(target().type)) {}

Alias* Alias::create() {
  auto owner = c10::intrusive_ptr<Alias>::unsafe_steal_from_new(new Alias());
  Alias* alias = owner.get();
  alias->self_.emplace(at::Tensor(std::move(owner)));
  return alias;
}

void Alias::destroy() noexcept { std::optional<at::Tensor> last = std::exchange(self_, std::nullopt); }

void Alias::copy_layout_flags(const c10::TensorImpl& source) noexcept {
  const bool contiguous = source.is_contiguous();
  if (contiguous && sizes_and_strides_.size() <= kMaxSimpleDims) {
    // Written side by side, so that the compiler makes one store of them.
    is_contiguous_ = true;
    is_channels_last_ = false;
    is_channels_last_contiguous_ = false;
    is_channels_last_3d_ = false;
    is_channels_last_3d_contiguous_ = false;
    is_non_overlapping_and_dense_ = true;
    return;
  }
  is_contiguous_ = contiguous;
  is_channels_last_ = source.is_strides_like_channels_last();
  is_channels_last_contiguous_ = source.is_contiguous(c10::MemoryFormat::ChannelsLast);
  is_channels_last_3d_ = source.is_strides_like_channels_last_3d();
  is_channels_last_3d_contiguous_ = source.is_contiguous(c10::MemoryFormat::ChannelsLast3d);
  is_non_overlapping_and_dense_ = source.is_non_overlapping_and_dense();
}

void Alias::bind(c10::TensorImpl* source, bool mutated) {
  source_ = source;
  const uint64_t source_keys = source->key_set().raw_repr();
  if (C10_UNLIKELY((source_keys & kNamedBit) != 0)) {
    copy_generic_tensor_metadata(source, this);  // the only way to the names
  } else {
    sizes_and_strides_ = source->*Members::sizes_and_strides;
    storage_offset_ = source->*Members::storage_offset;
    data_type_ = source->*Members::data_type;
    copy_layout_flags(*source);
    is_wrapped_number_ = source->is_wrapped_number();
  }
  numel_ = source->*Members::numel;
  allow_tensor_metadata_change_ = source->allow_tensor_metadata_change();
  const auto& source_device = source->*Members::device;
  device_opt_ = target().has_index ? c10::Device(target().type, source_device->index()) : c10::Device(target().type);
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

void Alias::own_references() {
  if (!owns_references_) {
    c10::Storage owned(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(storage_.unsafeGetStorageImpl()));
    StorageTraits::destroyBorrow(storage_);
    storage_ = std::move(owned);
    c10::VariableVersion counted(version_counter_);  // the copy counts
    end_borrowed_version(version_counter_);
    version_counter_ = std::move(counted);
    owns_references_ = true;
  }
}

void Alias::make_mutated() {
  if (mutated_) {
    return;
  }
  own_references();
  mutated_ = true;
}

bool Alias::metadata_changed() const noexcept {
  const auto& theirs = source_->*Members::sizes_and_strides;
  return storage_.unsafeGetStorageImpl() != (source_->*Members::storage).unsafeGetStorageImpl() ||
         storage_offset_ != source_->*Members::storage_offset || data_type_ != source_->*Members::data_type ||
         key_set_.raw_repr() != bound_keys_ || sizes_and_strides_.sizes_arrayref() != theirs.sizes_arrayref() ||
         sizes_and_strides_.strides_arrayref() != theirs.strides_arrayref() || extra_meta_ != nullptr;
}

void Alias::write_back() {
  if (C10_LIKELY(!metadata_changed())) {
    return;
  }
  source_->*Members::storage = storage_;
  source_->*Members::data_type = data_type_;
  source_->set_sizes_and_strides(sizes_and_strides_.sizes_arrayref(), sizes_and_strides_.strides_arrayref(),
                                 storage_offset_);
  const uint64_t ours = key_set_.raw_repr() & kMathBits;
  source_->*Members::key_set = from_raw(((source_->*Members::key_set).raw_repr() & ~kMathBits) | ours);
  if (has_named_tensor_meta() || source_->has_named_tensor_meta()) {
    at::impl::internal_set_names_inplace(source_, at::impl::get_opt_names(this), /*validate_names=*/false);
  }
}

bool Alias::unbind() noexcept {
  const bool kept = self_->use_count() != 1 || self_->weak_use_count() != 1 ||
                    pyobj_slot_.pyobj_interpreter() != nullptr || autograd_meta() != nullptr || extra_meta_ != nullptr;
  source_ = nullptr;
  handle = nullptr;
  if (C10_UNLIKELY(kept)) {
    own_references();
    destroy();
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

void set_view_device(c10::TensorImpl* view, const c10::TensorImpl& base) noexcept {
  if (C10_LIKELY(is_boxable(base))) {
    view->*Members::device = base.*Members::device;
  }
}

}  // namespace flagos::boxing
