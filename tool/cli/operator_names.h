// OP on the command line: a full overload, a bare name (all its overloads), or a glob.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flagos::diag {

// Every operator of the dispatcher that has a schema, as "aten::add.Tensor", sorted.
std::vector<std::string> all_operators();

// The operators among `known` (sorted) that `pattern` means. Without a namespace it means aten's; when none fits, those
// of any namespace. Empty when there is none.
std::vector<std::string> matching_operators(std::string_view pattern, const std::vector<std::string>& known);

// Up to `count` of the names in `known` that `name` was probably meant to be, nearest first. Compares bare names when
// `name` has no overload.
std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& known, size_t count = 3);

// The operators that `patterns` mean, sorted, each once. Throws UsageError naming the nearest names for a pattern that
// means none.
std::vector<std::string> select_operators(const std::vector<std::string>& patterns,
                                          const std::vector<std::string>& known);

// "add.Tensor" for "aten::add.Tensor"; other namespaces stay.
std::string_view without_aten(std::string_view op);

}  // namespace flagos::diag
