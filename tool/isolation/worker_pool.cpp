#include "isolation/worker_pool.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "cli/interrupt.h"
#include "isolation/worker_message.h"

namespace flagos::diag {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPollMs = 500;
constexpr size_t kMostWorkers = 4;
constexpr size_t kLongestLine = size_t{1} << 26;  // bytes
// Loading libtorch and making a context on a busy GPU takes its time.
constexpr std::chrono::seconds kStartPatience(120);
constexpr int kMostFailedStarts = 3;  // in a row, when no worker ever answered
constexpr int kMostLaterFailedStarts = 6;

Row error_row(const Job& job, const std::string& situation, const std::string& stage, const std::string& why) {
  Row row = {{"op", job.op}, {"situation", situation}, {"verdict", "error"}, {"agrees", false}, {"note", why}};
  if (!stage.empty()) {
    row["stage"] = stage;
  }
  return row;
}

}  // namespace

size_t WorkerPool::default_size() { return std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kMostWorkers); }

WorkerPool::WorkerPool(WorkerCommand command, size_t workers, std::chrono::seconds patience)
    : WorkerPool(std::move(command), workers, patience, kStartPatience) {}

WorkerPool::WorkerPool(WorkerCommand command, size_t workers, std::chrono::seconds patience,
                       std::chrono::seconds start_patience)
    : command_(std::move(command)), workers_(workers), patience_(patience), start_patience_(start_patience) {}

void WorkerPool::run(std::deque<Job> jobs, const OnRow& on_row, const OnDone& on_done) {
  slots_.resize(std::max(slots_.size(), std::min(workers_, jobs.size())));
  for (;;) {
    bool busy = false;
    for (Slot& slot : slots_) {
      assign(slot, jobs);
      busy |= slot.busy;
    }
    if ((!busy && jobs.empty()) || interrupted()) {
      return;
    }
    wait(jobs, on_row, on_done);  // for answers, or for the next start
  }
}

void WorkerPool::assign(Slot& slot, std::deque<Job>& jobs) {
  if (slot.busy || jobs.empty()) {
    return;
  }
  if (slot.spent) {
    slot.process.reset();
    slot.spent = false;
  }
  if (slot.process == nullptr) {
    if (Clock::now() < next_start_) {
      return;
    }
    slot.process = std::make_unique<WorkerProcess>(command_);
    slot.ever_answered = false;
  }
  slot.job = std::move(jobs.front());
  jobs.pop_front();
  slot.busy = true;
  slot.begun.clear();
  slot.stage.clear();
  slot.last_answer = Clock::now();
  const Row request = {{"op", slot.job.op},
                       {"situations", slot.job.situations},
                       {"kind", slot.job.kind},
                       {"settings", slot.job.settings}};
  slot.process->send(request.dump());  // a dead worker is seen by the end of its answers
}

void WorkerPool::wait(std::deque<Job>& jobs, const OnRow& on_row, const OnDone& on_done) {
  std::vector<pollfd> waits;
  std::vector<Slot*> of_wait;
  for (Slot& slot : slots_) {
    if (slot.busy) {
      waits.push_back({slot.process->readable_fd(), POLLIN, 0});
      of_wait.push_back(&slot);
    }
  }
  poll(waits.data(), waits.size(), kPollMs);
  for (size_t i = 0; i < waits.size(); ++i) {
    Slot& slot = *of_wait[i];
    if (waits[i].revents != 0) {
      receive(slot, jobs, on_row, on_done);
      continue;
    }
    const auto patience = slot.ever_answered ? patience_ : std::max(patience_, start_patience_);
    if (Clock::now() - slot.last_answer > patience) {
      slot.process->kill();
      bury(slot, jobs, on_row, fmt::format("no answer within {} s", patience.count()));
    }
  }
}

void WorkerPool::receive(Slot& slot, std::deque<Job>& jobs, const OnRow& on_row, const OnDone& on_done) {
  const bool open = slot.process->lines().fill();
  slot.last_answer = Clock::now();
  try {
    while (auto line = slot.process->lines().take()) {
      take_line(slot, *line, on_row, on_done);
      slot.ever_answered = ever_answered_ = true;
      failed_starts_ = 0;
    }
    if (slot.process->lines().unfinished() > kLongestLine) {
      throw NoMessage("the worker answered with a line of more than 64 MiB");
    }
  } catch (const NoMessage& error) {  // what it writes next can't be trusted either
    slot.process->kill();
    bury(slot, jobs, on_row, error.what());
    return;
  }
  if (!open) {
    bury(slot, jobs, on_row, "");
  }
}

void WorkerPool::take_line(Slot& slot, const std::string& line, const OnRow& on_row, const OnDone& on_done) {
  WorkerMessage message = parse_message(line);
  switch (message.kind) {
    case WorkerMessage::Kind::kBegin:
      slot.begun = message.text;
      slot.stage.clear();
      break;
    case WorkerMessage::Kind::kStage:
      slot.stage = message.text;
      break;
    case WorkerMessage::Kind::kRow:
      std::erase(slot.job.situations, slot.begun);
      on_row(slot.job.op, std::move(message.row));
      break;
    case WorkerMessage::Kind::kDone:
      slot.busy = false;
      slot.spent = message.spent;
      on_done(slot.job.op);
      break;
  }
}

void WorkerPool::note_failed_start(const std::string& end) {
  const auto now = Clock::now();
  if (now < next_start_) {
    return;  // of those started together, one counts
  }
  ++failed_starts_;
  if (failed_starts_ >= (ever_answered_ ? kMostLaterFailedStarts : kMostFailedStarts)) {
    throw NoWorkers(
        fmt::format("a worker ended before its first answer ({}), {} in a row; run with -v to see what it says", end,
                    failed_starts_));
  }
  if (ever_answered_) {
    next_start_ = now + std::chrono::seconds(1 << (failed_starts_ - 1));
  }
}

// What the worker had begun is lost; the rest of its job goes back to the front.
void WorkerPool::bury(Slot& slot, std::deque<Job>& jobs, const OnRow& on_row, const std::string& why) {
  const std::string end = slot.process->how_it_ended();
  slot.process.reset();
  if (!slot.busy) {
    return;
  }
  slot.busy = false;
  if (!slot.ever_answered) {
    note_failed_start(why.empty() ? end : why);
  }
  if (!slot.begun.empty() && std::erase(slot.job.situations, slot.begun) != 0) {
    const std::string cause = why.empty() ? fmt::format("the process died: {}", end) : why;
    on_row(slot.job.op, error_row(slot.job, slot.begun, slot.stage, cause));
  }
  jobs.push_front(std::move(slot.job));
}

}  // namespace flagos::diag
