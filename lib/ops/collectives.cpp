#include "ops/collectives.h"

#include <ATen/core/boxing/OperatorKernel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>
#include <c10/util/Exception.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "boxing/alias.h"
#include "boxing/shallow_copy.h"
#include "boxing/special_alias.h"
#include "boxing/tensors_of.h"
#include "boxing/thread_state.h"
#include "device/target_constants.h"
#include "kernel/registration.h"
#include "redispatch/operator_table.h"

namespace flagos::ops {
namespace {

using c10::DispatchKey;
using c10::IValue;
using torch::jit::Stack;

// The target's views of one call's tensors, and the way back for its results.
class Views {
 public:
  // Throws for a tensor that is not on flagos, or has no memory.
  at::Tensor to_target(const at::Tensor& tensor, const c10::OperatorHandle& op) {
    if (!tensor.defined()) {
      return tensor;
    }
    const auto& impl = *tensor.unsafeGetTensorImpl();
    at::Tensor view;
    if (boxing::is_boxable(impl)) {
      view = boxing::as_target(tensor);
    } else if (boxing::is_special(impl)) {
      view = *boxing::SpecialAlias(tensor, /*mutated_=*/false, /*next_=*/nullptr).boxed;
      has_special_ = true;
    } else {
      throw_not_viewable(tensor, op);
    }
    sources_.emplace(view.unsafeGetTensorImpl(), Source{view, tensor});
    return view;
  }

  at::Tensor to_flagos(const at::Tensor& tensor) const {
    const auto found = sources_.find(tensor.unsafeGetTensorImpl());
    return found != sources_.end() ? found->second.flagos : boxing::as_flagos(tensor);
  }

  bool has_special() const noexcept { return has_special_; }

  // Gives the caller's tensors of special layout what the backend put into their views, once it is done with them.
  void write_back() {
    if (has_special_) {
      std::call_once(written_back_, [this] { write_back_special(); });
    }
  }

 private:
  struct Source {
    at::Tensor target;  // keeps the address that it is found by
    at::Tensor flagos;
  };

  [[noreturn]] static void throw_not_viewable(const at::Tensor& tensor, const c10::OperatorHandle& op) {
    TORCH_CHECK(tensor.device().type() == c10::DeviceType::PrivateUse1,
                "Expected all tensors to be on the same device, but found at least two devices, ",
                c10::DeviceType::PrivateUse1, " and ", tensor.device(), "!");
    TORCH_CHECK_NOT_IMPLEMENTED(false, "flagos: ", op.operator_name(),
                                " got a flagos tensor without memory (a fake, meta or otherwise storage-less tensor).");
  }

  void write_back_special() const {
    for (const auto& [impl, source] : sources_) {
      c10::TensorImpl* const ours = source.flagos.unsafeGetTensorImpl();
      if (boxing::is_special(*ours)) {
        auto copy = impl->shallow_copy_and_detach(ours->version_counter(), ours->allow_tensor_metadata_change());
        boxing::retag_as_flagos(copy.get());
        ours->shallow_copy_from(copy);
      }
    }
  }

  std::unordered_map<const c10::TensorImpl*, Source> sources_;
  bool has_special_ = false;
  std::once_flag written_back_;
};

// A backend's Work whose results are flagos tensors.
class FlagosWork final : public c10d::Work {
 public:
  FlagosWork(c10::intrusive_ptr<c10d::Work> work, std::shared_ptr<Views> views)
      : c10d::Work(/*rank=*/-1, work->retrieveOpType()), work_(std::move(work)), views_(std::move(views)) {}

  bool isCompleted() override { return work_->isCompleted(); }
  bool isSuccess() const override { return work_->isSuccess(); }
  std::exception_ptr exception() const override { return work_->exception(); }
  int sourceRank() const override { return work_->sourceRank(); }
  void blockCurrentStream() override { work_->blockCurrentStream(); }
  void abort() override { work_->abort(); }
  c10::intrusive_ptr<c10::ivalue::Future> getFutureResult() override { return work_->getFutureResult(); }
  float getDuration() const override { return work_->getDuration(); }
  uint64_t getSequencenumber() const override { return work_->getSequencenumber(); }

  std::vector<at::Tensor> result() override {
    std::vector<at::Tensor> tensors = work_->result();
    views_->write_back();
    for (at::Tensor& tensor : tensors) {
      tensor = views_->to_flagos(tensor);
    }
    return tensors;
  }

