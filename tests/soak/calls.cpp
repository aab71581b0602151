#include "soak/calls.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>

#include <array>
#include <thread>
#include <vector>

#include "flagos/flagos.h"
#include "flagos_tensors.h"

namespace flagos::testing {
namespace {

using Tensors = std::vector<at::Tensor>;

// More dimensions than a TensorImpl holds in itself.
constexpr std::array<int64_t, 7> kSeven{2, 1, 3, 1, 2, 1, 2};

struct Operands {
  at::Tensor a = iota(12).view({3, 4});
  at::Tensor b = at::ones({3, 4}, on_flagos());
  at::Tensor mask = a.gt(4);
  at::Tensor complex = at::complex(a, b);
  at::Tensor seven = iota(24).view(kSeven);
  at::Tensor on_cpu = at::ones({3, 4});
  Tensors few{a.clone(), b.clone(), iota(5)};
  Tensors many;  // more than a frame searches one by one
  at::Tensor weight = at::ones({4, 4}, on_flagos()).requires_grad_();
  at::Tensor weight_of_seven = at::ones(kSeven, on_flagos()).requires_grad_();
  at::Tensor image = at::ones({1, 1, 6, 6}, on_flagos());
  at::Tensor filter = at::ones({1, 1, 3, 3}, on_flagos());
};

Operands& operands() {
  static auto* made = [] {
    auto* all = new Operands();
    for (int i = 0; i < 40; ++i) {
      all->many.push_back(iota(i % 3 + 1));
    }
    return all;
  }();
  return *made;
}

template <class Call>
void raises(const Call& call) {
  bool raised = false;
  try {
    call();
  } catch (const c10::Error&) {
    raised = true;
  }
  TORCH_CHECK(raised, "soak: a call that is to raise did not");
}

void views() {
  const at::Tensor& a = operands().a;
  a.view({4, 3}).t().select(0, 1).unsqueeze(0).expand({2, 4}).slice(1, 1, 3);
  a.as_strided({2, 2}, {4, 1}, 1).squeeze().permute({1, 0}).transpose(0, 1).detach().alias();
}

void to_the_cpu_and_back() {
  const at::Tensor there = host(operands().a);
  at::Tensor back = there.to(operands().a.device());
  back.copy_(operands().on_cpu);
  at::Tensor other = at::empty({3, 4});
  other.copy_(back);
}

void lists() {
  Tensors few = operands().few;
  at::_foreach_add_(few, 0);
  at::_foreach_mul(few, 2);
  at::_foreach_norm(few);
}

void backward() {
  Operands& with = operands();
  (with.a.mm(with.weight) * with.b).exp().sum().backward();
  with.weight.mutable_grad() = at::Tensor();
}

void out_overloads() {
  Operands& with = operands();
  at::Tensor out = at::empty({0}, on_flagos());
  at::add_out(out, with.a, with.b);
  out.resize_({0});
  at::cat_out(out, {with.a, with.b});
  out.resize_({0});
  at::mm_out(out, with.a, with.b.t());
}

void raising() {
  Operands& with = operands();
  raises([&] { with.a.mm(with.b); });
  raises([&] { with.a + with.few[2]; });
  raises([&] { at::cat({with.a, with.few[2]}); });
  raises([&] { with.a.view({5, 5}); });
  raises([&] { with.a.mm(with.on_cpu); });
  raises([&] { at::_foreach_add_(operands().few, Tensors{with.a}); });
  raises([&] {
    at::Tensor out = at::empty({2}, on_flagos().dtype(at::kLong));
    at::add_out(out, with.a, with.b);
  });
}

void switches() {
  Operands& with = operands();
  set_redispatch_enabled(false);
  with.a + with.b;
  const RedispatchGuard on(true);
  with.a + with.b;
  const RedispatchGuard off(false);
  with.a + with.b;
  set_redispatch_enabled(true);
}

void changing_routes() {
  Operands& with = operands();
  for (const char* backend : {"dispatch", "cpu", "native"}) {
    set_route("add.Tensor", backend);
    with.a + with.b;
    static_cast<void>(routes());
  }
  raises([] { set_route("add.Tensro", "cpu"); });
  raises([] { set_route("view", "cpu"); });
  clear_routes();
}

void seven_dimensions() {
  Operands& with = operands();
  const at::Tensor& x = with.seven;
  at::Tensor y = x + x;
  y.add_(x).mul_(1);
  at::Tensor out = at::empty({0}, on_flagos());
  at::add_out(out, x, y);  // from one dimension to seven
  out.resize_({0});
  at::add_out(out, with.a, with.b);  // and back
  at::cat({x, y}, 2).transpose(0, 6).contiguous();
  y.resize_({2, 2, 2}).resize_({1, 1, 1, 1, 1, 1, 1, 8});
  y.unsqueeze_(0).squeeze_();
  x.sum({1, 3, 5}, /*keepdim=*/true);
  host(x.select(0, 1)).to(x.device());
  raises([&] { x + with.few[2]; });
}

void backward_of_seven() {
  Operands& with = operands();
  (with.seven * with.weight_of_seven).permute({6, 5, 4, 3, 2, 1, 0}).exp().sum().backward();
  with.weight_of_seven.mutable_grad() = at::Tensor();
}

void storages() {
  at::Tensor x = at::empty({0}, on_flagos());
  x.resize_({64}).fill_(1);
  at::Tensor y = at::full({3}, 2, on_flagos());
  x.set_(y);
  x.set_data(operands().a);
  x = at::zeros({2}, on_flagos());
  const c10::weak_intrusive_ptr<c10::TensorImpl> weak(x.getIntrusivePtr());
  x.add_(1);
}

void indices() {
  Operands& with = operands();
  at::Tensor picked = with.a.index({with.mask});
  with.a.clone().index_put_({with.mask}, picked);
  with.a.nonzero();
  with.a.topk(2);
  with.a.sort(1);
}

void lazy() {
  Operands& with = operands();
  with.complex.conj() + 1;
  at::imag(with.complex.conj()).neg() + with.a;
  at::_efficientzerotensor({3, 4}, on_flagos()) + with.a;
}

void autocast() {
  Operands& with = operands();
  const bool before = at::autocast::is_autocast_enabled(at::kPrivateUse1);
  at::autocast::set_autocast_enabled(at::kPrivateUse1, true);
  with.a.mm(with.weight);
  at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kPrivateUse1, before);
}

void thread_that_ends() {
  std::thread([] {
    at::Tensor x = iota(4);
    x.add_(x);
    operands().seven + 1;
  }).join();
}

void random_numbers() {
  at::Generator generator = at::globalContext().defaultGenerator(operands().a.device()).clone();
  at::rand({4}, generator, on_flagos());
  at::dropout(operands().a, 0.5, /*train=*/true);
}

}  // namespace

