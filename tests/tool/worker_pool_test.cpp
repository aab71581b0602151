#include "isolation/worker_pool.h"

#include <gtest/gtest.h>

#include <map>

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

TEST(WorkerPool, WorkersThatNeverAnswerAreNotStartedForEver) {
  const WorkerCommand command{{"/bin/sh", "-c", "exit 2"}, 0, "", false};
  EXPECT_THROW(WorkerPool(command, 2, 20s)
                   .run(
                       {{"op", {"one"}}}, [](auto&, auto) {}, [](auto&) {}),
               std::runtime_error);
}

}  // namespace
}  // namespace flagos::diag
