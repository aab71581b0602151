#include "kernel/stack_call.h"

#include <ATen/core/List.h>
#include <c10/core/Stream.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "boxing/frame.h"
#include "boxing/results.h"
#include "device/generator.h"
#include "kernel/call_path.h"

namespace flagos::kernel {
namespace {

using boxing::Frame;
using c10::IValue;

c10::IValue boxed_tensor(Frame& frame, const at::Tensor& tensor, bool mutated) {
  const auto* boxed = frame.boxed(tensor, mutated);
  return boxed != nullptr ? **boxed : tensor;
}

IValue boxed_list(Frame& frame, const IValue& value, bool mutated) {
  if (value.isTensorList()) {
    c10::List<at::Tensor> boxed;
    boxed.reserve(value.toTensorList().size());
    for (const at::Tensor& tensor : value.toTensorVector()) {
      boxed.push_back(boxed_tensor(frame, tensor, mutated).toTensor());
    }
    return boxed;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> boxed;
    const auto list = value.toOptionalTensorList();
    boxed.reserve(list.size());
    for (size_t i = 0; i < list.size(); ++i) {
      const std::optional<at::Tensor> element = list.get(i);
      boxed.push_back(element.has_value() ? std::optional(boxed_tensor(frame, *element, mutated).toTensor())
                                          : std::nullopt);
    }
    return boxed;
  }
  if (value.isList() && value.toList().elementType()->kind() == c10::TypeKind::ListType) {
    c10::impl::GenericList boxed(value.toList().elementType());
    for (const IValue& inner : value.toListRef()) {
      boxed.push_back(boxed_list(frame, inner, mutated));
    }
    return boxed;
  }
  return value;
}

IValue boxed_value(Frame& frame, const IValue& value, bool mutated) {
  if (value.isTensor()) {
    return boxed_tensor(frame, value.toTensor(), mutated);
  }
  if (value.isList()) {
    return boxed_list(frame, value, mutated);
  }
  if (value.isDevice()) {
    return frame.box_device(value.toDevice());
  }
  if (value.isGenerator() && value.toGenerator().defined()) {
    at::Generator generator = device::to_target_generator(value.toGenerator());
    frame.add_keys(generator.key_set().raw_repr());
    return generator;
  }
  if (value.isStream()) {
    const c10::Stream stream = value.toStream();
    return c10::Stream(c10::Stream::UNSAFE, to_target_device(stream.device()), stream.id());
  }
  return value;
}

// A host tensor without dimensions is passed as it is; one that the call wrote to comes back as it is, too.
bool is_argument(const std::vector<IValue>& arguments, const at::Tensor& tensor) {
  return std::any_of(arguments.begin(), arguments.end(), [&](const IValue& argument) {
    return argument.isTensor() && argument.toTensor().is_same(tensor);
  });
}

IValue unboxed_value(Frame& frame, const std::vector<IValue>& arguments, IValue&& value) {
  if (value.isTensor() && is_argument(arguments, value.toTensor())) {
    return std::move(value);
  }
  if (value.isTensor()) {
    return boxing::unbox_tensor(frame, std::move(value).toTensor());
  }
  if (value.isTensorList()) {
    std::vector<at::Tensor> tensors = value.toTensorVector();
    value = IValue();  // the list's own references go, so that fresh tensors are seen to be fresh
    for (at::Tensor& tensor : tensors) {
      tensor = boxing::unbox_tensor(frame, std::move(tensor));
    }
    return tensors;
  }
  return std::move(value);
}

// Puts the arguments back if the call throws, since every kernel leaves them on the stack then.
class TakenArguments {
 public:
  TakenArguments(torch::jit::Stack& stack, size_t count) : stack_(stack) {
    const auto first = stack.end() - static_cast<std::ptrdiff_t>(count);
    values.assign(std::make_move_iterator(first), std::make_move_iterator(stack.end()));
    stack.erase(first, stack.end());
  }
  ~TakenArguments() {
    if (!done) {  // the stack has room: they came from it
      stack_.insert(stack_.end(), std::make_move_iterator(values.begin()), std::make_move_iterator(values.end()));
    }
  }
  TakenArguments(const TakenArguments&) = delete;
  TakenArguments& operator=(const TakenArguments&) = delete;
  TakenArguments(TakenArguments&&) = delete;
  TakenArguments& operator=(TakenArguments&&) = delete;

  std::vector<IValue> values;
  bool done = false;

 private:
  torch::jit::Stack& stack_;
};

}  // namespace

void call_on_stack(const OpContext& context, torch::jit::Stack& stack, c10::DispatchKeySet arrived) {
  const auto& schema = context.handle.schema();
  const size_t count = schema.arguments().size();
  // Sources outlive the frame; `boxed` goes before it, so that an alias that only the stack held is seen as free.
  TakenArguments taken(stack, count);
  std::vector<IValue>& sources = taken.values;
  Frame frame;
  frame.add_keys(arrived.raw_repr());
  torch::jit::Stack boxed;
  boxed.reserve(std::max(count, schema.returns().size()));
  for (size_t i = 0; i < count; ++i) {
    if (((context.policy.contiguous_args >> i) & 1) != 0 && sources[i].isTensor() && sources[i].toTensor().defined()) {
      sources[i] = sources[i].toTensor().contiguous();
    }
    const auto host =
        ((context.policy.host_args >> i) & 1) != 0 ? std::optional<Frame::HostTensors>(frame) : std::nullopt;
    boxed.push_back(boxed_value(frame, sources[i], ((context.mutated_args >> i) & 1) != 0));
  }
  if (takes_fast_path(context, frame) && context.target_kernel != nullptr) {
    context.target_kernel->callBoxed(context.handle, target_keys(), &boxed);
  } else {
    context.handle.callBoxed(boxed);
  }
  finish<true>(frame);
  for (IValue& result : boxed) {
    result = unboxed_value(frame, sources, std::move(result));
  }
  taken.done = true;
  stack.insert(stack.end(), std::make_move_iterator(boxed.begin()), std::make_move_iterator(boxed.end()));
}

}  // namespace flagos::kernel
