#include "faults/injection.h"

#include <gtest/gtest.h>

#include <cstring>
#include <iostream>
#include <sstream>

#include "boxing/thread_state.h"
#include "faults/failing_allocator.h"

namespace flagos::testing {
namespace {

// The storage's bytes, gaps included: what a call wrote beside the tensor counts as well.
std::string contents(const at::Tensor& tensor) {
  const auto* bytes = static_cast<const char*>(tensor.storage().data());
  return bytes != nullptr ? std::string(bytes, tensor.storage().nbytes()) : std::string();
}

std::string described(const at::Tensor& tensor, int64_t version) {
  if (!tensor.defined()) {
    return "undefined";
  }
  std::ostringstream out;
  out << tensor.dtype() << ' ' << tensor.sizes() << tensor.strides() << '+' << tensor.storage_offset() << " of "
      << tensor.storage().nbytes() << " bytes, version +" << tensor._version() - version
      << (tensor.is_conj() ? " conj" : "") << (tensor.is_neg() ? " neg" : "")
      << (tensor.is_contiguous() ? " contiguous" : "") << ", " << tensor.use_count() << " handles, "
      << tensor.storage().use_count() << " of the storage: ";
  for (const char byte : contents(tensor)) {
    out << std::hex << (static_cast<unsigned>(byte) & 0xffU) << ' ';
  }
  return out.str();
}

class Setting final : public ::testing::Environment {
 public:
  void SetUp() override { failing(); }
  void TearDown() override { std::cout << "faults injected: " << g_faults_injected << '\n'; }
};
[[maybe_unused]] const auto* const g_setting = ::testing::AddGlobalTestEnvironment(new Setting());

}  // namespace

std::vector<int64_t> versions_of(const std::vector<at::Tensor>& tensors) {
  std::vector<int64_t> versions;
  versions.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors) {
    versions.push_back(tensor.defined() ? tensor._version() : 0);
  }
  return versions;
}

State state_of(const std::vector<at::Tensor>& tensors, const std::vector<int64_t>& versions) {
  State state;
  for (size_t i = 0; i < tensors.size(); ++i) {
    state.tensors.push_back(described(tensors[i], versions[i]));
    for (size_t j = 0; j < i; ++j) {
      state.aliases.push_back(tensors[i].defined() && tensors[j].defined() && tensors[i].is_alias_of(tensors[j]));
    }
  }
  return state;
}

std::string shown(const State& state) {
  std::string text;
  for (const std::string& tensor : state.tensors) {
    text += "\n  " + tensor;
  }
  for (const bool aliases : state.aliases) {
    text += aliases ? " =" : " /";
  }
  return text;
}

size_t bound_aliases() { return thread_state().bound; }

}  // namespace flagos::testing
