#include "isolation/worker_pool.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>

namespace flagos::diag {
namespace {

using namespace std::chrono_literals;

// A worker in shell: "die" kills itself in its second situation, "hang" never answers, the rest say "fast".
constexpr const char* kScript = R"(
while read -r line <&3; do
  op=${line#*\"op\":\"}; op=${op%%\"*}
  list=${line#*\"situations\":[}; list=${list%%]*}
  for each in $(printf %s "$list" | tr -d '"' | tr , ' '); do
    printf '{"begin":"%s"}\n' "$each" >&4
    if [ "$op$each" = dietwo ]; then printf '{"stage":"native"}\n' >&4; kill -SEGV $$; fi
    if [ "$op$each" = garbleone ]; then echo 'corrupted size vs. prev_size' >&4; fi
    if [ "$op" = hang ]; then sleep 60; fi
    printf '{"row":{"situation":"%s","verdict":"fast"}}\n' "$each" >&4
  done
  printf '{"done":"%s"}\n' "$op" >&4
done)";

using Verdicts = std::map<std::string, std::string>;  // "op situation" -> verdict, note and stage

Verdicts run(const std::deque<Job>& jobs, std::chrono::seconds patience) {
  Verdicts verdicts;
  WorkerPool({{"/bin/sh", "-c", kScript}, 0, "", false}, 2, patience)
      .run(
          jobs,
          [&](const std::string& op, const Row& row) {
            verdicts[op + " " + row.at("situation").get<std::string>()] =
                row.at("verdict").get<std::string>() + row.value("note", "") + row.value("stage", "");
          },
          [](const std::string& /*op*/) {});
  return verdicts;
}

TEST(WorkerPool, ACrashCostsOneRow) {
  const Verdicts verdicts = run({{"good", {"one", "two"}}, {"die", {"one", "two", "three"}}}, 20s);
  EXPECT_EQ(verdicts.at("good two"), "fast");
  EXPECT_EQ(verdicts.at("die one"), "fast");
  EXPECT_EQ(verdicts.at("die two"), "errorthe process died: SIGSEGVnative");
  EXPECT_EQ(verdicts.at("die three"), "fast");
}

TEST(WorkerPool, ALineThatIsNoMessageCostsOneRow) {
  const Verdicts verdicts = run({{"garble", {"one", "two"}}}, 20s);
  EXPECT_EQ(verdicts.at("garble one"), "errorthe worker answered with a line that is no message");
  EXPECT_EQ(verdicts.at("garble two"), "fast");
}

TEST(WorkerPool, AHangEndsWithPatience) {
  const Verdicts verdicts = run({{"good", {"one"}}, {"hang", {"one"}}}, 1s);
  EXPECT_EQ(verdicts.at("good one"), "fast");
  EXPECT_EQ(verdicts.at("hang one"), "errorno answer within 1 s");
}

// Defaults reach the worker, unless the variable is set here to something.
TEST(WorkerPool, DefaultsAreForWhatIsNotSet) {
  constexpr const char* kNames[] = {"FLAGOS_TEST_UNSET", "FLAGOS_TEST_EMPTY", "FLAGOS_TEST_SET"};
  setenv(kNames[1], "", 1);
  setenv(kNames[2], "the user's", 1);
  WorkerCommand command;
  command.program = {"/bin/sh", "-c",
                     "read -r line <&3\nprintf '{\"row\":{\"situation\":\"%s|%s|%s\"}}\\n' "
                     "\"$FLAGOS_TEST_UNSET\" \"$FLAGOS_TEST_EMPTY\" \"$FLAGOS_TEST_SET\" >&4\n"
                     "printf '{\"done\":\"aten::mm\"}\\n' >&4"};
  for (const char* name : kNames) {
    command.defaults.push_back(std::string(name) + "=ours");
  }
  std::string seen;
  WorkerPool(command, 1, 20s)
      .run(
          {{"aten::mm", {"one"}}}, [&](const std::string& /*op*/, const Row& row) { seen = row.at("situation"); },
          [](const std::string& /*op*/) {});
  unsetenv(kNames[1]);
  unsetenv(kNames[2]);
  EXPECT_EQ(seen, "ours|ours|the user's");
}

// A worker that starts slowly is waited for, and one that dies while it starts is started again; its job is not lost.
TEST(WorkerPool, ASlowOrFailedStartCostsNothing) {
  const auto mark = std::filesystem::temp_directory_path() / ("flagos-worker-" + std::to_string(getpid()));
  const std::string script = "if mkdir " + mark.string() + "; then exit 2; fi; sleep 2\n" + kScript;
  Verdicts verdicts;
  WorkerPool({{"/bin/sh", "-c", script}, 0, "", false}, 1, 1s, 20s)
      .run(
          {{"good", {"one"}}},
          [&](const std::string& op, const Row& row) {
            verdicts[op + " " + row.at("situation").get<std::string>()] = row.at("verdict").get<std::string>();
          },
          [](const std::string& /*op*/) {});
  std::filesystem::remove(mark);
  EXPECT_EQ(verdicts, (Verdicts{{"good one", "fast"}}));
}

// A device may be out of memory for a while: starts that fail later are repeated after pauses, and cost nothing.
TEST(WorkerPool, FailedStartsAfterAnAnswerAreRepeatedAfterPauses) {
  const auto mark = std::filesystem::temp_directory_path() / ("flagos-later-" + std::to_string(getpid()));
  const std::string starts = mark.string();  // a line for each start; the second, third and fourth fail
  const std::string script = "echo >> " + starts + "; n=$(wc -l < " + starts +
                             "); if [ $n -gt 1 ] && [ $n -lt 5 ]; then exit 2; fi\n" + kScript;
  Verdicts verdicts;
  const auto begin = std::chrono::steady_clock::now();
  WorkerPool({{"/bin/sh", "-c", script}, 0, "", false}, 1, 20s)
      .run(
          {{"die", {"two"}}, {"good", {"one"}}},
          [&](const std::string& op, const Row& row) {
            verdicts[op + " " + row.at("situation").get<std::string>()] = row.at("verdict").get<std::string>();
          },
          [](const std::string& /*op*/) {});
  std::filesystem::remove(mark);
  EXPECT_EQ(verdicts, (Verdicts{{"die two", "error"}, {"good one", "fast"}}));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 6s);  // 1, 2 and 4, less what the polls are early
}

TEST(WorkerPool, WorkersThatNeverAnswerAreNotStartedForEver) {
  const WorkerCommand command{{"/bin/sh", "-c", "exit 2"}, 0, "", false};
  EXPECT_THROW(WorkerPool(command, 2, 20s)
                   .run(
                       {{"op", {"one"}}}, [](auto&, auto) {}, [](auto&) {}),
               NoWorkers);
}

}  // namespace
}  // namespace flagos::diag
