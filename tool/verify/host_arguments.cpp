#include "verify/host_arguments.h"

#include <stdexcept>

#include "verify/known_operators.h"

namespace flagos::diag {

std::vector<c10::IValue> host_arguments(const CallRecord& call, const c10::OperatorHandle& op, Variant variant,
                                        Data data, uint64_t seed) {
  if (variant == Variant::kEmpty && trusts_sizes(call.op)) {
    throw std::runtime_error("the operator writes as many elements as it is told, whether they are there or not");
  }
  if (variant != Variant::kAsRecorded && trusts_strides(call.op)) {
    throw std::runtime_error(
        "the operator trusts the sizes and strides that it is given: others read beyond the storage");
  }
  MaterializeOptions options;
  options.seed = seed;
  options.data = data;
  options.complex_data = variant == Variant::kConj;
  auto arguments = materialize(call, op, options);
  if (!apply_variant(variant, arguments, op.schema())) {
    throw std::runtime_error("no argument that could be changed so");
  }
  return arguments;
}

}  // namespace flagos::diag
