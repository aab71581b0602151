// What a process holds: memory, pools, handles, threads; and whether it grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace flagos::testing {

// Something that must not grow with the number of calls.
struct Gauge {
  const char* name;
  const char* unit;
  double (*read)();
  // Growth over the last half of a run that is let pass: the larger of the two. A heap comes and goes by a
  // few kilobytes; a count has no such excuse.
  double tolerated;
  double tolerated_per_call;
};

// All of them. `read` is for the main thread, between calls.
const std::vector<Gauge>& gauges();

// Counts what the CPU's allocator has handed out, from now on. Once, before the first tensor.
void count_cpu_memory();

// One gauge, sampled after `calls[i]` calls as `values[i]`.
struct Series {
  std::vector<double> calls;
  std::vector<double> values;
};

// Growth over the last half of the samples: the median of the slopes of all pairs of them (Theil and Sen), times the
// calls made in that half. The median leaves out what happens once, such as an arena that malloc adds. Needs four
// samples.
double growth(const Series& series);

// What `growth` may be at most.
double tolerance(const Gauge& gauge, const Series& series);

}  // namespace flagos::testing
