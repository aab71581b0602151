// The tests that need a GPU: exit code 77 where there is none.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "flagos/flagos.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!at::hasCUDA()) {
    std::puts("skipped: no usable CUDA device");
    return 77;
  }
  flagos::init();
  return RUN_ALL_TESTS();
}
