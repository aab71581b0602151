#include "traces/execution_trace.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "trace_text.h"

namespace flagos::diag {
namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(ExecutionTrace, ReadsTensorsScalarsAndOrigin) {
  const ReadTrace read = read_text(trace_text(node_text(41, kAddSchema, add_inputs())));
  ASSERT_EQ(read.calls.size(), 1u);
  EXPECT_TRUE(read.warnings.empty());
  const CallRecord& call = read.calls[0];
  EXPECT_EQ(call.op, "aten::add.Tensor");
  EXPECT_EQ(call.origin, "test.json: node 41");
  ASSERT_EQ(call.arguments.size(), 3u);
  const auto& self = std::get<TensorRecord>(call.arguments[0].data);
  EXPECT_EQ(self.storage_id, 6);
  EXPECT_EQ(self.sizes, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(self.strides, (std::vector<int64_t>{3, 1}));
  EXPECT_EQ(self.dtype, c10::ScalarType::Float);
  EXPECT_EQ(std::get<int64_t>(call.arguments[2].data), 1);
}

TEST(ExecutionTrace, ReadsListsNonFiniteNumbersAndRangesPastUndefinedTensors) {
  const std::string inputs =
      R"json({"values":[[5,6,0,12,4,"cpu"],[[9,0,0,0,0,""],[7,8,0,2,8,"cpu"]]],"shapes":[[3,4],[[],[2]]],)json"
      R"json("types":["Tensor(float)","GenericList[Tensor(nullptr (uninitialized)),Tensor(long int)]"],)json"
      R"json("strides":[[4,1],[[],[1]]]})json";
  const std::string clamp = R"json({"values":[[5,6,0,1,8,"cpu"],"<None>","-inf"],"shapes":[[],[],[]],)json"
                            R"json("types":["Tensor(c10::complex<float>)","None","Double"],"strides":[[],[],[]]})json";
  const ReadTrace read = read_text(trace_text(
      node_text(1, "aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", inputs, R"({\"2\":[1,2]})") + "," +
      node_text(2, "aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", clamp)));
  ASSERT_EQ(read.calls.size(), 2u);
  const auto& indices = std::get<std::vector<Value>>(read.calls[0].arguments[1].data);
  ASSERT_EQ(indices.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(indices[0].data));
  EXPECT_EQ(std::get<TensorRecord>(indices[1].data).range, (std::pair<int64_t, int64_t>{1, 2}));
  EXPECT_EQ(std::get<TensorRecord>(read.calls[1].arguments[0].data).dtype, c10::ScalarType::ComplexFloat);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(read.calls[1].arguments[1].data));
  EXPECT_EQ(std::get<double>(read.calls[1].arguments[2].data), -INFINITY);
}

TEST(ExecutionTrace, PassesOverNodesWithoutSchemaAndUnknownTopLevelData) {
  std::string text = trace_text(node_text(3, "", add_inputs()) + "," + node_text(4, kAddSchema, add_inputs()));
  text.replace(text.find("\"pid\":1"), 7, R"("extra":[{"id":1,"attrs":[[1,2],{"a":[]}]}])");
  EXPECT_EQ(read_text(text).calls.size(), 1u);
}

TEST(ExecutionTrace, CountsOperatorsThatAreNotHere) {
  const std::string nodes = node_text(1, "aten::no_such_op(Tensor self) -> Tensor", add_inputs()) + "," +
                            node_text(2, "aten::no_such_op(Tensor self) -> Tensor", add_inputs()) + "," +
                            node_text(3, kAddSchema, add_inputs());
  const ReadTrace read = read_text(trace_text(nodes));
  EXPECT_EQ(read.calls.size(), 1u);
  ASSERT_EQ(read.warnings.size(), 1u);
  EXPECT_TRUE(contains(read.warnings[0], "2 calls")) << read.warnings[0];
  EXPECT_TRUE(contains(read.warnings[0], "aten::no_such_op")) << read.warnings[0];
}

TEST(ExecutionTrace, SparseAndQuantizedTensorsAreWarnings) {
  const std::string sparse = add_inputs(R"([7,0,0,0,0,""])", "[2,3]", "[0,0]");
  const std::string quantized = add_inputs(R"([7,8,0,3,1,"cpu"])", "[3]", "[1]", "Tensor(c10::qint8)");
  const ReadTrace read =
      read_text(trace_text(node_text(1, kAddSchema, sparse) + "," + node_text(2, kAddSchema, quantized)));
  EXPECT_TRUE(read.calls.empty());
  EXPECT_EQ(read.warnings.size(), 3u);  // one for each cause, and that nothing is left
}

TEST(ExecutionTrace, NewerSchemaIsAWarning) {
  const std::string node = node_text(1, kAddSchema, add_inputs());
  const ReadTrace newer = read_text(trace_text(node, "2.0.0-chakra.0.1.0"));
  EXPECT_EQ(newer.calls.size(), 1u);
  ASSERT_EQ(newer.warnings.size(), 1u);
  EXPECT_TRUE(contains(newer.warnings[0], "2.0.0-chakra.0.1.0"));
  EXPECT_TRUE(read_text(trace_text(node, "1.9.0")).warnings.empty());
}

TEST(ExecutionTrace, NodesOfANewerSchemaThatMakeNoSenseArePassedOver) {
  const std::string nodes = node_text(1, kAddSchema, "[]") + "," + node_text(2, kAddSchema, add_inputs());
  const ReadTrace newer = read_text(trace_text(nodes, "2.0.0"));
  EXPECT_EQ(newer.calls.size(), 1u);
  ASSERT_EQ(newer.warnings.size(), 2u);
  EXPECT_TRUE(contains(newer.warnings[1], "1 call passed over")) << newer.warnings[1];
  EXPECT_TRUE(contains(newer.warnings[1], "newer schema")) << newer.warnings[1];
  EXPECT_TRUE(contains(failure_of(trace_text(nodes)), "node 1: it has no inputs"));
}

TEST(ExecutionTrace, TruncatedAtEveryPlaceFailsWithNameAndRemedy) {
  const std::string text =
      trace_text(node_text(1, kAddSchema, add_inputs()) + "," + node_text(2, kAddSchema, add_inputs()));
  for (size_t length = 0; length < text.size(); ++length) {
    const std::string failure = failure_of(text.substr(0, length));
    ASSERT_TRUE(contains(failure, "test.json")) << length;
    ASSERT_TRUE(contains(failure, "unregister_callback")) << length;
  }
  EXPECT_EQ(failure_of(text), "");
  EXPECT_TRUE(contains(failure_of(text.substr(0, text.size() - 10)), "node 2"));
}

TEST(ExecutionTrace, DeepNestingIsRefusedInsideAndOutsideNodes) {
  for (const char open : {'[', '{'}) {
    const std::string unit = open == '[' ? "[" : R"({"a":)";
    std::string deep;
    for (int i = 0; i < 100000; ++i) {
      deep += unit;
    }
    EXPECT_TRUE(contains(failure_of(deep), "deep"));
    EXPECT_TRUE(contains(failure_of(R"({"schema":"1","nodes":[{"a":)" + deep), "deep"));
    EXPECT_TRUE(contains(failure_of(R"({"other":)" + deep), "deep"));
  }
}

TEST(ExecutionTrace, NodeOfAMillionValuesIsRefused) {
  std::string values = "[0";
  for (int i = 0; i < 1'100'000; ++i) {
    values += ",0";
  }
  EXPECT_TRUE(contains(failure_of(trace_text(R"({"id":1,"x":)" + values + "]}")), "million"));
}

TEST(ExecutionTrace, NoTraceIsRefused) {
  EXPECT_TRUE(contains(failure_of("[]"), "is no PyTorch execution trace"));
  EXPECT_TRUE(contains(failure_of(R"({"schema":"1.1.1"})"), "nodes"));
  EXPECT_TRUE(contains(failure_of(R"({"traceEvents":[]})"), "schema"));
  EXPECT_TRUE(contains(failure_of(R"({"schema":"1.1.1","nodes":7})"), "nodes"));
  EXPECT_THROW(read_execution_trace(std::filesystem::path("/no/such/file"), [](CallRecord&&) {}), std::runtime_error);
  EXPECT_THROW(read_execution_trace(std::filesystem::path("/tmp"), [](CallRecord&&) {}), std::runtime_error);
}

TEST(ExecutionTrace, FileOverTwoGigabytesIsRefusedUnread) {
  const auto file = std::filesystem::path(::testing::TempDir()) / "huge_trace.json";
  std::ofstream(file) << "{";
  std::filesystem::resize_file(file, (uintmax_t{2} << 30) + 1);  // sparse: takes no room
  try {
    read_execution_trace(file, [](CallRecord&&) {});
    ADD_FAILURE() << "not refused";
  } catch (const std::runtime_error& error) {
    EXPECT_TRUE(contains(error.what(), "larger than 2 GiB")) << error.what();
  }
  std::filesystem::remove(file);
}

struct Lie {
  const char* name;
  std::string inputs;
  std::string range;
  std::string complaint;
};

void PrintTo(const Lie& lie, std::ostream* out) { *out << lie.name; }

class LyingTrace : public ::testing::TestWithParam<Lie> {};

TEST_P(LyingTrace, IsRefusedWithFileAndNode) {
  const std::string failure = failure_of(trace_text(node_text(77, kAddSchema, GetParam().inputs, GetParam().range)));
  EXPECT_TRUE(contains(failure, "test.json: node 77: ")) << failure;
  EXPECT_TRUE(contains(failure, GetParam().complaint)) << failure;
  EXPECT_TRUE(contains(failure, "Record it again")) << failure;
}

TEST(ExecutionTrace, MemoryOfANodeIsBounded) {
  std::string lists = "[]";
  for (int i = 0; i < (1 << 20); ++i) {
    lists += ",[]";
  }
  const std::string many = R"({"id":2,"x":[)" + lists + "]}";
  EXPECT_NE(failure_of(trace_text(many)).find("more than a million values"), std::string::npos);
  const std::string text = R"({"id":2,"x":")" + std::string(size_t{40} << 20, 'x') + "\"}";
  EXPECT_NE(failure_of(trace_text(text)).find("more than 32 MiB"), std::string::npos);
}

