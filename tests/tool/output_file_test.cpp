#include "report/output_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "cli/exit_code.h"

namespace flagos::diag {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

class OutputFile : public ::testing::Test {
 protected:
  OutputFile() { fs::create_directories(directory_); }
  ~OutputFile() override { fs::remove_all(directory_); }

  fs::path directory_ = fs::temp_directory_path() / ("flagos-output-" + std::to_string(getpid()));
  fs::path file_ = directory_ / "out.json";
};

TEST_F(OutputFile, ReplacesWhole) {
  write_output(file_, [](std::ostream& out) { out << "old and long"; });
  write_output(file_, [](std::ostream& out) { out << "new"; });
  EXPECT_EQ(content(file_), "new");
}

TEST_F(OutputFile, OldFileSurvivesAFailureAndNothingIsLeftBeside) {
  write_output(file_, [](std::ostream& out) { out << "old"; });
  EXPECT_THROW(write_output(file_,
                            [](std::ostream& out) {
                              out << "half";
                              throw std::runtime_error("fails");
                            }),
               std::runtime_error);
  EXPECT_EQ(content(file_), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_), fs::directory_iterator()), 1);
}

TEST_F(OutputFile, ASymbolicLinkStaysOne) {
  write_output(file_, [](std::ostream& out) { out << "old"; });
  fs::create_symlink(file_, directory_ / "link");
  write_output(directory_ / "link", [](std::ostream& out) { out << "new"; });
  EXPECT_TRUE(fs::is_symlink(directory_ / "link"));
  EXPECT_EQ(content(file_), "new");
}

TEST_F(OutputFile, ASymbolicLinkToWhatIsNotThereYetLeadsThere) {
  fs::create_symlink("out.json", directory_ / "link");  // relative to where the link is
  fs::create_symlink(directory_ / "link", directory_ / "link to it");
  write_output(directory_ / "link to it", [](std::ostream& out) { out << "new"; });
  EXPECT_TRUE(fs::is_symlink(directory_ / "link to it"));
  EXPECT_TRUE(fs::is_symlink(directory_ / "link"));
  EXPECT_EQ(content(file_), "new");
  fs::create_symlink(directory_ / "none" / "x", directory_ / "astray");
  EXPECT_THROW(check_output_file(directory_ / "astray"), UsageError);
}

TEST_F(OutputFile, PermissionsStay) {
  constexpr auto mine = fs::perms::owner_read | fs::perms::owner_write;
  write_output(file_, [](std::ostream& out) { out << "old"; });
  fs::permissions(file_, mine);
  write_output(file_, [](std::ostream& out) { out << "new"; });
  EXPECT_EQ(fs::status(file_).permissions(), mine);
}

TEST_F(OutputFile, NoSuchDirectoryIsAUsageError) {
  EXPECT_THROW(check_output_file(directory_ / "none" / "out.json"), UsageError);
  EXPECT_THROW(check_output_file(directory_), UsageError);
  EXPECT_NO_THROW(check_output_file(file_));
}

}  // namespace
}  // namespace flagos::diag
