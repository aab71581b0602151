#include "kernel/cpu_copies.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty.h>

#include <algorithm>

#include "boxing/alias.h"
#include "boxing/tensors_of.h"

namespace flagos::kernel {
namespace {

// The bits go round the copy, on views: what resolves them, clone() for one, may itself have a route to here.
at::Tensor moved(const at::Tensor& tensor, c10::Device device) {
  if (tensor.is_conj()) {
    return moved(tensor.conj(), device).conj();
  }
  if (tensor.is_neg()) {
    return moved(tensor._neg_view(), device)._neg_view();
  }
  return tensor.to(device);
}

at::Tensor bytes_of(const c10::Storage& storage, c10::Device device) {
  return at::empty({0}, at::TensorOptions(at::kByte).device(device))
      .set_(storage, 0, {static_cast<int64_t>(storage.nbytes())}, {1});
}

at::Tensor same_view_of(const at::Tensor& tensor, const c10::Storage& storage) {
  at::Tensor view = at::empty({0}, tensor.options().device(at::kCPU));
  view.set_(storage, tensor.storage_offset(), tensor.sizes(), tensor.strides());
  view._set_conj(tensor.is_conj());
  view._set_neg(tensor.is_neg());
  return view;
}

void take_shape(const at::Tensor& original, const at::Tensor& copy) {
  if (original.sizes() == copy.sizes()) {
    return;
  }
  original.resize_(copy.sizes());
  if (copy.layout() == at::kStrided && copy.is_non_overlapping_and_dense()) {
    original.as_strided_(copy.sizes(), copy.strides());
  }
}

uint32_t version_of(const at::Tensor& tensor) { return tensor.is_inference() ? 0 : tensor._version(); }

void add_versions(const at::Tensor& tensor, uint32_t count) {
  if (!tensor.is_inference()) {
    for (; count > 0; --count) {
      tensor.unsafeGetTensorImpl()->bump_version();
    }
  }
}

bool is_on_device(const at::Tensor& tensor) { return tensor.defined() && !tensor.device().is_cpu(); }

}  // namespace

CpuCopies::CpuCopies(c10::ArrayRef<c10::IValue> arguments, uint64_t mutated_args)
    : recorded_(boxing::wants_gradient(arguments)) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool mutated = ((mutated_args >> i) & 1) != 0;
    boxing::for_each_tensor(arguments[i], [&](const at::Tensor& tensor) {
      if (is_on_device(tensor)) {
        add(tensor, mutated);
      }
    });
  }
}

void CpuCopies::add(const at::Tensor& tensor, bool mutated) {
  device_ = tensor.device();
  const auto known =
      std::find_if(copies_.begin(), copies_.end(), [&](const Copy& each) { return each.original.is_same(tensor); });
  if (known != copies_.end()) {
    known->mutated |= mutated;
  } else {
    copies_.push_back({tensor, at::Tensor(), mutated, 0});
  }
  const auto* impl = tensor.unsafeGetTensorImpl();
  if (recorded_ || tensor.layout() != at::kStrided || !boxing::is_boxable(*impl)) {
    return;
  }
  Memory& memory = memories_[tensor.storage().unsafeGetStorageImpl()];
  memory.overlaps |=
      (memory.tensor != nullptr && memory.tensor != impl) || at::has_internal_overlap(tensor) == at::MemOverlap::Yes;
  memory.tensor = impl;
  memory.mutated |= mutated;
}

CpuCopies::Memory* CpuCopies::whole_memory_of(const at::Tensor& tensor) {
  if (!tensor.has_storage()) {
    return nullptr;
  }
  const auto found = memories_.find(tensor.storage().unsafeGetStorageImpl());
  return found != memories_.end() && found->second.mutated && found->second.overlaps ? &found->second : nullptr;
}

at::Tensor CpuCopies::copy_of(const at::Tensor& tensor) {
  Memory* const memory = whole_memory_of(tensor);
  if (memory == nullptr) {
    return moved(tensor, at::kCPU);
  }
  if (!memory->copy.defined()) {
    memory->original = bytes_of(tensor.storage(), tensor.device());
    memory->copy = memory->original.to(at::kCPU);
  }
  return same_view_of(tensor, memory->copy.storage());
}

at::Tensor CpuCopies::copied(const at::Tensor& tensor) {
  if (!is_on_device(tensor)) {
    return tensor;
  }
  Copy& known =
      *std::find_if(copies_.begin(), copies_.end(), [&](const Copy& each) { return each.original.is_same(tensor); });
  if (!known.copy.defined()) {
    known.copy = copy_of(tensor);
    known.version = version_of(known.copy);
  }
  return known.copy;
}

c10::IValue CpuCopies::on_cpu(const c10::IValue& argument) {
  if (argument.isDevice() && argument.toDevice().type() == c10::DeviceType::PrivateUse1) {
    device_ = argument.toDevice();
    return c10::Device(c10::kCPU);
  }
  return boxing::converted(argument, [this](const at::Tensor& tensor) { return copied(tensor); });
}

void CpuCopies::copy_back() {
  std::optional<at::AutoDispatchBelowADInplaceOrView> below_autograd;
  if (!recorded_) {
    below_autograd.emplace();  // no history, and the versions are counted here
  }
  for (const Copy& each : copies_) {
    if (!each.mutated) {
      continue;
    }
    take_shape(each.original, each.copy);
    Memory* const memory = whole_memory_of(each.original);
    if (memory != nullptr && each.copy.is_alias_of(memory->copy) &&
        static_cast<size_t>(memory->copy.numel()) == memory->copy.storage().nbytes()) {
      memory->original.copy_(memory->copy);
    } else {
      each.original.copy_(each.copy);
    }
    if (!recorded_) {
      add_versions(each.original, version_of(each.copy) - each.version);
    }
  }
}

at::Tensor CpuCopies::result_of(const at::Tensor& tensor) const {
  if (!tensor.defined()) {
    return tensor;
  }
  for (const Copy& each : copies_) {
    if (each.copy.is_same(tensor)) {
      return each.original;
    }
  }
  return device_.has_value() ? moved(tensor, *device_) : tensor;
}

c10::IValue CpuCopies::on_device(const c10::IValue& result) const {
  return boxing::converted(result, [this](const at::Tensor& tensor) { return result_of(tensor); });
}

}  // namespace flagos::kernel
