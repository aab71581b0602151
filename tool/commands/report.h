// report: one self-contained HTML page of the documents that other commands wrote.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "commands/command.h"

namespace flagos::diag {

class ReportPage final : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override;
  Outcome run(const GlobalOptions& options) override;
  bool needs_library() const override { return false; }

 private:
  void check_page_file() const;

  std::vector<std::string> files_;
  std::filesystem::path page_;
};

}  // namespace flagos::diag
