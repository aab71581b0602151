// Replays the seeds of a fuzz target as a test: replay FOLDER. Of a seed "good-..." the parser must take what it says,
// of "bad-..." it must not; each within the memory and time that a fuzzer allows.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr auto kLongest = std::chrono::seconds(10);
constexpr unsigned kKillAfter = 60;          // seconds
constexpr long kMostKilobytes = 512 * 1024;  // more than before, which is what libtorch takes

long peak_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

std::string complaint(const fs::path& file, long at_start) {
  std::ifstream in(file, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(in), {}};
  const auto start = Clock::now();
  const bool accepted = flagos::fuzz::accepts(content);
  const bool slow = Clock::now() - start > kLongest;
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(content.data()), content.size());
  const std::string name = file.filename().string();
  if (accepted ? name.starts_with("bad-") : name.starts_with("good-")) {
    return accepted ? "was taken" : "was refused";
  }
  if (slow) {
    return "took more than 10 s";
  }
  return peak_kilobytes() - at_start > kMostKilobytes ? "took more than 512 MB" : "";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: replay FOLDER\n", stderr);
    return 2;
  }
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(argv[1])) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  const long at_start = peak_kilobytes();
  int failures = files.empty() ? 1 : 0;
  for (size_t i = 0; i < files.size(); ++i) {
    alarm(kKillAfter);
    const std::string why = complaint(files[i], at_start);
    failures += why.empty() ? 0 : 1;
    std::printf("%s %zu - %s%s\n", why.empty() ? "ok" : "not ok", i + 1, files[i].filename().c_str(),
                why.empty() ? "" : (" " + why).c_str());
    std::fflush(stdout);
  }
  std::printf("1..%zu\n", files.size());
  return failures == 0 ? 0 : 1;
}
