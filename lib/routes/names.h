// Names in routes: which operators a name means, and which name was probably meant.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flagos::routing {

enum class Spelling {
  kName,      // "add.Tensor", "aten::add.Tensor", "add"; "max.default" is max's overload without a name
  kVariable,  // the same in a variable's name, dots and "::" as "__": "add__Tensor"
};

// The operators of the dispatcher by the names that a route can have for them. A snapshot; immutable, any thread.
class OperatorNames {
 public:
  explicit OperatorNames(Spelling spelling);

  // One overload, or all of a bare name; empty when there is none.
  const std::vector<c10::OperatorHandle>& find(const std::string& text) const;

  // The name that `text` was probably meant to be: of an overload if it has one, else a bare one.
  std::string nearest(std::string_view text) const;

 private:
  void add(const std::string& name, const c10::OperatorHandle& op);

  Spelling spelling_;
  std::map<std::string, std::vector<c10::OperatorHandle>> meant_;
};

// The operator "add.Tensor", with or without "aten::"; an overload without a name as "max" or "max.default".
std::optional<c10::OperatorHandle> find_overload(std::string_view name);

// The one of `names` that is nearest to `text` by edit distance; the first of several. `names` is not empty.
std::string nearest_of(std::string_view text, const std::vector<std::string>& names);

}  // namespace flagos::routing
