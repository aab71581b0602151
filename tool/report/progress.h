// A progress line with the time left, on a terminal's standard error only.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace flagos::diag {

class Progress {
 public:
  // Draws nothing when `quiet` or when standard error is no terminal.
  Progress(std::string what, size_t total, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  Progress(Progress&&) = delete;
  Progress& operator=(Progress&&) = delete;

  // One more is done; `current` is shown. Redraws at most ten times a second.
  void advance(std::string_view current);

 private:
  using Clock = std::chrono::steady_clock;

  void draw(std::string_view current) const;
  void clear() const;

  std::string what_;
  size_t total_;
  size_t done_ = 0;
  bool shown_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point drawn_;
};

// "12 s", "3 min 05 s". For a rate that is not known yet: "".
std::string time_left(double elapsed_s, size_t done, size_t total);

}  // namespace flagos::diag