  void synchronize() override {
    work_->synchronize();
    views_->write_back();
  }

  bool wait(std::chrono::milliseconds timeout) override {
    const bool done = work_->wait(timeout);
    if (done) {
      views_->write_back();
    }
    return done;
  }

  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override {
    const auto future = work_->getFuture();
    return future->then(
        [views = views_](c10::ivalue::Future& done) {
          const IValue value = done.value();  // throws if the call failed
          views->write_back();
          return boxing::converted(value, [&](const at::Tensor& tensor) { return views->to_flagos(tensor); });
        },
        future->elementType());
  }

 private:
  c10::intrusive_ptr<c10d::Work> work_;
  std::shared_ptr<Views> views_;
};

// A group of several backends knows one for each device type.
bool serves(const c10d::ProcessGroup& group, c10::DeviceType type) {
  const std::vector<c10::Device> devices = group.getDeviceTypes();
  return std::any_of(devices.begin(), devices.end(), [&](c10::Device device) { return device.type() == type; });
}

// Null when the backend has nothing to wait for. A sparse result is then there already.
IValue flagos_work(c10::intrusive_ptr<c10d::Work> work, std::shared_ptr<Views> views) {
  if (work == nullptr) {
    views->write_back();
    return work;
  }
  return c10::intrusive_ptr<c10d::Work>(c10::make_intrusive<FlagosWork>(std::move(work), std::move(views)));
}

class Collective final : public c10::OperatorKernel {
 public:
  // `native` is PyTorch's own kernel at PrivateUse1; `group` the place of the process group among the arguments.
  Collective(c10::KernelFunction native, size_t group, uint32_t id)
      : native_(std::move(native)), group_(group), id_(id) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) const {
    count(thread_state().direct[id_]);
    const auto views = std::make_shared<Views>();
    const size_t arguments = op.schema().arguments().size();
    Stack boxed;
    for (const IValue& value : torch::jit::last(*stack, arguments)) {
      boxed.push_back(boxing::converted(value, [&](const at::Tensor& tensor) { return views->to_target(tensor, op); }));
    }
    torch::jit::drop(*stack, arguments);
    call(op, keys, views->has_special(), boxed);
    for (const IValue& result : boxed) {
      stack->push_back(result.isObject() ? flagos_work(result.toCustomClass<c10d::Work>(), views)
                                         : boxing::converted(result, [&](const at::Tensor& tensor) {
                                             return views->to_flagos(tensor);
                                           }));
    }
  }

 private:
  // The target may have another kernel for sparse tensors (NCCL does); PyTorch has none for sparse ones of PrivateUse1.
  void call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, bool special, Stack& boxed) const {
    const auto group = boxed.at(group_).toCustomClass<c10d::ProcessGroup>();
    const bool by_target = special && serves(*group, target().type);
    if (!by_target && serves(*group, c10::DeviceType::PrivateUse1)) {
      native_.callBoxed(op, keys, &boxed);
    } else {
      op.callBoxed(boxed);
    }
  }

  c10::KernelFunction native_;
  size_t group_;
  uint32_t id_;
};

void register_collective(const kernel::OpContext& context, const c10::KernelFunction& native, size_t group,
                         DispatchKey key) {
  kernel::register_kernel(
      context, c10::KernelFunction::makeFromBoxedFunctor(std::make_unique<Collective>(native, group, context.id)), key);
}

}  // namespace

void register_collectives() {
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getRegistrationsForDispatchKey(DispatchKey::PrivateUse1)) {
    const auto op = name.name.starts_with("c10d::") ? dispatcher.findSchema(name) : std::nullopt;
    const auto group = op.has_value() ? op->schema().argumentIndexWithName("process_group") : std::nullopt;
    if (!group.has_value()) {
      continue;
    }
    const auto index = static_cast<size_t>(*group);
    const c10::KernelFunction native = kernel_slot(*op, c10::DispatchKeySet(DispatchKey::PrivateUse1));
    const auto& context = kernel::add_context(*op, KernelKind::kBoxed);
    register_collective(context, native, index, DispatchKey::PrivateUse1);
    if (op->hasKernelForDispatchKey(DispatchKey::SparseCPU)) {
      register_collective(context, native, index, DispatchKey::SparsePrivateUse1);
    }
  }
}

}  // namespace flagos::ops
