#include "measure/recorded_bench.h"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "cli/operator_names.h"
#include "cuda/profiler_range.h"
#include "flagos/target.h"
#include "measure/argument_text.h"
#include "measure/counted_calls.h"
#include "prediction/operator_facts.h"
#include "situations/observation.h"

namespace flagos::diag {
namespace {

HostCall host_call(const ArgumentSource& source, const std::string& op, size_t call, uint64_t seed) {
  const auto& calls = source.calls(op);
  if (call >= calls.size()) {
    throw std::runtime_error(fmt::format("there are {} recorded calls", calls.size()));
  }
  const c10::OperatorHandle handle = operator_handle(op);
  MaterializeOptions materialization;
  materialization.seed = seed;
  return {op, handle, materialize(calls[call], handle, materialization)};
}

void try_out_on_all(HostCall& call) {
  const at::NoGradGuard no_grad;
  const c10::Device ours(c10::DeviceType::PrivateUse1, 0);
  try_out(call, to_target_device(ours));
  const bool fresh = call.fresh_arguments;
  try_out(call, ours);
  call.fresh_arguments |= fresh;
}

using Measure = std::function<Row(const std::vector<HostCall>& calls, const std::vector<size_t>& order)>;

Row measure_call(const ArgumentSource& source, const std::string& op, size_t call, uint64_t seed,
                 const Measure& measure) {
  const ProfilerRange range(fmt::format("{} --call {}", without_aten(op), call));
  Row row = {{"case", ""}};
  try {
    std::vector<HostCall> calls = {host_call(source, op, call, seed)};
    row["case"] = argument_text(calls.front().arguments);
    try_out_on_all(calls.front());
    row.update(measure(calls, {0}));
  } catch (const std::exception& error) {
    row["note"] = call_error_text(error);
  }
  return row;
}

Row measure_step(const ArgumentSource& source, uint64_t seed, const Measure& measure) {
  const ProfilerRange range("(step)");
  std::vector<HostCall> calls;
  std::vector<size_t> order;
  std::map<std::pair<std::string, size_t>, std::optional<size_t>> places;
  Row left_out = Row::object();
  for (const auto& [op, number] : source.sequence()) {
    const auto [place, is_new] = places.try_emplace({op, number}, std::nullopt);
    if (is_new) {
      try {
        HostCall call = host_call(source, op, number, seed);
        try_out_on_all(call);
        place->second = calls.size();
        calls.push_back(std::move(call));
      } catch (const std::exception& error) {
        left_out[op] = call_error_text(error);
      }
    }
    if (place->second.has_value()) {
      order.push_back(*place->second);
    }
  }
  Row row = {{"case", fmt::format("{} calls", order.size())}, {"left_out", left_out}};
  if (order.empty()) {
    row["note"] = "none of its calls can be made here";
    return row;
  }
  try {
    row.update(measure(calls, order));
  } catch (const std::exception& error) {
    row["note"] = call_error_text(error);
  }
  return row;
}

Measure bench_with(const BenchOptions& options) {
  return [&](const auto& calls, const auto& order) { return bench(calls, order, options); };
}

Measure count_with(InstructionCounter& counter) {
  return [&](const auto& calls, const auto& order) { return count_instructions(calls, order, counter); };
}

}  // namespace

Row bench_call(const ArgumentSource& source, const std::string& op, size_t call, const BenchOptions& options) {
  return measure_call(source, op, call, options.seed, bench_with(options));
}

Row bench_step(const ArgumentSource& source, const BenchOptions& options) {
  return measure_step(source, options.seed, bench_with(options));
}

Row count_call_instructions(const ArgumentSource& source, const std::string& op, size_t call, uint64_t seed,
                            InstructionCounter& counter) {
  return measure_call(source, op, call, seed, count_with(counter));
}

Row count_step_instructions(const ArgumentSource& source, uint64_t seed, InstructionCounter& counter) {
  return measure_step(source, seed, count_with(counter));
}

}  // namespace flagos::diag
