#include "report/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "report/terminal.h"

namespace flagos::diag {
namespace {

constexpr size_t kBar = 24;
constexpr auto kRedraw = std::chrono::milliseconds(100);

}  // namespace

std::string time_left(double elapsed_s, size_t done, size_t total) {
  if (done == 0 || total < done) {
    return "";
  }
  const double each = elapsed_s / static_cast<double>(done);
  const auto seconds = static_cast<long>(each * static_cast<double>(total - done) + 0.5);
  return seconds < 60 ? fmt::format("{} s", seconds) : fmt::format("{} min {:02} s", seconds / 60, seconds % 60);
}

Progress::Progress(std::string what, size_t total, bool quiet)
    : what_(std::move(what)), total_(total), shown_(!quiet && is_terminal(STDERR_FILENO)) {}

Progress::~Progress() { clear(); }

void Progress::advance(std::string_view current) {
  ++done_;
  const auto now = Clock::now();
  if (shown_ && now - drawn_ >= kRedraw) {
    drawn_ = now;
    draw(current);
  }
}

void Progress::draw(std::string_view current) const {
  const size_t filled = total_ == 0 ? kBar : std::min(kBar, kBar * done_ / total_);
  const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
  std::string line = fmt::format("{} [{:<{}}] {}/{}  {} left  {}", what_, std::string(filled, '#'), kBar, done_, total_,
                                 time_left(elapsed, done_, total_), current);
  const size_t width = terminal_width(STDERR_FILENO);
  if (width > 1) {
    line.resize(std::min(line.size(), width - 1));
  }
  fmt::print(stderr, "\r\033[K{}", line);
}

void Progress::clear() const {
  if (shown_) {
    fmt::print(stderr, "\r\033[K");
  }
}

}  // namespace flagos::diag
