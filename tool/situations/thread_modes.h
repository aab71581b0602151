// Modes of the calling thread's dispatcher state, each in force from construction to destruction.
#pragma once

#include <ATen/autocast_mode.h>
#include <ATen/functorch/DynamicLayer.h>

#include <cstdint>

namespace flagos::diag {

inline constexpr int64_t kBatch = 2;

// The last step of vmap(): a level of functorch, popped again whatever happens.
class VmapLevel {
 public:
  VmapLevel()
      : level_(at::functorch::initAndPushDynamicLayer(at::functorch::TransformType::Vmap, kBatch,
                                                      at::functorch::RandomnessType::Different)) {}
  ~VmapLevel() { at::functorch::popDynamicLayerAndDeleteMetadata(); }
  VmapLevel(const VmapLevel&) = delete;
  VmapLevel& operator=(const VmapLevel&) = delete;
  VmapLevel(VmapLevel&&) = delete;
  VmapLevel& operator=(VmapLevel&&) = delete;

  int64_t level() const { return level_; }

 private:
  int64_t level_;
};

class FlagosAutocast {
 public:
  FlagosAutocast() {
    at::autocast::set_autocast_enabled(at::kPrivateUse1, true);
    at::autocast::set_autocast_dtype(at::kPrivateUse1, at::kBFloat16);
    at::autocast::increment_nesting();
  }
  ~FlagosAutocast() {
    if (at::autocast::decrement_nesting() == 0) {
      at::autocast::clear_cache();
    }
    at::autocast::set_autocast_enabled(at::kPrivateUse1, false);
  }
  FlagosAutocast(const FlagosAutocast&) = delete;
  FlagosAutocast& operator=(const FlagosAutocast&) = delete;
  FlagosAutocast(FlagosAutocast&&) = delete;
  FlagosAutocast& operator=(FlagosAutocast&&) = delete;
};

}  // namespace flagos::diag
