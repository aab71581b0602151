#include "traces/argument_source.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "trace_text.h"
#include "traces/exact_repeats.h"

namespace flagos::diag {
namespace {

ArgumentSource source_of(const std::string& text) {
  const auto file = std::filesystem::path(::testing::TempDir()) / "argument_source_test.json";
  std::ofstream(file) << text;
  ArgumentSource source = ArgumentSource::from_trace(file);
  std::filesystem::remove(file);
  return source;
}

TEST(ArgumentSource, GivesCallsByOverloadWithoutRepeats) {
  const std::string other_shape = add_inputs(R"([7,8,0,1,4,"cpu"])", "[1]");
  const std::string other_ids = add_inputs(R"([17,18,0,3,4,"cpu"])");
  const std::string shared = add_inputs(R"([7,6,0,3,4,"cpu"])");
  const ArgumentSource source =
      source_of(trace_text(node_text(1, kAddSchema, add_inputs()) + "," + node_text(2, kAddSchema, other_ids) + "," +
                           node_text(3, kAddSchema, other_shape) + "," + node_text(4, kAddSchema, shared)));
  EXPECT_EQ(source.operators(), std::vector<std::string>{"aten::add.Tensor"});
  const auto& calls = source.calls("aten::add.Tensor");
  ASSERT_EQ(calls.size(), 3u);  // node 2 differs from node 1 in its ids only
  EXPECT_EQ(calls[0].origin, "argument_source_test.json: node 1");
  EXPECT_EQ(calls[1].origin, "argument_source_test.json: node 3");
  EXPECT_EQ(calls[2].origin, "argument_source_test.json: node 4");
  EXPECT_TRUE(source.calls("aten::mul.Tensor").empty());
}

TEST(ArgumentSource, KeepsTheTracesWarnings) {
  const ArgumentSource source = source_of(trace_text(node_text(1, "aten::nope(Tensor a) -> Tensor", add_inputs())));
  EXPECT_FALSE(source.warnings().empty());
}

std::string child_text(int id, int parent) {
  std::string text = node_text(id, kAddSchema, add_inputs());
  const std::string told = R"("ctrl_deps":1)";
  return text.replace(text.find(told), told.size(), R"("ctrl_deps":)" + std::to_string(parent));
}

std::string refusal_of(const std::string& nodes) {
  try {
    source_of(trace_text(nodes));
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(ArgumentSource, CallsAreMadeByOneOther) {
  EXPECT_EQ(source_of(trace_text(child_text(2, 1) + "," + child_text(3, 2))).sequence().size(), 1u);
  for (const auto& nodes : {child_text(2, 3) + "," + child_text(3, 2),
                            child_text(5, 4) + "," + child_text(4, 3) + "," + child_text(3, 4)}) {
    const std::string text = refusal_of(nodes);
    EXPECT_NE(text.find("argument_source_test.json: by their parents' ids"), std::string::npos) << text;
  }
}

TEST(ArgumentSource, IdsTellCallsApart) {
  const std::string text = refusal_of(child_text(7, 1) + "," + child_text(7, 1));
  EXPECT_NE(text.find("argument_source_test.json: node 7: another call has the same id"), std::string::npos) << text;
}

TEST(RepeatKey, TellsScalarsApartExactly) {
  const auto key = [](Value value) { return repeat_key(CallRecord{"aten::x", {std::move(value)}, ""}); };
  EXPECT_NE(key({int64_t{1}}), key({1.0}));
  EXPECT_NE(key({int64_t{1}}), key({true}));
  EXPECT_NE(key({0.0}), key({-0.0}));
  EXPECT_NE(key({std::string("n")}), key({}));
  EXPECT_NE(key({1.0}), key({1.0 + 1e-15}));
}

// Every record that the build made must be one that this program can rebuild.
TEST(Corpus, IsReadWithoutWarningsAndCanBeRebuilt) {
  const ArgumentSource corpus = ArgumentSource::bundled();
  EXPECT_TRUE(corpus.warnings().empty()) << corpus.warnings().front();
  EXPECT_GT(corpus.operators().size(), 1900u);
  size_t failures = 0;
  for (const std::string& name : corpus.operators()) {
    const size_t dot = name.find('.');
    const std::string overload = dot == std::string::npos ? "" : name.substr(dot + 1);
    const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(name.substr(0, dot).c_str(), overload.c_str());
    for (const CallRecord& call : corpus.calls(name)) {
      try {
        EXPECT_EQ(materialize(call, op, {}).size(), op.schema().arguments().size()) << name;
      } catch (const std::runtime_error& error) {
        ++failures;
        std::fprintf(stderr, "%s\n", error.what());
      }
    }
  }
  EXPECT_EQ(failures, 0u);
}

}  // namespace
}  // namespace flagos::diag
