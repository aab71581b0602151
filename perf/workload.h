// The calls that the benchmarks and the instruction counts are about: the same set for every arm.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <string>
#include <vector>

namespace flagos::perf {

// One call, ready to be repeated. `run` holds its arguments.
struct Call {
  std::string name;
  std::function<void()> run;
};

// The calls on tensors of `device`, float32, small enough that the kernel's own work does not hide the call's cost.
inline std::vector<Call> calls(at::Device device) {
  const auto options = at::TensorOptions().device(device);
  const at::Tensor a = at::rand({8, 8}, options);
  const at::Tensor b = at::rand({8, 8}, options);
  const at::Tensor out = at::empty({8, 8}, options);
  const at::Tensor six = at::rand({2, 2, 2, 2, 2, 2}, options);
  const at::Tensor image = at::rand({2, 8, 4, 4}, options);
  const at::Tensor scale = at::rand({8}, options);
  const std::vector<at::Tensor> four(4, a);
  std::vector<at::Tensor> many;
  for (int i = 0; i < 300; ++i) {
    many.push_back(at::rand({4}, options));
  }
  const std::optional<at::Tensor> none;
  return {
      {"add_", [=] { at::Tensor(a).add_(b); }},
      {"add.out",
       [=] {
         at::Tensor result = out;
         at::add_out(result, a, b);
       }},
      {"add", [=] { at::add(a, b); }},
      {"add 6-D", [=] { at::add(six, six); }},
      {"relu", [=] { at::relu(a); }},
      {"addcmul", [=] { at::addcmul(a, a, b); }},
      {"mm", [=] { at::mm(a, b); }},
      {"view", [=] { a.view({64}); }},
      {"transpose", [=] { a.transpose(0, 1); }},
      {"slice", [=] { a.slice(0, 1, 5); }},
      {"select", [=] { a.select(0, 1); }},
      {"cat of 4", [=] { at::cat(four); }},
      {"empty",
       [=] {
         at::empty({8, 8}, options);
       }},
      {"empty_like", [=] { at::empty_like(a); }},
      {"zeros_like", [=] { at::zeros_like(a); }},
      {"randn_like", [=] { at::randn_like(a); }},
      {"clone", [=] { a.clone(); }},
      {"to(double)", [=] { a.to(at::kDouble); }},
      {"sum", [=] { a.sum(); }},
      {"softmax", [=] { at::softmax(a, 1); }},
      {"layer_norm", [=] { at::layer_norm(a, {8}, scale, scale); }},
      {"group_norm", [=] { at::group_norm(image, 2, scale, scale); }},
      {"_foreach_add_ of 300", [=] { at::_foreach_add_(many, 1.0); }},
  };
}

}  // namespace flagos::perf
