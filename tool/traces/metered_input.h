// A stream's bytes, with a limit on how many may come between two calls of pass().
#pragma once

#include <array>
#include <functional>
#include <istream>
#include <streambuf>

namespace flagos::diag {

// Bounds the memory of what a parser keeps of its input: one string can be as long as the file.
class MeteredInput : public std::streambuf {
 public:
  // `exceeded` is called when more than `limit` bytes have been read since the last pass(), and must throw.
  MeteredInput(std::istream& source, size_t limit, std::function<void()> exceeded)
      : source_(*source.rdbuf()), limit_(limit), exceeded_(std::move(exceeded)) {}

  void pass() { since_pass_ = 0; }

 protected:
  int_type underflow() override {
    if (since_pass_ > limit_) {
      exceeded_();
    }
    const std::streamsize count = source_.sgetn(chunk_.data(), static_cast<std::streamsize>(chunk_.size()));
    since_pass_ += static_cast<size_t>(count);
    setg(chunk_.data(), chunk_.data(), chunk_.data() + count);
    return count == 0 ? traits_type::eof() : traits_type::to_int_type(*gptr());
  }

 private:
  std::streambuf& source_;
  size_t limit_;
  size_t since_pass_ = 0;
  std::function<void()> exceeded_;
  std::array<char, size_t{1} << 14> chunk_{};
};

}  // namespace flagos::diag