TEST(ExecutionTrace, NodesAreObjects) {
  for (const char* nodes : {"1", "[]", "null", "\"x\""}) {
    EXPECT_NE(failure_of(trace_text(nodes)).find("no object"), std::string::npos) << nodes;
  }
}

TEST(ExecutionTrace, WarningsAreFewShortAndPrintable) {
  std::string nodes;
  for (int i = 0; i < 100; ++i) {
    const std::string name =
        "aten::no\\u001b[31m" + std::to_string(i) + std::string(5000, 'x') + "(Tensor x) -> Tensor";
    nodes += (i == 0 ? "" : ",") + node_text(i + 2, name, add_inputs());
  }
  const auto warnings = read_text(trace_text(nodes)).warnings;
  EXPECT_LT(warnings.size(), 25u);
  EXPECT_NE(warnings.back().find("none of its 100 nodes"), std::string::npos) << warnings.back();
  for (const std::string& warning : warnings) {
    EXPECT_LT(warning.size(), 250u);
    EXPECT_EQ(warning.find('\x1b'), std::string::npos);
  }
}

TEST(ExecutionTrace, ParserErrorsAreShortAndPrintable) {
  for (const std::string& text : {"{\"schema\":\"" + std::string(100'000, 'x') + "\xff\"}", std::string("{\"\xff")}) {
    const std::string failure = failure_of(text);
    EXPECT_NE(failure.find("test.json: is not complete JSON"), std::string::npos);
    EXPECT_LT(failure.size(), 700u);
    EXPECT_EQ(failure.find('\xff'), std::string::npos);
  }
}

const std::string kHuge = "9223372036854775807";

INSTANTIATE_TEST_SUITE_P(
    All, LyingTrace,
    ::testing::Values(
        Lie{"numel", add_inputs(R"([7,8,0,4,4,"cpu"])"), "", "claims 4 elements"},
        Lie{"negative_size", add_inputs(R"([7,8,0,3,4,"cpu"])", "[-3]"), "", "negative"},
        Lie{"negative_stride", add_inputs(R"([7,8,0,3,4,"cpu"])", "[3]", "[-1]"), "", "negative"},
        Lie{"negative_offset", add_inputs(R"([7,8,-2,3,4,"cpu"])"), "", "negative"},
        Lie{"strides_length", add_inputs(R"([7,8,0,3,4,"cpu"])", "[3]", "[1,1]"), "", "1 sizes and 2 strides"},
        Lie{"item_size", add_inputs(R"([7,8,0,3,8,"cpu"])"), "", "8 bytes an element"},
        Lie{"product_overflows", add_inputs(R"([7,8,0,0,4,"cpu"])", "[4294967296,4294967296]", "[1,1]"), "", "64 bits"},
        Lie{"stride_overflows", add_inputs(R"([7,8,0,3,4,"cpu"])", "[3]", "[" + kHuge + "]"), "", "64 bits"},
        Lie{"offset_overflows", add_inputs("[7,8," + kHuge + R"(,3,4,"cpu"])"), "", "64 bits"},
        Lie{"no_integer", add_inputs(R"([7,8,0,18446744073709551615,4,"cpu"])"), "", "64-bit"},
        Lie{"fraction", add_inputs(R"([7,8,0.5,3,4,"cpu"])"), "", "64-bit"},
        Lie{"short_tensor", add_inputs(R"([7,8,0])"), "", "[id, storage"},
        Lie{"scalar_tensor", add_inputs("3"), "", "[id, storage"},
        Lie{"list_type", add_inputs("[1]", "[[]]", "[[]]", "GenericList[Int,Int]"), "", "another number"},
        Lie{"open_list_type", add_inputs("[1]", "[[]]", "[[]]", "GenericList[Int"), "", "closed bracket"},
        Lie{"text_as_number", add_inputs(R"("x")", "[]", "[]", "Double"), "", "no number"},
        Lie{"columns", R"({"values":[1],"shapes":[],"types":["Int"],"strides":[[]]})", "", "another number"},
        Lie{"no_inputs", "[]", "", "no inputs"}, Lie{"range_place", add_inputs(), R"({\"9\":[0,1]})", "tensor_range"},
        Lie{"range_order", add_inputs(), R"({\"0\":[3,1]})", "least value above"},
        Lie{"range_text", add_inputs(), "nonsense", "tensor_range"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace flagos::diag
