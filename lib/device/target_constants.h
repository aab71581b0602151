// The target as constants that the hot path reads, and dispatch-key bits by name.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/DispatchKeySet.h>

#include <bit>
#include <cstdint>

namespace flagos {

// Filled once, before the first kernel is registered, and never written again.
struct TargetConstants {
  c10::DeviceType type = c10::DeviceType::CPU;
  c10::DispatchKey dense_key = c10::DispatchKey::CPU;
  uint64_t backend_bit = 1;  // of the target's BackendComponent
  uint64_t swap_bits = 0;    // xor: PrivateUse1 bit <-> the target's
  uint64_t dense_keys = 0;   // DispatchKeySet(dense_key).raw_repr()
  uint64_t fast_limit = 0;   // see redispatch/gate.h
  bool has_index = false;    // whether the target's devices are numbered
  int8_t index_mask = -1;    // or-ed to a device index: 0 where they are, else -1, which makes it "no index"
};

extern TargetConstants g_target;
inline const TargetConstants& target() noexcept { return g_target; }

namespace keys {
// raw_repr() is not constexpr; the set is one word.
constexpr uint64_t bits(c10::DispatchKeySet set) { return std::bit_cast<uint64_t>(set); }
constexpr uint64_t bits(c10::DispatchKey key) { return bits(c10::DispatchKeySet(key)); }
// The functionality bit alone, without a backend bit.
constexpr uint64_t functionality(c10::DispatchKey key) { return bits(key) & ~uint64_t{c10::full_backend_mask}; }
}  // namespace keys

inline constexpr uint64_t kPrivateUse1Bit = keys::bits(c10::DispatchKey::PrivateUse1) & c10::full_backend_mask;
inline constexpr uint64_t kDenseBit = keys::functionality(c10::DispatchKey::Dense);
// None where PyTorch no longer has named tensors.
template <class Key = c10::DispatchKey>
constexpr uint64_t named_bit() {
  if constexpr (requires { Key::Named; }) {
    return keys::bits(Key::Named);
  } else {
    return 0;
  }
}
inline constexpr uint64_t kNamedBit = named_bit();
inline constexpr uint64_t kSpecialLayoutBits =
    keys::functionality(c10::DispatchKey::Quantized) | keys::functionality(c10::DispatchKey::NestedTensor) |
    keys::functionality(c10::DispatchKey::Sparse) | keys::functionality(c10::DispatchKey::SparseCsr);
inline constexpr uint64_t kAutocastBits = keys::bits(c10::autocast_dispatch_keyset);
inline constexpr uint64_t kAutocastPrivateUse1Bit = keys::bits(c10::DispatchKey::AutocastPrivateUse1);

}  // namespace flagos
