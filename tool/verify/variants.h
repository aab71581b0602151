// Variants: recorded arguments in other layouts, or with other data.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "situations/argument_tensors.h"

namespace flagos::diag {

enum class Variant {
  kAsRecorded,
  kContiguous,     // those that were recorded otherwise made contiguous
  kTransposed,     // the last two dimensions swapped in memory
  kOffset,         // views that begin three elements into their storage, so that no vector load is aligned
  kExpanded,       // a stride of 0
  kChannelsLast,   // 4-D only
  kEmpty,          // no elements: the leading dimension is 0
  kZeroDim,        // each tensor's first element, as a tensor without dimensions
  kSpecial,        // negative zeros, NaN with a payload, infinities among the data
  kConj,           // complex, lazily conjugated
  kNeg,            // lazily negated
  kZeroTensor,     // an efficient zero tensor: without memory
  kFunctionalize,  // in functionalization wrappers
};

inline constexpr std::array kVariants = {
    Variant::kAsRecorded,   Variant::kContiguous, Variant::kTransposed,   Variant::kOffset,  Variant::kExpanded,
    Variant::kChannelsLast, Variant::kEmpty,      Variant::kZeroDim,      Variant::kSpecial, Variant::kConj,
    Variant::kNeg,          Variant::kZeroTensor, Variant::kFunctionalize};

// "as_recorded", "channels_last"...
const char* variant_name(Variant variant) noexcept;
std::optional<Variant> variant_of(std::string_view name) noexcept;

// Changes host tensors among `arguments` into `variant`. Tensors that share a storage stay as they are; so do mutated
// ones where the variant could not be written to (expanded). False when nothing could be changed: the variant makes no
// sense for this call. kConj wants arguments that were made with MaterializeOptions::complex_data.
bool apply_variant(Variant variant, Stack& arguments, const c10::FunctionSchema& schema);

// The rest of a variant, for arguments that are where they will be used: what can't be copied from device to device.
void apply_on_device(Variant variant, Stack& arguments, const c10::FunctionSchema& schema);

// Whether PyTorch deals with the variant above the kernels of a device, so that only a caller that redispatches below
// brings it to them; see Note [Two calls] in situations/observation.h.
bool handled_above_kernel(Variant variant) noexcept;

}  // namespace flagos::diag
