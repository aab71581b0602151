// What is common to the fault tests: a count of the faults injected, and the whole visible state of tensors.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <vector>

namespace flagos::testing {

// Faults injected by this process, printed when it ends.
inline uint64_t g_faults_injected = 0;

// What a caller can see of tensors: metadata, contents of the whole storage, version, and which share a storage.
struct State {
  std::vector<std::string> tensors;
  std::vector<bool> aliases;  // of each pair

  bool operator==(const State&) const = default;
};

// `versions`: the tensors' version counters at the start; what is compared is how far each has moved.
State state_of(const std::vector<at::Tensor>& tensors, const std::vector<int64_t>& versions);
std::vector<int64_t> versions_of(const std::vector<at::Tensor>& tensors);
std::string shown(const State& state);

// What a call threw: "" for nothing, else the kind of exception and its text without the backtrace.
template <class Call>
std::string thrown_by(const Call& call) {
  try {
    call();
  } catch (const c10::OutOfMemoryError& error) {
    return std::string("OutOfMemoryError: ") + error.what_without_backtrace();
  } catch (const c10::Error& error) {
    return std::string("Error: ") + error.what_without_backtrace();
  } catch (const std::bad_alloc&) {
    return "bad_alloc";
  } catch (const std::exception& error) {
    return std::string("exception: ") + error.what();
  }
  return "";
}

// Of this thread: aliases bound now, which is none between calls.
size_t bound_aliases();

}  // namespace flagos::testing
