#include "faults/operators.h"

#include <ATen/ATen.h>

#include <stdexcept>

namespace flagos::testing {

Script& script() {
  static auto* instance = new Script();
  return *instance;
}

void reach(const at::Tensor& tensor, bool mutated) {
  if (script().reached++ == script().throw_at) {
    throw std::runtime_error("injected");
  }
  if (script().touch && tensor.defined()) {
    at::Tensor handle = tensor;
    script().touch(handle, mutated);
  }
}

namespace {

using T = at::Tensor;
using Tensors = std::vector<at::Tensor>;
using OptionalList = c10::List<std::optional<at::Tensor>>;

// The end of a kernel is one more place to throw at.
void reach_end() { reach(at::Tensor(), false); }

struct One : CustomOperator<One, T(const T&)> {
  static constexpr const char* name = "flagos_test::fault_one";
  static constexpr const char* overload_name = "";
  static constexpr const char* schema_str = "fault_one(Tensor a) -> Tensor";
  static T target(const T& a) {
    reach(a, false);
    T result = a + 1;
    reach_end();
    return result;
  }
};

struct Two : CustomOperator<Two, std::tuple<T, T>(const T&, const T&)> {
  static constexpr const char* name = "flagos_test::fault_two";
  static constexpr const char* overload_name = "";
  static constexpr const char* schema_str = "fault_two(Tensor a, Tensor b) -> (Tensor, Tensor)";
  static std::tuple<T, T> target(const T& a, const T& b) {
    reach(a, false);
    reach(b, false);
    reach_end();
    return {a, b + 1};
  }
};

struct Three : CustomOperator<Three, std::vector<T>(const T&, const T&, const T&)> {
  static constexpr const char* name = "flagos_test::fault_three";
  static constexpr const char* overload_name = "";
  static constexpr const char* schema_str = "fault_three(Tensor a, Tensor b, Tensor c) -> Tensor[]";
  static std::vector<T> target(const T& a, const T& b, const T& c) {
    reach(a, false);
    reach(b, false);
    reach(c, false);
    reach_end();
    std::vector<T> results;
    results.push_back(a + 1);
    results.push_back(b.alias());
    results.push_back(c + 2);
    return results;
  }
};

struct Four : CustomOperator<Four, T(const T&, const T&, const T&, const T&)> {
  static constexpr const char* name = "flagos_test::fault_four";
  static constexpr const char* overload_name = "";
  static constexpr const char* schema_str = "fault_four(Tensor a, Tensor b, Tensor c, Tensor d) -> Tensor";
  static T target(const T& a, const T& b, const T& c, const T& d) {
    for (const T* each : {&a, &b, &c, &d}) {
      reach(*each, false);
    }
    reach_end();
    return a + 1;
  }
};

struct Optional : CustomOperator<Optional, T(const std::optional<T>&, const T&, const std::optional<T>&)> {
  static constexpr const char* name = "flagos_test::fault_optional";
  static constexpr const char* overload_name = "";
  static constexpr const char* schema_str = "fault_optional(Tensor? a, Tensor b, Tensor? c) -> Tensor";
  static T target(const std::optional<T>& a, const T& b, const std::optional<T>& c) {
    reach(a.value_or(T()), false);
    reach(b, false);
    reach(c.value_or(T()), false);
    reach_end();
    return b + 1;
  }
};

struct List : CustomOperator<List, T(at::TensorList, const T&)> {
  static constexpr const char* name = "flagos_test::fault_list";
  static constexpr const char* overload_name = "";
  static constexpr const char* schema_str = "fault_list(Tensor[] xs, Tensor y) -> Tensor";
  static T target(at::TensorList xs, const T& y) {
    for (const T& x : xs) {
      reach(x, false);
    }
    reach(y, false);
    reach_end();
    return y + 1;
  }
};

struct ListOfOptionals : CustomOperator<ListOfOptionals, T(const OptionalList&, const T&)> {
  static constexpr const char* name = "flagos_test::fault_list_of_optionals";
  static constexpr const char* overload_name = "";
  static constexpr const char* schema_str = "fault_list_of_optionals(Tensor?[] xs, Tensor y) -> Tensor";
  static T target(const OptionalList& xs, const T& y) {
    for (size_t i = 0; i < xs.size(); ++i) {
      reach(xs.get(i).value_or(T()), false);
    }
    reach(y, false);
    reach_end();
    return y + 1;
  }
};

struct InPlace : CustomOperator<InPlace, T&(T&, const T&)> {
  static constexpr const char* name = "flagos_test::fault_in_place";
  static constexpr const char* overload_name = "";
  static constexpr const char* schema_str = "fault_in_place(Tensor(a!) x, Tensor y) -> Tensor(a!)";
  static T& target(T& x, const T& y) {
    reach(x, true);
    reach(y, false);
    reach_end();
    return x;
  }
};

struct Out : CustomOperator<Out, T&(const T&, T&)> {
  static constexpr const char* name = "flagos_test::fault_out";
  static constexpr const char* overload_name = "";
  static constexpr const char* schema_str = "fault_out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)";
  static T& target(const T& x, T& out) {
    reach(x, false);
    reach(out, true);
    reach_end();
    return out;
  }
};

struct TwoOuts : CustomOperator<TwoOuts, std::tuple<T&, T&>(const T&, T&, T&)> {
  static constexpr const char* name = "flagos_test::fault_two_outs";
  static constexpr const char* overload_name = "";
  static constexpr const char* schema_str =
      "fault_two_outs(Tensor x, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))";
  static std::tuple<T&, T&> target(const T& x, T& out0, T& out1) {
    reach(x, false);
    reach(out0, true);
    reach(out1, true);
    reach_end();
    return {out0, out1};
  }
};

struct MutatedList : CustomOperator<MutatedList, void(at::TensorList, at::TensorList)> {
  static constexpr const char* name = "flagos_test::fault_mutated_list";
  static constexpr const char* overload_name = "";
  static constexpr const char* schema_str = "fault_mutated_list(Tensor(a!)[] xs, Tensor[] ys) -> ()";
  static void target(at::TensorList xs, at::TensorList ys) {
    for (const T& x : xs) {
      reach(x, true);
    }
    for (const T& y : ys) {
      reach(y, false);
    }
    reach_end();
  }
};

template <class Op>
FaultCase fault_case(size_t tensors, uint64_t mutated, std::function<void(const Tensors&)> call,
                     std::function<torch::jit::Stack(const Tensors&)> stack) {
  register_custom_operator<Op>();
  return {Op::name,        tensors,          mutated,
          std::move(call), std::move(stack), [] { return c10::OperatorHandle(Op::handle()); }};
}

torch::jit::Stack each(const Tensors& x) { return {x.begin(), x.end()}; }
Tensors all_but_last(const Tensors& x) { return {x.begin(), x.end() - 1}; }
Tensors half(const Tensors& x, bool second) {
  const auto middle = x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2);
  return second ? Tensors(middle, x.end()) : Tensors(x.begin(), middle);
}
// The last but one is absent.
OptionalList optionals(const Tensors& x) {
  OptionalList list;
  for (size_t i = 0; i + 1 < x.size(); ++i) {
    list.push_back(i + 2 == x.size() ? std::nullopt : std::optional(x[i]));
  }
  return list;
}
T& mutable_of(const T& x) { return const_cast<T&>(x); }

std::vector<FaultCase> make_cases() {
  std::vector<FaultCase> cases;
  cases.push_back(fault_case<One>(
      1, 0, [](const Tensors& x) { One::call(x[0]); }, each));
  cases.push_back(fault_case<Two>(
      2, 0, [](const Tensors& x) { Two::call(x[0], x[1]); }, each));
  cases.push_back(fault_case<Three>(
      3, 0, [](const Tensors& x) { Three::call(x[0], x[1], x[2]); }, each));
  cases.push_back(fault_case<Four>(
      4, 0, [](const Tensors& x) { Four::call(x[0], x[1], x[2], x[3]); }, each));
  cases.push_back(fault_case<Optional>(
      2, 0, [](const Tensors& x) { Optional::call(x[0], x[1], std::nullopt); },
      [](const Tensors& x) {
        return torch::jit::Stack{x[0], x[1], c10::IValue()};
      }));
  // Below, at and above the number of aliases that Frame searches one by one.
  for (const size_t n : {size_t{2}, size_t{9}, size_t{24}}) {
    cases.push_back(fault_case<List>(
        n, 0, [](const Tensors& x) { List::call(all_but_last(x), x.back()); },
        [](const Tensors& x) {
          return torch::jit::Stack{all_but_last(x), x.back()};
        }));
  }
  cases.push_back(fault_case<ListOfOptionals>(
      4, 0, [](const Tensors& x) { ListOfOptionals::call(optionals(x), x.back()); },
      [](const Tensors& x) {
        return torch::jit::Stack{optionals(x), x.back()};
      }));
  cases.push_back(fault_case<InPlace>(
      2, 1, [](const Tensors& x) { InPlace::call(mutable_of(x[0]), x[1]); }, each));
  cases.push_back(fault_case<Out>(
      2, 2, [](const Tensors& x) { Out::call(x[0], mutable_of(x[1])); }, each));
  cases.push_back(fault_case<TwoOuts>(
      3, 6, [](const Tensors& x) { TwoOuts::call(x[0], mutable_of(x[1]), mutable_of(x[2])); }, each));
  for (const size_t n : {size_t{2}, size_t{8}, size_t{24}}) {
    cases.push_back(fault_case<MutatedList>(
        n, (uint64_t{1} << (n / 2)) - 1, [](const Tensors& x) { MutatedList::call(half(x, false), half(x, true)); },
        [](const Tensors& x) {
          return torch::jit::Stack{half(x, false), half(x, true)};
        }));
  }
  return cases;
}

}  // namespace

const std::vector<FaultCase>& fault_cases() {
  static const auto* cases = new std::vector<FaultCase>(make_cases());
  return *cases;
}

}  // namespace flagos::testing
