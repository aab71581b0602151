// Makes mixed calls on flagos, looks from time to time at what the process holds, and fails when something grows.
//
// soak-calls [--calls N] [--samples N] [--seed N] [--plant NAME] [--only NAME]
//   --calls N     how many calls (default 50000); one is an entry of soak_calls(), a few operators each
//   --samples N   how often to look (default 40, at least 8)
//   --seed N      of the order in which the calls are made (default 1)
//   --plant NAME  makes something grow, to see it found: heap, block, descriptor, thread, alias
//   --only NAME   makes calls of that kind alone
// Prints a line a gauge: at the start, in the middle, at the end; growth over the last half; what is let pass. Exit
// status: 0 when nothing grows, 1 when something does, 2 when the arguments are wrong.
#include <ATen/ATen.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "flagos/flagos.h"
#include "flagos_tensors.h"
#include "soak/calls.h"
#include "soak/gauges.h"

namespace flagos::testing {
namespace {

struct Options {
  uint64_t calls = 50000;
  uint64_t samples = 40;
  uint64_t seed = 1;
  std::string plant;
  std::string only;
};

// Each leaves something behind.
const std::map<std::string, std::function<void()>>& plants() {
  static const auto* all = new std::map<std::string, std::function<void()>>{
      {"heap",
       [] {
         static auto* kept = new std::vector<std::unique_ptr<char[]>>();
         kept->push_back(std::make_unique<char[]>(4096));
       }},
      {"block", [] { static_cast<void>(at::ones({1}, on_flagos()).unsafeReleaseIntrusivePtr().release()); }},
      {"descriptor", [] { static_cast<void>(open("/dev/null", O_RDONLY)); }},
      {"thread", [] { std::thread([] { std::this_thread::sleep_for(std::chrono::hours(24)); }).detach(); }},
      {"alias",
       [] {  // a list that is longer each time
         static size_t length = 0;
         const at::Tensor x = iota(1);
         std::vector<at::Tensor> list(++length);
         std::generate(list.begin(), list.end(), [&x] { return x.alias(); });
         at::_foreach_add_(list, 1);
       }},
  };
  return *all;
}

uint64_t number(const std::string& option, const char* text) {
  char* end = nullptr;
  const uint64_t value = std::strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end != '\0') {
    throw std::invalid_argument(option + " takes a number, not \"" + text + "\".");
  }
  return value;
}

Options parse(const std::vector<const char*>& arguments) {
  Options options;
  for (size_t i = 0; i < arguments.size(); i += 2) {
    const std::string option = arguments[i];
    if (i + 1 == arguments.size()) {
      throw std::invalid_argument(option + " needs a value.");
    }
    const char* const value = arguments[i + 1];
    if (option == "--calls") {
      options.calls = number(option, value);
    } else if (option == "--samples") {
      options.samples = number(option, value);
    } else if (option == "--seed") {
      options.seed = number(option, value);
    } else if (option == "--plant" && plants().count(value) != 0) {
      options.plant = value;
    } else if (option == "--only") {
      options.only = value;
    } else {
      throw std::invalid_argument("there is no " + option + " " + value + ".");
    }
  }
  if (options.samples < 8 || options.calls < options.samples) {
    throw std::invalid_argument("at least 8 samples, and a call for each.");
  }
  return options;
}

std::vector<SoakCall> chosen(const Options& options) {
  std::vector<SoakCall> calls;
  for (const SoakCall& call : soak_calls()) {
    if (options.only.empty() || options.only == call.name) {
      calls.push_back(call);
    }
  }
  if (calls.empty()) {
    throw std::invalid_argument("there is no kind of call \"" + options.only + "\".");
  }
  return calls;
}

const SoakCall& next(std::mt19937_64& random, const std::vector<SoakCall>& calls) {
  while (true) {
    const SoakCall& call = calls[random() % calls.size()];
    if (calls.size() == 1 || random() % call.one_in == 0) {
      return call;
    }
  }
}

std::vector<Series> make_calls(const Options& options, const std::vector<SoakCall>& calls) {
  std::mt19937_64 random(options.seed);
  std::vector<Series> series(gauges().size());
  for (Series& each : series) {  // lest they grow themselves
    each.calls.reserve(options.samples);
    each.values.reserve(options.samples);
  }
  for (uint64_t made = 0, sample = 1; sample <= options.samples; ++sample) {
    for (const uint64_t until = options.calls * sample / options.samples; made < until; ++made) {
      next(random, calls).make();
      if (!options.plant.empty() && made % 200 == 0) {
        plants().at(options.plant)();
      }
    }
    for (size_t i = 0; i < series.size(); ++i) {
      series[i].calls.push_back(static_cast<double>(made));
      series[i].values.push_back(gauges()[i].read());
    }
  }
  return series;
}

bool report(const std::vector<Series>& series) {
  bool grows = false;
  std::printf("%-30s %14s %14s %14s %14s %12s\n", "gauge", "first", "middle", "last", "growth", "let pass");
  for (size_t i = 0; i < series.size(); ++i) {
    const Gauge& gauge = gauges()[i];
    const auto& values = series[i].values;
    const double by = growth(series[i]);
    const double at_most = tolerance(gauge, series[i]);
    std::printf("%-30s %14.0f %14.0f %14.0f %14.1f %12.1f %s%s\n", gauge.name, values.front(),
                values[values.size() / 2], values.back(), by, at_most, gauge.unit, by > at_most ? " GROWS" : "");
    grows |= by > at_most;
  }
  return grows;
}

int run(const Options& options) {
  const auto calls = chosen(options);
  const auto start = std::chrono::steady_clock::now();
  const bool grows = report(make_calls(options, calls));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  uint64_t operators = 0;
  for (const OpStats& each : stats()) {
    operators += each.calls;
  }
  std::printf("%llu calls of %zu kinds, %llu operators on flagos, seed %llu, in %.1f s: %s\n",
              static_cast<unsigned long long>(options.calls), calls.size(), static_cast<unsigned long long>(operators),
              static_cast<unsigned long long>(options.seed), took.count(), grows ? "GROWS" : "nothing grows");
  return grows ? 1 : 0;
}

// Starts the program anew with a malloc that keeps nothing for reuse: what it keeps counts as handed out, and comes and
// goes by some 25 kB. The C library reads the variable before main().
void without_malloc_caches(char** argv) {
  constexpr const char* kVariable = "GLIBC_TUNABLES";
  if (std::getenv(kVariable) == nullptr) {
    setenv(kVariable, "glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0:glibc.malloc.arena_max=1", 1);
    execv("/proc/self/exe", argv);  // returns when it can't: the caches then stay
  }
}

}  // namespace
}  // namespace flagos::testing

int main(int argc, char** argv) {
  using namespace flagos::testing;
  without_malloc_caches(argv);
  try {
    const Options options = parse({argv + 1, argv + argc});
    count_cpu_memory();
    std::exit(run(options));  // threads that were planted don't end
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "soak-calls: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "soak-calls: a call failed: %s\n", error.what());
    return 1;
  }
}
