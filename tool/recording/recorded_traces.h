// What the recorders in a program's processes left in their folder (hook/flagos_recorder.py).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace flagos::diag {

struct RecordedProcess {
  int pid = 0;
  std::string python;           // its interpreter
  std::string command;          // how it was started
  std::string torch;            // the version; empty: the process did not import torch
  bool has_torch = false;       // whether it could have
  unsigned steps = 0;           // that began
  unsigned skipped = 0;         // of them, those before the recorded ones
  std::string ended;            // "steps", "seconds", "size"; empty: recorded to the end
  std::string error;            // why recording failed
  std::filesystem::path trace;  // the complete file; empty: there is none
  size_t calls = 0;             // of operators, in the trace
};

// One for each Python process that ended in order, by process id.
std::vector<RecordedProcess> recorded_processes(const std::filesystem::path& folder);

// Traces in `folder` of processes that were ended before they could complete them.
size_t unfinished_traces(const std::filesystem::path& folder);

}  // namespace flagos::diag
