#include "commands/counted_instructions.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "cli/exit_code.h"
#include "cli/operator_names.h"
#include "measure/recorded_bench.h"
#include "report/progress.h"

namespace flagos::diag {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{900};  // callgrind runs a program some fifty times slower

// Of callgrind's files; goes with what is in it.
class CountsFolder {
 public:
  CountsFolder() {
    std::string name = (fs::temp_directory_path() / "flagos-diag.XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw UsageError(fmt::format("--instructions: {}: {}. Set TMPDIR to a folder that can be written to.", name,
                                   std::strerror(errno)));
    }
    path_ = name;
  }
  ~CountsFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  CountsFolder(const CountsFolder&) = delete;
  CountsFolder& operator=(const CountsFolder&) = delete;
  CountsFolder(CountsFolder&&) = delete;
  CountsFolder& operator=(CountsFolder&&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::optional<std::string> find_valgrind() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = fmt::format("{}/valgrind", folder.empty() ? "." : folder);
    if (access(file.c_str(), X_OK) == 0) {
      return file;
    }
  }
  return std::nullopt;
}

// Why it doesn't work; empty: it does.
std::string complaint_of(CountingMethod method) {
  if (method == CountingMethod::kCallgrind) {
    return !knows_callgrind()             ? "this build does not know callgrind: install valgrind, then build again"
           : !find_valgrind().has_value() ? "there is no valgrind on PATH: install it (apt-get install valgrind)"
                                          : "";
  }
  try {
    make_perf_counter();
    return "";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

// Under valgrind /proc/self/exe would be valgrind.
WorkerCommand under_callgrind(WorkerCommand command, const fs::path& folder) {
  command.program = callgrind_command(find_valgrind().value(), folder);
  command.program.push_back(fs::read_symlink("/proc/self/exe").string());
  return command;
}

std::string case_name(const std::string& op, size_t call) { return fmt::format("{} --call {}", op, call); }

void take_row(CountedInstructions& counted, const std::string& op, Row row) {
  const auto item = row.at("situation").get<std::string>();
  const size_t call = item == kStep ? 0 : std::stoul(item);
  const std::string name(without_aten(op));
  if (row.contains("instructions_per_call")) {
    counted.counts[{name, call}] = std::move(row);
  } else {
    counted.not_counted[case_name(name, call)] = row.value("note", Row("no count came"));
  }
}

}  // namespace

CountingMethod choose_counting(const std::string& wanted) {
  std::string complaints;
  for (const CountingMethod method : {CountingMethod::kPerf, CountingMethod::kCallgrind}) {
    if (wanted != "auto" && wanted != counting_name(method)) {
      continue;
    }
    const std::string complaint = complaint_of(method);
    if (complaint.empty()) {
      return method;
    }
    complaints += fmt::format(" {}: {}.", counting_name(method), complaint);
  }
  throw UsageError(fmt::format("--instructions: they can't be counted here.{}", complaints));
}

CountedInstructions count_instructions(std::deque<Job> jobs, CountingMethod method, const WorkerCommand& ordinary,
                                       bool quiet) {
  const auto start = Clock::now();
  const CountsFolder folder;
  const bool callgrind = method == CountingMethod::kCallgrind;
  for (Job& job : jobs) {
    job.kind = "count";
    job.settings = {{"by", counting_name(method)}, {"folder", folder.path().string()}};
  }
  CountedInstructions counted;
  Progress progress("ab-bench, instructions", jobs.size(), quiet);
  try {
    WorkerPool(callgrind ? under_callgrind(ordinary, folder.path()) : ordinary, 1, kPatience)
        .run(
            std::move(jobs), [&](const std::string& op, Row row) { take_row(counted, op, std::move(row)); },
            [&](const std::string& op) { progress.advance(without_aten(op)); });
  } catch (const std::runtime_error& error) {  // the times that were measured are worth having without
    counted.not_counted["(all)"] = error.what();
  }
  counted.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return counted;
}

void add_instructions(Report& report, const CountedInstructions& counted, CountingMethod method) {
  for (Row& row : report.rows) {
    const auto found = counted.counts.find({row.at("op").get<std::string>(), row.at("call").get<size_t>()});
    const bool known = found != counted.counts.end();
    for (const char* field : {"instructions_per_call", "instructions_over_native"}) {
      row[field] = known ? found->second.at(field) : Row(nullptr);
    }
    row["instructions_by"] = known ? Row(counting_name(method)) : Row(nullptr);
  }
  for (auto* fields : {&report.fields, &report.table_fields}) {
    fields->insert(fields->end(),
                   {"instructions_per_call.native", "instructions_per_call.off", "instructions_per_call.on",
                    "instructions_over_native.off", "instructions_over_native.on"});
  }
  report.fields.emplace_back("instructions_by");
  report.summary["instructions_by"] = counting_name(method);
  report.summary["counted"] = counted.counts.size();
  report.summary["not_counted"] = counted.not_counted;
  report.summary["counting_seconds"] = std::round(counted.seconds * 10) / 10;
  report.notes.push_back(fmt::format("Instructions of {} cases were counted by {} in {:.0f} s, beside the time budget.",
                                     counted.counts.size(), counting_name(method), counted.seconds));
}

}  // namespace flagos::diag