const std::vector<SoakCall>& soak_calls() {
  static const auto* all = new std::vector<SoakCall>{
      {"add", [] { operands().a + operands().b; }},
      {"add_", [] { operands().b.add_(0).mul_(1); }},
      {"views", views},
      {"cat",
       [] {
         at::cat({operands().a, operands().b, operands().a}, 1);
       }},
      {"mm", [] { operands().a.mm(operands().b.t()); }},
      {"to the CPU and back", to_the_cpu_and_back},
      {"lists", lists},
      {"a long list", [] { at::_foreach_add_(operands().many, 0); }},
      {"backward", backward},
      {"out=", out_overloads},
      {"raising", raising},
      {"kill switch", switches},
      {"routes", changing_routes, 50},
      {"seven dimensions", seven_dimensions},
      {"backward of seven dimensions", backward_of_seven},
      {"storages", storages},
      {"indices", indices},
      {"conjugates, negatives, zero tensors", lazy},
      {"sparse", [] { operands().a.to_sparse().to_dense(); }},
      {"autocast", autocast},
      {"random numbers", random_numbers},
      {"inference mode",
       [] {
         const at::InferenceMode mode;
         operands().a.softmax(1).mean().item<float>();
       }},
      {"convolution", [] { at::conv2d(operands().image, operands().filter); }},
      {"statistics", [] { static_cast<void>(op_stats("add.Tensor")); }},
      {"thread that ends", thread_that_ends},
  };
  return *all;
}

}  // namespace flagos::testing
