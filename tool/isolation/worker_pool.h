// WorkerPool: jobs spread over workers that may crash or hang.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "isolation/worker_process.h"
#include "report/report.h"

namespace flagos::diag {

// No worker can be started any more. What was answered until then is good.
class NoWorkers : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Job {
  std::string op;
  std::vector<std::string> situations;  // those still to do; of other jobs, their cases or calls
  std::string kind = "check";           // which of the worker's services: "check", "verify", "stats", "bench", "count"
  Row settings = nullptr;               // of a bench job to_row(BenchOptions), of a verify job case_settings()
};

class WorkerPool {
 public:
  // Called with each row as it comes; of a worker that died, with an error row for what it had begun.
  using OnRow = std::function<void(const std::string& op, Row row)>;
  using OnDone = std::function<void(const std::string& op)>;

  // As many workers as there are processors, within reason: each holds a libtorch of its own.
  static size_t default_size();

  // `patience`: how long a worker may be silent before it is killed; until its first answer, which takes loading
  // libtorch and reaching the device, `start_patience` if that is more (by default two minutes).
  WorkerPool(WorkerCommand command, size_t workers, std::chrono::seconds patience);
  WorkerPool(WorkerCommand command, size_t workers, std::chrono::seconds patience, std::chrono::seconds start_patience);

  // May be called again: workers are kept. Returns when all jobs are done or interrupted() is set. Throws NoWorkers
  // when several workers in a row end before they answer anything: at once if none ever answered; else, since a device
  // may be out of memory or recovering for a while, the pauses between them grow to half a minute in all.
  void run(std::deque<Job> jobs, const OnRow& on_row, const OnDone& on_done);

 private:
  struct Slot {
    std::unique_ptr<WorkerProcess> process;
    Job job;
    bool busy = false;
    bool spent = false;  // its device is broken: a new worker takes the next job
    bool ever_answered = false;
    std::string begun;  // the situation under way; empty: none
    std::string stage;  // where in it the worker was last heard of; empty: it told none
    std::chrono::steady_clock::time_point last_answer;
  };

  void assign(Slot& slot, std::deque<Job>& jobs);
  void receive(Slot& slot, std::deque<Job>& jobs, const OnRow& on_row, const OnDone& on_done);
  void take_line(Slot& slot, const std::string& line, const OnRow& on_row, const OnDone& on_done);
  void note_failed_start(const std::string& end);
  void bury(Slot& slot, std::deque<Job>& jobs, const OnRow& on_row, const std::string& why);
  void wait(std::deque<Job>& jobs, const OnRow& on_row, const OnDone& on_done);

  WorkerCommand command_;
  size_t workers_;
  std::chrono::seconds patience_;
  std::chrono::seconds start_patience_;
  int failed_starts_ = 0;  // since a worker last answered
  bool ever_answered_ = false;
  std::chrono::steady_clock::time_point next_start_;
  std::vector<Slot> slots_;
};

}  // namespace flagos::diag
