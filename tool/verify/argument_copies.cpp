#include "verify/argument_copies.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include <map>
#include <optional>
#include <utility>

namespace flagos::diag {
namespace {

constexpr int64_t kAlignment = 16;  // the largest element: a storage can be viewed as any dtype

class Copier {
 public:
  Copier(c10::Device device, const Stack& arguments) : device_(device) {
    visit_tensors(arguments, [&](const at::Tensor& tensor) { ++uses_[tensor.storage().unsafeGetStorageImpl()]; });
  }

  at::Tensor copy(const at::Tensor& host) {
    const at::Tensor bytes = bytes_of(host.storage());
    const at::Tensor typed = host.scalar_type() == at::kByte ? bytes : bytes.view(host.scalar_type());
    at::Tensor copied = plain_or_view(typed, host);
    copied = host.is_conj() ? at::_conj(copied) : copied;
    return host.is_neg() ? at::_neg_view(copied) : copied;
  }

 private:
  // A tensor that has its storage for itself is no view, as in a program: detach_() and the like refuse views.
  at::Tensor plain_or_view(const at::Tensor& whole, const at::Tensor& host) {
    std::optional<at::AutoDispatchBelowADInplaceOrView> no_view;
    if (uses_[host.storage().unsafeGetStorageImpl()] <= 1) {
      no_view.emplace();
    }
    return whole.as_strided(host.sizes(), host.strides(), host.storage_offset());
  }

  at::Tensor bytes_of(const c10::Storage& storage) {
    at::Tensor& bytes = copies_[storage.unsafeGetStorageImpl()];
    if (!bytes.defined()) {
      const auto count = static_cast<int64_t>(storage.nbytes());
      const int64_t padded = (count / kAlignment + 1) * kAlignment;
      at::Tensor whole = at::zeros({padded}, at::kByte);
      if (count > 0) {
        whole.narrow(0, 0, count).copy_(at::from_blob(const_cast<void*>(storage.data()), {count}, at::kByte));
      }
      bytes = whole.to(device_);
    }
    return bytes;
  }

  c10::Device device_;
  std::map<const c10::StorageImpl*, int> uses_;
  std::map<const c10::StorageImpl*, at::Tensor> copies_;
};

}  // namespace

Stack copy_arguments(const Stack& arguments, const c10::FunctionSchema& schema, c10::Device device) {
  Copier to_device(device, arguments);
  Stack copies = arguments;
  change_tensors(copies, schema, [&](const at::Tensor& tensor, bool /*mutated*/) { return to_device.copy(tensor); });
  for (c10::IValue& value : copies) {
    value = value.isDevice() ? c10::IValue(device) : value;
  }
  if (const auto on_host = host_argument(schema); on_host.has_value() && arguments.at(*on_host).isTensor()) {
    copies[*on_host] = Copier(c10::DeviceType::CPU, arguments).copy(arguments[*on_host].toTensor());
  }
  return copies;
}

}  // namespace flagos::diag
