#include "commands/measured_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "cli/interrupt.h"
#include "cli/operator_names.h"
#include "measure/recorded_bench.h"
#include "measure/time_share.h"
#include "report/progress.h"

namespace flagos::diag {
namespace {

constexpr double kPatienceFactor = 4;
constexpr double kPatienceBesides = 120;  // to load the worker and to make the arguments

size_t call_of_item(const std::string& item) { return item == kStep ? 0 : std::stoul(item); }

std::string case_name(const Job& job, const std::string& item) {
  return fmt::format("{} --call {}", without_aten(job.op), call_of_item(item));
}

// Says what is left of `jobs`, after `elapsed_s` seconds.
void take_stock(MeasuredCases& measured, const std::deque<Job>& jobs, double budget_s, double elapsed_s) {
  NotReached& not_reached = measured.not_reached;
  const size_t done = measured.cases.size();
  not_reached.cases = count_cases(jobs);
  not_reached.interrupted = interrupted();
  not_reached.budget_s = budget_s;
  not_reached.enough_s =
      elapsed_s * static_cast<double>(done + not_reached.cases) / static_cast<double>(std::max<size_t>(done, 1));
  if (!jobs.empty()) {
    not_reached.first = case_name(jobs.front(), jobs.front().situations.front());
  }
  if (not_reached.interrupted) {
    return;
  }
  const std::string why =
      not_reached.stopped.empty() ? fmt::format(" within {:.0f} s", budget_s) : ": " + not_reached.stopped;
  for (const Job& job : jobs) {
    for (const auto& item : job.situations) {
      const Row nothing = {{"case", ""}, {"note", "not reached" + why}, {kNotReached, true}};
      measured.cases.push_back({std::string(without_aten(job.op)), call_of_item(item), nothing});
    }
  }
}

}  // namespace

size_t count_cases(const std::deque<Job>& jobs) {
  size_t count = 0;
  for (const Job& job : jobs) {
    count += job.situations.size();
  }
  return count;
}

// One job after the other, for what each gets of the time depends on those before.
MeasuredCases measure_cases(std::deque<Job> jobs, const WorkerCommand& command, double budget_s, bool quiet,
                            const std::function<Row(double)>& settings) {
  const auto start = std::chrono::steady_clock::now();
  TimeShare time(budget_s, count_cases(jobs));
  const auto patience = static_cast<int64_t>(time.most_s() * kPatienceFactor + kPatienceBesides);
  WorkerPool pool(command, 1, std::chrono::seconds(patience));
  Progress progress("ab-bench", jobs.size(), quiet);
  MeasuredCases measured;
  std::vector<BenchCase>& cases = measured.cases;
  std::string& stopped = measured.not_reached.stopped;
  while (!jobs.empty()) {
    const auto share = time.next(jobs.front().situations.size());
    if (!share.has_value()) {
      break;
    }
    Job job = std::move(jobs.front());
    jobs.pop_front();
    job.settings = settings(*share);
    const std::deque<Job> one = {job};
    try {
      pool.run(
          one,
          [&](const std::string& op, Row row) {
            const auto item = row.at("situation").get<std::string>();
            std::erase(job.situations, item);
            cases.push_back({std::string(without_aten(op)), call_of_item(item), std::move(row)});
          },
          [&](const std::string& op) { progress.advance(without_aten(op)); });
    } catch (const NoWorkers& error) {
      if (cases.empty()) {
        throw;
      }
      stopped = error.what();
    }
    if (interrupted() || !stopped.empty()) {
      if (!job.situations.empty()) {
        jobs.push_front(std::move(job));
      }
      break;
    }
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  take_stock(measured, jobs, time.budget_s(), elapsed.count());
  return measured;
}

}  // namespace flagos::diag
