#include "isolation/worker.h"

#include <ATen/Parallel.h>
#include <c10/util/Logging.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cuda/kernel_recorder.h"
#include "flagos/target.h"
#include "isolation/line_pipe.h"
#include "measure/recorded_bench.h"
#include "prediction/operator_facts.h"
#include "report/error_text.h"
#include "situations/call_counts.h"
#include "situations/checker.h"
#include "verify/device_failure.h"
#include "verify/isolated_case.h"
#include "verify/verifier.h"

namespace flagos::diag {
namespace {

constexpr int kLeastArguments = 5;
constexpr int kBrokenDevice = 3;
constexpr int kNoParent = 4;

void send(int out, const Row& message) { write_line(out, message.dump(-1, ' ', false, Row::error_handler_t::replace)); }

// Read when it is asked for: requests that bring their arguments don't.
class LazySource {
 public:
  explicit LazySource(std::string trace) : trace_(std::move(trace)) {}

  const ArgumentSource& get() {
    if (!source_.has_value()) {
      source_ = trace_.empty() ? ArgumentSource::bundled() : ArgumentSource::from_trace(trace_);
    }
    return *source_;
  }

 private:
  std::string trace_;
  std::optional<ArgumentSource> source_;
};

void check(const Row& request, const ArgumentSource& source, uint64_t seed, int out) {
  const auto op = request.at("op").get<std::string>();
  std::unique_ptr<Checker> checker;
  for (const auto& name : request.at("situations")) {
    const auto situation = situation_of(name.get<std::string>()).value();
    send(out, {{"begin", name}});
    if (checker == nullptr) {
      checker = std::make_unique<Checker>(source, op, seed);
    }
    send(out, {{"row", checker->check(situation)}});
  }
}

// The recorder of verify --kernels; null without. It stays until the process ends, whose order of destruction at the
// end is no time to call CUPTI.
KernelRecorder* recorder_for(const Row& settings) {
  if (!settings.is_object() || !settings.value("kernels", false)) {
    return nullptr;
  }
  static KernelRecorder* const recorder = make_target_recorder().release();
  return recorder;
}

// Items are "CALL:CASE".
void verify_items(const Row& request, LazySource& source, uint64_t seed, int out) {
  at::set_num_threads(1);  // several workers share the machine, and sums in one order compare to the bit
  const auto op = request.at("op").get<std::string>();
  const Row& settings = request.at("settings");
  const bool given = settings.contains("args");
  static const std::vector<CallRecord> none;
  const auto& recorded = given ? none : source.get().calls(op);
  Verifier verifier(
      op, seed,
      [out](const char* arm) {
        send(out, {{"stage", arm}});
      },
      recorder_for(settings));
  for (const auto& item : request.at("situations")) {
    const auto text = item.get<std::string>();
    send(out, {{"begin", text}});
    const auto variant = variant_of(text.substr(text.find(':') + 1)).value();
    const size_t call = std::stoul(text);
    Row row;
    if (given) {
      const CaseInput input = case_of_settings(settings, op, variant);
      row = verifier.verify(input.call, variant, input.data);
    } else if (call < recorded.size()) {
      row = verifier.verify(recorded[call], variant);
    } else {
      row = not_applicable_row(fmt::format("there are {} recorded calls", recorded.size()));
    }
    row["situation"] = text;
    const bool equal = row.at("end") == case_end_name(CaseEnd::kEqual);
    send(out, {{"row", std::move(row)}});
    if (!equal && device_failure().has_value()) {
      std::_Exit(kBrokenDevice);  // a new worker does the rest of the job
    }
  }
}

void verify(const Row& request, LazySource& source, uint64_t seed, int out) {
  try {
    verify_items(request, source, seed, out);
  } catch (const CuptiError& error) {
    send(out, {{"row", {{"situation", ""}, {"end", kNoKernels}, {"why", error.what()}}}});
  }
}

// Items are the numbers of recorded calls.
void count_calls(const Row& request, const ArgumentSource& source, uint64_t seed, int out) {
  const auto op = request.at("op").get<std::string>();
  const c10::OperatorHandle handle = operator_handle(op);
  for (const auto& item : request.at("situations")) {
    const auto text = item.get<std::string>();
    send(out, {{"begin", text}});
    Row row = count_call(source.calls(op).at(std::stoul(text)), handle, seed);
    row["situation"] = text;
    send(out, {{"row", std::move(row)}});
  }
}

// Items are the numbers of recorded calls, or "step".
void bench(const Row& request, const ArgumentSource& source, int out) {
  const BenchOptions options = bench_options(request.at("settings"));
  at::set_num_threads(request.at("settings").at("threads").get<int>());
  const auto op = request.at("op").get<std::string>();
  for (const auto& item : request.at("situations")) {
    const auto text = item.get<std::string>();
    send(out, {{"begin", text}});
    Row row = text == kStep ? bench_step(source, options) : bench_call(source, op, std::stoul(text), options);
    row["situation"] = text;
    send(out, {{"row", std::move(row)}});
  }
}

InstructionCounter& counter_for(const Row& settings) {
  static const std::unique_ptr<InstructionCounter> counter =
      settings.at("by") == counting_name(CountingMethod::kPerf)
          ? make_perf_counter()
          : make_callgrind_counter(settings.at("folder").get<std::string>());
  return *counter;
}

// Items are as those of bench().
void count_instructions(const Row& request, const ArgumentSource& source, uint64_t seed, int out) {
  at::set_num_threads(1);  // only this thread's instructions are counted
  const auto op = request.at("op").get<std::string>();
  for (const auto& item : request.at("situations")) {
    const auto text = item.get<std::string>();
    send(out, {{"begin", text}});
    InstructionCounter& counter = counter_for(request.at("settings"));
    Row row = text == kStep ? count_step_instructions(source, seed, counter)
                            : count_call_instructions(source, op, std::stoul(text), seed, counter);
    row["situation"] = text;
    send(out, {{"row", std::move(row)}});
  }
}

void serve(const Row& request, LazySource& source, uint64_t seed, int out) {
  const auto kind = request.value("kind", "check");
  if (kind == "verify") {
    verify(request, source, seed, out);
  } else if (kind == "bench") {
    bench(request, source.get(), out);
  } else if (kind == "count") {
    count_instructions(request, source.get(), seed, out);
  } else if (kind == "stats") {
    count_calls(request, source.get(), seed, out);
  } else {
    check(request, source.get(), seed, out);
  }
  send(out, {{"done", request.at("op")}, {"spent", device_failure().has_value()}});
}

// The end of IN is seen between two jobs only, and a job may take minutes.
void end_with_parent(int out) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  pollfd reader{out, 0, 0};
  if (poll(&reader, 1, 0) > 0) {  // it has gone already
    std::_Exit(kNoParent);
  }
}

int run(int argc, char** argv) {
  flagos::init();
  const int in = std::stoi(argv[2]);
  const int out = std::stoi(argv[3]);
  end_with_parent(out);
  const uint64_t seed = std::stoull(argv[4]);
  LazySource source(argc > kLeastArguments ? argv[kLeastArguments] : "");
  LineReader requests(in);
  while (const auto line = requests.next()) {
    serve(Row::parse(*line), source, seed, out);
  }
  return 0;
}

}  // namespace

bool is_worker(int argc, char** argv) { return argc >= kLeastArguments && std::string_view(argv[1]) == kWorkerFlag; }

}  // namespace flagos::diag

int flagos_diag_worker(int argc, char** argv) {
  try {
    return flagos::diag::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "flagos-diag worker: {}\n", flagos::diag::error_text(error));
  }
  return 2;
}
