#include "measure/call_sequence.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "verify/argument_copies.h"

namespace flagos::diag {
namespace {

struct Layout {
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  int64_t offset;
  const void* storage;

  bool operator==(const Layout&) const = default;
};

std::vector<Layout> layouts_of(const Stack& arguments) {
  std::vector<Layout> layouts;
  visit_tensors(arguments, [&](const at::Tensor& tensor) {
    if (tensor.layout() == at::kStrided) {
      layouts.push_back({tensor.sizes().vec(), tensor.strides().vec(), tensor.storage_offset(),
                         tensor.storage().unsafeGetStorageImpl()});
    }
  });
  return layouts;
}

void make_call(const c10::OperatorHandle& handle, const Stack& arguments) {
  Stack stack = arguments;
  handle.callBoxed(stack);
}

}  // namespace

void try_out(HostCall& call, c10::Device device) {
  const Stack arguments = copy_arguments(call.arguments, call.handle.schema(), device);
  const auto before = layouts_of(arguments);
  make_call(call.handle, arguments);
  call.fresh_arguments = layouts_of(arguments) != before;
  if (!call.fresh_arguments) {
    try {
      make_call(call.handle, arguments);
    } catch (const std::exception&) {
      call.fresh_arguments = true;
    }
  }
}

CallSequence::CallSequence(const std::vector<HostCall>& calls, std::vector<size_t> order, c10::Device device)
    : calls_(calls), order_(std::move(order)), device_(device), on_device_(calls.size()) {
  for (size_t i = 0; i < calls.size(); ++i) {
    on_device_[i].arguments = copy_arguments(calls[i].arguments, calls[i].handle.schema(), device);
    needs_fresh_ |= calls[i].fresh_arguments;
  }
}

void CallSequence::prepare(size_t times) {
  for (size_t i = 0; i < calls_.size(); ++i) {
    if (calls_[i].fresh_arguments) {
      const auto uses = static_cast<size_t>(std::count(order_.begin(), order_.end(), i));
      on_device_[i].fresh.clear();
      for (size_t n = 0; n < times * uses; ++n) {
        on_device_[i].fresh.push_back(copy_arguments(calls_[i].arguments, calls_[i].handle.schema(), device_));
      }
      on_device_[i].next_fresh = 0;
    }
  }
}

size_t CallSequence::bytes_of_fresh_arguments() const {
  size_t bytes = 0;
  for (const size_t call : order_) {
    if (calls_[call].fresh_arguments) {
      visit_tensors(on_device_[call].arguments, [&](const at::Tensor& tensor) {
        bytes += tensor.layout() == at::kStrided ? tensor.storage().nbytes() : 0;
      });
    }
  }
  return bytes;
}

const Stack& CallSequence::arguments_for(size_t call) {
  DeviceCall& on_device = on_device_[call];
  return on_device.fresh.empty() ? on_device.arguments : on_device.fresh[on_device.next_fresh++];
}

// The arguments keep an owner while the call runs: see Scene::owners_.
void CallSequence::run() {
  for (const size_t call : order_) {
    const Stack& arguments = arguments_for(call);
    stack_.assign(arguments.begin(), arguments.end());
    calls_[call].handle.callBoxed(stack_);
    stack_.clear();
  }
}

void CallSequence::run_empty() {
  for (const size_t call : order_) {
    const Stack& arguments = on_device_[call].arguments;
    stack_.assign(arguments.begin(), arguments.end());
    stack_.clear();
  }
}

}  // namespace flagos::diag
