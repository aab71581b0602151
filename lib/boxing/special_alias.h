// Aliases of tensors whose TensorImpl is a class of its own: sparse, compressed sparse, quantized, nested.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "device/target_constants.h"

namespace flagos::boxing {

// Note [Special layouts]
// A sparse tensor is more than sizes and a storage: its TensorImpl subclass holds further tensors. What it holds
// carries the target's device, as storages do; only the outer TensorImpl says flagos. So the alias is PyTorch's own
// shallow copy with the target's keys and device, made for the call. It is never fast (another functionality key stands
// above Dense), so nothing is pooled. After a mutating call the caller's tensor takes over what the alias became.
//
// The parts of a compressed tensor may say flagos too: PyTorch makes one of what it is given (torch.sparse_csr_tensor,
// transposes) without asking the dispatcher. So its alias has aliases of them.
struct SpecialAlias {
  SpecialAlias(const at::Tensor& source, bool mutated, SpecialAlias* next);

  // Gives the caller's tensor what the call changed.
  void write_back() const;

  c10::TensorImpl* source;
  std::optional<at::Tensor> boxed;
  const at::Tensor* handle = nullptr;  // the caller's handle, for results that are references
  bool mutated;
  SpecialAlias* next;  // owned by the frame
};

// Whether `impl` is a flagos tensor of a special layout that can be boxed (not a fake or wrapped one).
inline bool is_special(const c10::TensorImpl& impl) noexcept {
  constexpr uint64_t kWrapped = keys::bits(c10::DispatchKey::Python) | keys::bits(c10::DispatchKey::Functionalize) |
                                keys::bits(c10::DispatchKey::FuncTorchBatched);
  const uint64_t keys = impl.key_set().raw_repr();
  return (keys & kPrivateUse1Bit) != 0 && (keys & kSpecialLayoutBits) != 0 && (keys & kWrapped) == 0;
}

}  // namespace flagos::boxing
