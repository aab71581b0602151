#include "ops/packed_sequence.h"

#include <ATen/ATen.h>
#include <ATen/ops/_pack_padded_sequence_native.h>

#include <tuple>

#include "boxing/shallow_copy.h"
#include "boxing/thread_state.h"
#include "kernel/registration.h"

namespace flagos::ops {
namespace {

uint32_t g_pack_id = 0;

std::tuple<at::Tensor, at::Tensor> pack_padded_sequence(const at::Tensor& input, const at::Tensor& lengths,
                                                        bool batch_first) {
  count(thread_state().direct[g_pack_id]);
  // PyTorch's function itself, which refuses lengths on a device: through the dispatcher those would come back here.
  auto [data, batch_sizes] = at::native::_pack_padded_sequence(boxing::as_target(input), lengths, batch_first);
  return {boxing::as_flagos(data), batch_sizes};
}

}  // namespace

void register_packed_sequence() {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::_pack_padded_sequence", "");
  const auto& context = kernel::add_context(op, KernelKind::kView);
  g_pack_id = context.id;
  kernel::register_kernel(context, c10::KernelFunction::makeFromUnboxedFunction(TORCH_FN(pack_padded_sequence)));
}

}  // namespace flagos::ops
