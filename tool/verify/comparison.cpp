#include "verify/comparison.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "flagos/target.h"
#include "verify/element_comparison.h"

namespace flagos::diag {
namespace {

std::vector<int64_t> vector_of(c10::IntArrayRef values) { return values.vec(); }

template <class T>
std::optional<Difference> unequal(const std::string& subject, const char* what, const T& a, const T& b) {
  if (a == b) {
    return std::nullopt;
  }
  return Difference{fmt::format("{}: {} {} against {}", subject, what, a, b), {}, ""};
}

std::optional<Difference> compare_layout(const std::string& subject, const at::Tensor& a, const at::Tensor& b) {
  const auto text = [](const auto& value) { return c10::str(value); };
  std::optional<Difference> found = unequal(subject, "dtype", text(a.scalar_type()), text(b.scalar_type()));
  const auto then = [&](std::optional<Difference> next) { found = found.has_value() ? found : std::move(next); };
  then(unequal(subject, "layout", text(a.layout()), text(b.layout())));
  then(unequal(subject, "device", text(to_target_device(a.device())), text(to_target_device(b.device()))));
  then(unequal(subject, "shape", vector_of(a.sizes()), vector_of(b.sizes())));
  if (!found.has_value() && a.layout() == at::kStrided) {
    then(unequal(subject, "strides", vector_of(a.strides()), vector_of(b.strides())));
    then(unequal(subject, "storage offset", a.storage_offset(), b.storage_offset()));
    then(unequal(subject, "conj bit", a.is_conj(), b.is_conj()));
    then(unequal(subject, "neg bit", a.is_neg(), b.is_neg()));
    then(unequal(subject, "zero tensor", a._is_zerotensor(), b._is_zerotensor()));
  }
  return found;
}

// The dense tensors that a sparse one is made of.
std::vector<at::Tensor> parts_of(const at::Tensor& tensor) {
  switch (tensor.layout()) {
    case at::kSparse:
      return {tensor._indices(), tensor._values()};
    case at::kSparseCsr:
    case at::kSparseBsr:
      return {tensor.crow_indices(), tensor.col_indices(), tensor.values()};
    case at::kSparseCsc:
    case at::kSparseBsc:
      return {tensor.ccol_indices(), tensor.row_indices(), tensor.values()};
    default:
      return {};
  }
}

std::optional<Difference> compare_parts(const std::string& subject, const at::Tensor& a, const at::Tensor& b,
                                        Contents contents) {
  const auto of_a = parts_of(a);
  const auto of_b = parts_of(b);
  for (size_t i = 0; i < of_a.size(); ++i) {
    if (auto found = compare_tensors(fmt::format("{}, sparse part {}", subject, i), of_a[i], of_b[i], contents)) {
      return found;
    }
  }
  return std::nullopt;
}

bool share_storage(const at::Tensor& a, const at::Tensor& b) {
  return a.has_storage() && b.has_storage() && a.is_alias_of(b);
}

// Which tensors the output is, or shares its storage with: the arguments, and the outputs before it.
std::string aliases_of(const CallOutcome& outcome, size_t output) {
  const at::Tensor& tensor = outcome.outputs[output];
  std::vector<std::string> aliases;
  const auto add = [&](const char* kind, size_t index, const at::Tensor& other) {
    if (other.defined() && tensor.is_same(other)) {
      aliases.push_back(fmt::format("is {} {}", kind, index));
    } else if (other.defined() && share_storage(tensor, other)) {
      aliases.push_back(fmt::format("shares the storage of {} {}", kind, index));
    }
  };
  for (size_t i = 0; i < outcome.inputs.size(); ++i) {
    add("argument", i, outcome.inputs[i]);
  }
  for (size_t i = 0; i < output; ++i) {
    add("output", i, outcome.outputs[i]);
  }
  return aliases.empty() ? "no alias" : fmt::format("{}", fmt::join(aliases, ", "));
}

// A result that is on the CPU of a run elsewhere must be there in the other run too; the CPU as target hides that.
std::optional<Difference> compare_places(const std::string& subject, const CallOutcome& a, const CallOutcome& b,
                                         size_t output) {
  const bool with_rest_a = a.outputs[output].device() == a.device;
  const bool with_rest_b = b.outputs[output].device() == b.device;
  if (with_rest_a == with_rest_b || a.results_anywhere) {
    return std::nullopt;
  }
  const auto& misplaced = with_rest_a ? b.outputs[output] : a.outputs[output];
  return Difference{fmt::format("{}: device {}, unlike the arguments", subject, c10::str(misplaced.device())), {}, ""};
}

std::optional<Difference> compare_outputs(const CallOutcome& a, const CallOutcome& b, Contents contents) {
  if (auto found = unequal("outputs", "number", a.outputs.size(), b.outputs.size())) {
    return found;
  }
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    const std::string subject = fmt::format("output {}", i);
    auto found = compare_tensors(subject, a.outputs[i], b.outputs[i], contents);
    if (!found.has_value() && a.outputs[i].defined()) {
      found = unequal(subject, "alias:", aliases_of(a, i), aliases_of(b, i));
      found = found.has_value() ? found : compare_places(subject, a, b, i);
    }
    if (found.has_value()) {
      return found;
    }
  }
  return std::nullopt;
}

std::optional<Difference> compare_inputs(const CallOutcome& a, const CallOutcome& b, Contents contents) {
  for (size_t i = 0; i < std::min(a.inputs.size(), b.inputs.size()); ++i) {
    const std::string subject = fmt::format("argument {}", i);
    if (auto found = compare_tensors(subject, a.inputs[i], b.inputs[i], contents)) {
      return found;
    }
    if (auto found = unequal(subject, "version counter +", a.version_steps.at(i), b.version_steps.at(i))) {
      return found;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Difference> compare_tensors(const std::string& subject, const at::Tensor& a, const at::Tensor& b,
                                          Contents contents) {
  if (!a.defined() || !b.defined()) {
    return unequal(subject, "defined:", a.defined(), b.defined());
  }
  if (auto found = compare_layout(subject, a, b)) {
    return found;
  }
  if (a.layout() != at::kStrided) {
    return compare_parts(subject, a, b, contents);
  }
  return contents == Contents::kCompared ? compare_elements(subject, a, b) : std::nullopt;
}

std::optional<Difference> compare_outcomes(const CallOutcome& a, const CallOutcome& b, Contents contents) {
  if (a.error.has_value() || b.error.has_value()) {
    return unequal("error", "text:", a.error.value_or("none"), b.error.value_or("none"));
  }
  for (size_t i = 0; i < std::min(a.values.size(), b.values.size()); ++i) {
    if (auto found = unequal(fmt::format("value {}", i), "is", a.values[i], b.values[i])) {
      return found;
    }
  }
  auto found = compare_outputs(a, b, contents);
  return found.has_value() ? found : compare_inputs(a, b, contents);
}

}  // namespace flagos::diag
