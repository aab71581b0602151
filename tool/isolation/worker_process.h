// A worker as its parent sees it: a process, and a pipe each way.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "isolation/line_pipe.h"

namespace flagos::diag {

// How a worker is started.
struct WorkerCommand {
  std::vector<std::string> program;  // this tool; or a Python with a script that calls flagos_diag_worker()
  uint64_t seed = 0;
  std::string trace;           // empty: the bundled corpus
  bool show_messages = false;  // standard output and error go to this process's standard error, else nowhere
  std::vector<std::string> defaults =
      {};  // "NAME=value": variables that this process's environment leaves unset or empty
};

class WorkerProcess {
 public:
  // Throws std::runtime_error when no process can be started.
  explicit WorkerProcess(const WorkerCommand& command);
  // Kills the process if it still runs.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  WorkerProcess(WorkerProcess&&) = delete;
  WorkerProcess& operator=(WorkerProcess&&) = delete;

  bool send(std::string_view line) const { return write_line(to_worker_, line); }
  LineReader& lines() { return lines_; }
  int readable_fd() const { return from_worker_; }

  void kill() const;
  // Waits for the end; how it ended: "SIGSEGV", "exit code 2".
  std::string how_it_ended();

 private:
  int to_worker_ = -1;
  int from_worker_ = -1;
  pid_t pid_ = -1;
  LineReader lines_{-1};
};

}  // namespace flagos::diag
