#include "routes/conf.h"

#include <c10/util/Exception.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "routes/temporary_folder.h"

namespace flagos::routing {
namespace {

using flagos::testing::TemporaryFolder;

// "op=backend@line" of each order, the file's folder left out.
std::vector<std::string> read(const std::string& file) {
  std::vector<std::string> read;
  for (const Order& order : read_conf(file)) {
    read.push_back(order.op + "=" + order.backend + "@" + std::filesystem::path(order.where).filename().native());
  }
  return read;
}

std::string error_of(const std::string& file) {
  try {
    read_conf(file);
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "no error";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

using Lines = std::vector<std::string>;

TEST(Conf, LinesCommentsAndBlanks) {
  const TemporaryFolder folder;
  const auto file = folder.write("a.conf", "# all of it\n\n  add.Tensor = cpu  # why\r\nmm=dispatch\n\t\nx = y z");
  EXPECT_EQ(read(file), Lines({"add.Tensor=cpu@a.conf:3", "mm=dispatch@a.conf:4", "x=y z@a.conf:6"}));
}

TEST(Conf, EmptyFileAndByteOrderMark) {
  const TemporaryFolder folder;
  EXPECT_EQ(read(folder.write("empty.conf", "")), Lines());
  EXPECT_EQ(read(folder.write("mark.conf", "\xef\xbb\xbfmm = cpu")), Lines({"mm=cpu@mark.conf:1"}));
}

TEST(Conf, IncludeIsRelativeToTheIncludingFileAndInItsPlace) {
  const TemporaryFolder folder;
  folder.write("sub/b.conf", "include ../c.conf\nb = cpu\n");
  folder.write("c.conf", "c = cpu\n");
  const auto file = folder.write("a.conf", "first = cpu\ninclude  sub/b.conf # more\ninclude c.conf\nlast = cpu");
  EXPECT_EQ(read(file),
            Lines({"first=cpu@a.conf:1", "c=cpu@c.conf:1", "b=cpu@b.conf:2", "c=cpu@c.conf:1", "last=cpu@a.conf:4"}));
}

TEST(Conf, AnOperatorMayBeCalledInclude) {
  const TemporaryFolder folder;
  EXPECT_EQ(read(folder.write("a.conf", "include = cpu\nincluded = cpu")),
            Lines({"include=cpu@a.conf:1", "included=cpu@a.conf:2"}));
}

TEST(Conf, WhatIsNotUnderstoodNamesFileAndLine) {
  const TemporaryFolder folder;
  for (const char* line : {"add.Tensor", "= cpu", "add.Tensor =", "include", "add.Tensor cpu"}) {
    const auto text = error_of(folder.write("a.conf", std::string("mm = cpu\n") + line + "\n"));
    EXPECT_TRUE(has(text, "a.conf:2:")) << line << ": " << text;
    EXPECT_TRUE(has(text, "op = backend")) << line << ": " << text;
  }
}

TEST(Conf, ErrorsArePrintable) {
  const TemporaryFolder folder;
  const auto text = error_of(folder.write("a.conf", "\x1b[31m\xff\x01 nonsense"));
  EXPECT_TRUE(has(text, "a.conf:1:")) << text;
  for (const char c : text) {
    EXPECT_TRUE(c >= ' ' && c <= '~') << "byte " << static_cast<int>(c);
  }
}

TEST(Conf, CirclesAreFound) {
  const TemporaryFolder folder;
  EXPECT_TRUE(has(error_of(folder.write("self.conf", "\ninclude self.conf")), "self.conf:2: route file"));
  folder.write("b.conf", "include ./a.conf");
  const auto text = error_of(folder.write("a.conf", "include b.conf"));
  EXPECT_TRUE(has(text, "b.conf:1:")) << text;
  EXPECT_TRUE(has(text, "includes itself")) << text;
}

TEST(Conf, FilesThatCanNotBeRead) {
  const TemporaryFolder folder;
  const auto missing = error_of(folder.write("a.conf", "# \ninclude nowhere.conf"));
  EXPECT_TRUE(has(missing, "a.conf:2:") && has(missing, "nowhere.conf")) << missing;
  EXPECT_TRUE(has(missing, "No such file")) << missing;
  EXPECT_TRUE(has(error_of(folder.path()), "no regular file"));
  const std::string pipe = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_TRUE(has(error_of(pipe), "no regular file"));  // and it does not wait for a writer
}

TEST(Conf, NulBytesAreNotTheEndOfAName) {
  const TemporaryFolder folder;
  folder.write("b.conf", "mm = cpu");
  const auto text = error_of(folder.write("a.conf", std::string("include b.conf\0.old", 19)));
  EXPECT_TRUE(has(text, "a.conf:1:") && has(text, "NUL")) << text;
}

TEST(Conf, WhatNamesTheFileIsTold) {
  try {
    read_conf("/nowhere.conf", "FLAGOS_BACKEND_CONFIG");
    FAIL() << "no error";
  } catch (const c10::Error& error) {
    EXPECT_TRUE(has(error.what_without_backtrace(), "flagos: FLAGOS_BACKEND_CONFIG: route file /nowhere.conf"));
  }
}

TEST(Conf, LongLinesAndLargeFiles) {
  const TemporaryFolder folder;
  EXPECT_EQ(error_of(folder.write("a.conf", "#" + std::string(4095, 'x') + "\n")), "no error");
  const auto line = error_of(folder.write("a.conf", "\n#" + std::string(4096, 'x') + "\n"));
  EXPECT_TRUE(has(line, "a.conf:2:") && has(line, "4096")) << line;
  const std::string full((1 << 20) - 1, '\n');
  EXPECT_EQ(error_of(folder.write("b.conf", full + "\n")), "no error");
  const auto large = error_of(folder.write("b.conf", full + "\n\n"));
  EXPECT_TRUE(has(large, "b.conf is larger than 1048576 bytes")) << large;
}

TEST(Conf, DepthAndNumberOfFiles) {
  const TemporaryFolder folder;
  const auto name = [](int i) { return std::to_string(i) + ".conf"; };
  for (int i = 0; i < 16; ++i) {
    folder.write(name(i), "include " + name(i + 1));
  }
  folder.write(name(16), "");
  EXPECT_EQ(error_of(folder.path() / name(1)), "no error");  // 16 files
  const auto deep = error_of(folder.path() / name(0));
  EXPECT_TRUE(has(deep, "15.conf:1:") && has(deep, "deeper than 16")) << deep;
  for (int i = 0; i < 15; ++i) {
    folder.write(name(i), "include " + name(i + 1) + "\ninclude " + name(i + 1));
  }
  EXPECT_TRUE(has(error_of(folder.path() / name(1)), "more than 256 files"));
}

}  // namespace
}  // namespace flagos::routing
