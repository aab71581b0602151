// A stream's bytes as a JSON parser should get them: no NUL, and a limit on how many come between two calls of pass().
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <istream>
#include <streambuf>

namespace flagos::diag {

// Bounds the memory of what a parser keeps of its input: one string can be as long as the file.
class MeteredInput : public std::streambuf {
 public:
  // `refuse` is called when more than `limit` bytes have been read since the last pass(), and for a NUL byte, which
  // nlohmann's parser takes for the end; it gets the cause, and must throw.
  MeteredInput(std::istream& source, size_t limit, std::function<void(const char*)> refuse)
      : source_(*source.rdbuf()), limit_(limit), refuse_(std::move(refuse)) {}

  void pass() { since_pass_ = 0; }

 protected:
  int_type underflow() override {
    if (since_pass_ > limit_) {
      refuse_("a node has more than 32 MiB, which no execution trace has");
    }
    const std::streamsize count = source_.sgetn(chunk_.data(), static_cast<std::streamsize>(chunk_.size()));
    since_pass_ += static_cast<size_t>(count);
    if (std::find(chunk_.begin(), chunk_.begin() + count, '\0') != chunk_.begin() + count) {
      refuse_("there is a NUL byte, which no JSON has");
    }
    setg(chunk_.data(), chunk_.data(), chunk_.data() + count);
    return count == 0 ? traits_type::eof() : traits_type::to_int_type(*gptr());
  }

 private:
  std::streambuf& source_;
  size_t limit_;
  size_t since_pass_ = 0;
  std::function<void(const char*)> refuse_;
  std::array<char, size_t{1} << 14> chunk_{};
};

}  // namespace flagos::diag
