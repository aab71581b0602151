// Frame: the aliases of one call.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "boxing/alias.h"
#include "boxing/special_alias.h"
#include "boxing/thread_state.h"
#include "flagos/target.h"

namespace flagos::boxing {

// Binds aliases for the arguments of one call and unbinds them when it ends, by return or by exception. Lives on the
// stack of the thread that made it; frames of nested calls stack. It can't be moved, since results refer to it.
//
// Note [One tensor, one alias]
// A tensor passed twice gets the same alias, because kernels ask is_same(). Up to kScan aliases are searched in a
// list; beyond that (tensor lists) each is also put in the thread's bucket index, so that 300 tensors cost 300 steps.
// Buckets are stacks: a nested frame pushes and pops above its caller's entries, and knows its own by Alias::frame.
class Frame {
 public:
  explicit Frame(bool accepts_host_tensors) : state_(thread_state()), accepts_host_(accepts_host_tensors) {}
  ~Frame();
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  Frame(Frame&&) = delete;
  Frame& operator=(Frame&&) = delete;

  // The alias of a flagos tensor, or null for a tensor that is passed as it is (undefined, or of another device).
  // Adds the tensor's keys to the gate's. The handle lives as long as the frame.
  const std::optional<at::Tensor>* boxed(const at::Tensor& tensor, bool mutated);
  // The same as a reference, and remembers `tensor` as the caller's handle for results that are references.
  const at::Tensor& box(const at::Tensor& tensor, bool mutated);
  // Boxes a tensor that ends before the frame does. The tensor itself where there is nothing to box.
  const at::Tensor& box_temporary(const at::Tensor& tensor);

  // The caller's tensor whose alias has this impl, or null.
  c10::TensorImpl* source_of(const c10::TensorImpl* impl) const noexcept;
  // The caller's handle of that tensor, or null.
  const at::Tensor* handle_of(const c10::TensorImpl* impl) const noexcept;

  void add_keys(uint64_t keys) noexcept { keys_ |= keys; }
  // An explicit device argument: results follow it. Returns the device to hand to the target. Throws c10::Error for a
  // flagos device that the target does not have.
  c10::Device box_device(c10::Device device);

  // The union of key sets as the gate wants it; {target Dense} when there is no tensor argument.
  uint64_t gate_keys() const noexcept { return C10_LIKELY(keys_ != 0) ? keys_ : target().dense_keys; }
  // Whether results on the target's device become flagos tensors.
  bool retags_results() const noexcept { return !foreign_device_; }
  ThreadState& state() const noexcept { return state_; }

  // Throws the usual error if a flagos tensor was mixed with a bare target tensor of one or more dimensions.
  void check_devices() const {
    if (C10_UNLIKELY(bare_target_ != nullptr) && !accepts_host_ && first_ != nullptr) {
      throw_device_mismatch();
    }
  }
  // Copies changed metadata of mutated arguments to the caller's tensors.
  void write_back();

 private:
  static constexpr uint32_t kScan = 8;

  Alias* acquire();
  Alias* alias(c10::TensorImpl* source, bool mutated);
  const std::optional<at::Tensor>* boxed_special(const at::Tensor& tensor, bool mutated, const at::Tensor* handle);
  const std::optional<at::Tensor>* not_boxable(const at::Tensor& tensor, bool mutated, const at::Tensor* handle);
  Alias* find_source(const c10::TensorImpl* source) const noexcept;
  Alias* find_indexed(const c10::TensorImpl* source) const noexcept;
  void insert_in_index(Alias* alias) noexcept;
  [[noreturn]] void throw_device_mismatch() const;

  ThreadState& state_;
  Alias* first_ = nullptr;           // the latest bound, through Alias::next
  Alias* last_scanned_ = nullptr;    // the kScan-th bound; it and those after it in the list are not indexed
  SpecialAlias* special_ = nullptr;  // owned list
  const c10::TensorImpl* bare_target_ = nullptr;
  uint64_t keys_ = 0;
  uint32_t count_ = 0;
  bool foreign_device_ = false;
  bool accepts_host_;
};

}  // namespace flagos::boxing
