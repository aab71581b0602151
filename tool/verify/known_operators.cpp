#include "verify/known_operators.h"

#include <set>
#include <string_view>

#include "cli/operator_names.h"

namespace flagos::diag {

bool makes_results_on_host(const std::string& op) {
  static const std::set<std::string_view> kOps = {
      "_pack_padded_sequence",      "_pad_packed_sequence",       "_rowwise_prune",          "_shape_as_tensor",
      "_test_ambiguous_defaults.a", "_test_ambiguous_defaults.b", "choose_qparams_optimized"};
  return kOps.contains(without_aten(op));
}

const char* why_contents_ignored(const std::string& op) {
  const std::string_view name = without_aten(op);
  if (name.starts_with("empty") || name.starts_with("new_empty") || name.starts_with("_empty")) {
    return "its result is uninitialised memory";
  }
  if (name.starts_with("mkldnn_rnn_layer")) {
    return "its last result is the library's workspace, parts of which it leaves uninitialised";
  }
  if (name.starts_with("resize") || name.starts_with("_resize")) {
    return "elements that it adds are uninitialised memory";
  }
  return nullptr;
}

bool trusts_strides(const std::string& op) { return without_aten(op).starts_with("_reshape_alias"); }

bool trusts_sizes(const std::string& op) { return without_aten(op).starts_with("_sobol_engine"); }

}  // namespace flagos::diag
