// Small execution traces as text, for tests.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "traces/execution_trace.h"

namespace flagos::diag {

inline constexpr const char* kAddSchema = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor";

// A node; `inputs` is the text of the "inputs" object.
inline std::string node_text(int id, const std::string& schema, const std::string& inputs,
                             const std::string& range = "") {
  return R"({"id":)" + std::to_string(id) + R"(,"name":"x","ctrl_deps":1,"inputs":)" + inputs +
         R"(,"outputs":{"values":[],"shapes":[],"types":[],"strides":[]},"attrs":[)" +
         R"({"name":"op_schema","type":"string","value":")" + schema + R"("},)" +
         R"({"name":"tensor_range","type":"string","value":")" + range + R"("}]})";
}

inline std::string trace_text(const std::string& nodes, const std::string& schema = "1.1.1-chakra.0.0.4") {
  return R"({"schema":")" + schema + R"(","pid":1,"time":"","start_ts":0,"nodes":[)" + nodes + R"(],"finish_ts":1})";
}

// add.Tensor of a [2,3] tensor and `other`, both float.
inline std::string add_inputs(const std::string& other = R"([7,8,0,3,4,"cpu"])", const std::string& shape = "[3]",
                              const std::string& strides = "[1]", const std::string& type = "Tensor(float)") {
  return R"json({"values":[[5,6,0,6,4,"cpu"],)json" + other + R"json(,1],"shapes":[[2,3],)json" + shape +
         R"json(,[]],"types":["Tensor(float)",")json" + type + R"json(","Int"],"strides":[[3,1],)json" + strides +
         ",[]]}";
}

struct ReadTrace {
  std::vector<CallRecord> calls;
  std::vector<std::string> warnings;
};

inline ReadTrace read_text(const std::string& text) {
  ReadTrace read;
  std::istringstream input(text);
  read.warnings =
      read_execution_trace(input, "test.json", [&](CallRecord&& call) { read.calls.push_back(std::move(call)); });
  return read;
}

// What reading `text` throws; empty if it doesn't.
inline std::string failure_of(const std::string& text) {
  try {
    read_text(text);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

}  // namespace flagos::diag
