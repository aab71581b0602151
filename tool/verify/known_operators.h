// What verify must know of single operators.
#pragma once

#include <string>

namespace flagos::diag {

// Whether the operator makes some result on the CPU whatever the device of its arguments: lengths, sizes, scalars.
bool makes_results_on_host(const std::string& op);

// Why an operator's elements are not compared: nullptr when they are.
const char* why_contents_ignored(const std::string& op);

// Whether the operator believes the sizes and strides that it is given: with others it would read beyond the storage.
bool trusts_strides(const std::string& op);

// Whether it believes that its tensors have the elements that numbers beside them promise.
bool trusts_sizes(const std::string& op);

}  // namespace flagos::diag
