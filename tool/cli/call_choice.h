// Which operators, and which of their recorded calls, a command works on.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace flagos::diag {

// The numbers of recorded calls, from `first` up to, not with, `end`.
struct CallRange {
  size_t first = 0;
  size_t end = 0;
};

// `names`, each the first time alone: "--case offset,offset" asks for one.
std::vector<std::string> without_repeats(const std::vector<std::string>& names);

class CallChoice {
 public:
  // Adds OP, --all (`all_help` says what it means) and --trace. The options are read into this object, which must
  // outlive `command`. Returns --trace, for commands that have something else in its place.
  CLI::Option* add_operators(CLI::App& command, const std::string& all_help);
  // Adds --call.
  CLI::Option* add_call(CLI::App& command);

  bool all() const { return all_; }
  bool named() const { return !patterns_.empty(); }
  const std::vector<std::string>& patterns() const { return patterns_; }
  const std::string& trace() const { return trace_; }  // empty: none was named

  // Those that OP means, else those that `recorded` returns, when --all or --trace was given or `has_source` says that
  // there is a source of another kind. Throws UsageError for an unknown OP, for OP with --all, and when nothing was
  // chosen; `ways` says how: "verify: name operators, or pass --all or --trace FILE."
  std::vector<std::string> operators(const std::function<std::vector<std::string>()>& recorded, const char* ways,
                                     bool has_source = false) const;

  // The chosen ones of `recorded` calls: the one that --call names, whether there is one of that number or not; else
  // the first `most`. Empty when none were recorded.
  CallRange calls(size_t recorded, size_t most) const;

 private:
  std::vector<std::string> patterns_;
  std::string trace_;
  int64_t call_ = -1;  // all of them
  bool all_ = false;
};

}  // namespace flagos::diag
