// A program that uses libflagos as anyone would: by its public headers and what its package says to link.
#include <ATen/ATen.h>
#include <flagos/flagos.h>

#include <iostream>

int main() {
  if (!flagos::init()) {
    return 1;
  }
  const at::Tensor sum = at::ones({2}, at::TensorOptions().device(c10::Device("flagos"))) + 1;
  std::cout << sum.device() << '\n';
  return sum.device().is_privateuseone() && sum.cpu().equal(at::full({2}, 2.0)) ? 0 : 1;
}
