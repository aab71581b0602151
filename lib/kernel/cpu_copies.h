// The CPU's copies of the device tensors of one call.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace flagos::kernel {

// Note [Copies of tensors that share memory]
// A tensor is copied by itself, as Tensor.cpu() would, but for tensors of one storage of which the call changes one:
// what it writes to one shows in the others (base and view in a list), or is an error that PyTorch words (an input that
// partly overlaps out). Of such a storage the whole is copied, once, and the tensors' copies are views of that. So is
// it for a tensor that is changed and overlaps itself, an expanded one. Where autograd records the call, each tensor is
// copied by itself: the history is then the copies'.

// Made of the arguments of a call on the thread that makes the call, and used there.
class CpuCopies {
 public:
  // Bit i of `mutated_args`: the call writes to argument i.
  CpuCopies(c10::ArrayRef<c10::IValue> arguments, uint64_t mutated_args);

  // The argument with each device tensor's copy in its place; a flagos device becomes the CPU.
  c10::IValue on_cpu(const c10::IValue& argument);
  // After the call: gives the tensors that it wrote to what was written, their new sizes and strides where it resized
  // them, and as many new versions as the copies had.
  void copy_back();
  // A result on the device of the arguments; an argument's own tensor where the result is that one's copy.
  c10::IValue on_device(const c10::IValue& result) const;

 private:
  struct Copy {
    at::Tensor original;
    at::Tensor copy;
    bool mutated;
    uint32_t version;  // of the copy, when it was made
  };
  // A storage of the arguments.
  struct Memory {
    const c10::TensorImpl* tensor = nullptr;  // the last seen in it
    bool mutated = false;
    bool overlaps = false;
    at::Tensor original;  // its bytes, if they are copied as a whole
    at::Tensor copy;
  };

  void add(const at::Tensor& tensor, bool mutated);
  at::Tensor copied(const at::Tensor& tensor);
  at::Tensor copy_of(const at::Tensor& tensor);
  Memory* whole_memory_of(const at::Tensor& tensor);
  at::Tensor result_of(const at::Tensor& tensor) const;

  bool recorded_;
  std::vector<Copy> copies_;  // in the order of the arguments
  std::map<const c10::StorageImpl*, Memory> memories_;
  std::optional<c10::Device> device_;
};

}  // namespace flagos::kernel
