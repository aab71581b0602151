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
// stack of the thread that made it; frames of nested calls stack, and so do their parts of the thread's aliases. It
// can't be moved, since results refer to it.
//
// Note [One tensor, one alias]
// A tensor passed twice gets the same alias, because kernels ask is_same(). The first kScan aliases are searched one by
// one; those after them (tensor lists) are in the thread's bucket index, so that 300 tensors cost 300 steps.
// Buckets are stacks: a nested frame pushes and pops above its caller's entries, and knows its own by Alias::frame.
class Frame {
 public:
  Frame() : state_(thread_state()), base_(state_.bound) {}
  ~Frame() {
    if (C10_LIKELY(state_.bound != base_)) {
      unbind_all();
    }
    if (C10_UNLIKELY(special_ != nullptr)) {
      delete_special();
    }
  }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  Frame(Frame&&) = delete;
  Frame& operator=(Frame&&) = delete;

  // The alias of a flagos tensor, or null for a tensor that is passed as it is (undefined, or of another device).
  // Adds the tensor's keys to the gate's. The handle lives as long as the frame.
  const std::optional<at::Tensor>* boxed(const at::Tensor& tensor, bool mutated);
  // The same as a reference, and remembers `tensor` as the caller's handle for results that are references.
  template <bool Mutated>
  const at::Tensor& box(const at::Tensor& tensor);
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
    if (C10_UNLIKELY(bare_target_ != nullptr) && state_.bound != base_) {
      throw_device_mismatch();
    }
  }
  // While it lives, bare target tensors may be mixed with flagos tensors: for the boxing of an argument that the target
  // takes from the host (OpPolicy::host_args).
  class HostTensors {
   public:
    explicit HostTensors(Frame& frame) noexcept : frame_(frame), bare_target_(frame.bare_target_) {}
    ~HostTensors() { frame_.bare_target_ = bare_target_; }
    HostTensors(const HostTensors&) = delete;
    HostTensors& operator=(const HostTensors&) = delete;
    HostTensors(HostTensors&&) = delete;
    HostTensors& operator=(HostTensors&&) = delete;

   private:
    Frame& frame_;
    const c10::TensorImpl* bare_target_;
  };
  // Copies changed metadata of mutated arguments to the caller's tensors.
  void write_back() {
    if (C10_LIKELY(mutated_ != nullptr)) {
      write_back_aliases();
    }
    if (C10_UNLIKELY(special_ != nullptr)) {
      write_back_special();
    }
  }

 private:
  static constexpr uint32_t kScan = 8;

  Alias* const* first() const noexcept { return state_.aliases + base_; }
  Alias* const* last() const noexcept { return state_.aliases + state_.bound; }
  bool bind_at_once(Alias*& alias, c10::TensorImpl* source, const at::Tensor* handle);
  Alias* bind(c10::TensorImpl* source, const at::Tensor* handle);
  void mark_mutated(Alias* alias) noexcept;
  template <bool Mutated>
  const at::Tensor& box_unusual(const at::Tensor& tensor);
  const std::optional<at::Tensor>* boxed_special(const at::Tensor& tensor, bool mutated, const at::Tensor* handle);
  const std::optional<at::Tensor>* not_boxable(const at::Tensor& tensor, bool mutated, const at::Tensor* handle);
  Alias* find_source(const c10::TensorImpl* source) const noexcept;
  const at::Tensor* handle_of_special(const c10::TensorImpl* impl) const noexcept;
  void insert_in_index(Alias* alias) noexcept;
  void write_back_aliases();
  void write_back_special();
  void write_back_thrown() noexcept;
  void unbind_all() noexcept;
  void unbind_indexed() noexcept;
  void delete_special() noexcept;
  [[noreturn]] void throw_device_mismatch() const;

  ThreadState& state_;
  Alias* mutated_ = nullptr;         // list through Alias::next_mutated
  SpecialAlias* special_ = nullptr;  // owned list
  const c10::TensorImpl* bare_target_ = nullptr;
  uint64_t keys_ = 0;
  const uint32_t base_;  // the first of this frame's aliases in the thread's
  bool foreign_device_ = false;
};

}  // namespace flagos::boxing
