// Guard, hooks, allocator and generators: what generic code of PyTorch asks of a device.
#include <ATen/ATen.h>
#include <ATen/DeviceGuard.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <gtest/gtest.h>

#include "flagos/flagos.h"

namespace flagos {
namespace {

const at::Device kFlagos(at::kPrivateUse1, 0);

TEST(Device, IsCalledFlagos) {
  EXPECT_EQ(at::Device("flagos:0"), kFlagos);
  EXPECT_EQ(kFlagos.str(), "flagos:0");
  EXPECT_TRUE(init());
}

TEST(Device, MapsToTheTargetAndBack) {
  const at::Device target = to_target_device(kFlagos);
  EXPECT_EQ(target.type(), target_device_type());
  EXPECT_EQ(to_flagos_device(target), kFlagos);
  EXPECT_EQ(to_target_device(at::Device(at::kMeta)), at::Device(at::kMeta));
  EXPECT_EQ(to_flagos_device(at::Device(at::kMeta)), at::Device(at::kMeta));
}

TEST(Guard, CurrentDeviceAndOutOfRange) {
  const at::OptionalDeviceGuard guard(kFlagos);
  EXPECT_EQ(c10::impl::VirtualGuardImpl(at::kPrivateUse1).getDevice(), kFlagos);
  EXPECT_GE(c10::impl::VirtualGuardImpl(at::kPrivateUse1).deviceCount(), 1);
  if (target_device_type() == at::kCPU) {
    EXPECT_ANY_THROW(at::empty({1}, at::TensorOptions().device(at::Device(at::kPrivateUse1, 1))));
  }
}

TEST(Guard, StreamsAndEvents) {
  const c10::impl::VirtualGuardImpl impl(at::kPrivateUse1);
  const c10::Stream stream = impl.getStream(kFlagos);
  EXPECT_EQ(stream.device(), kFlagos);
  const c10::StreamGuard guard(stream);
  c10::Event event(at::kPrivateUse1);
  event.record(stream);
  event.synchronize();
  EXPECT_TRUE(event.query());
}

TEST(Storage, CarriesTheTargetsDevice) {
  const at::Tensor x = at::ones({2}, at::TensorOptions().device(kFlagos));
  EXPECT_EQ(x.storage().device().type(), target_device_type());
  EXPECT_EQ(x.device(), kFlagos);
}

TEST(Generator, SeedingEitherSideReachesTheOther) {
  at::Generator ours = at::globalContext().defaultGenerator(kFlagos);
  at::Generator theirs = at::globalContext().defaultGenerator(to_target_device(kFlagos));
  ours.set_current_seed(5);
  EXPECT_EQ(theirs.current_seed(), 5U);
  theirs.set_current_seed(6);
  EXPECT_EQ(ours.current_seed(), 6U);
  EXPECT_EQ(ours.device(), kFlagos);
}

TEST(Generator, StateRoundTrip) {
  at::Generator generator = at::globalContext().defaultGenerator(kFlagos);
  const at::Tensor state = generator.get_state();
  const auto options = at::TensorOptions().device(kFlagos);
  const at::Tensor first = at::randn({5}, generator, options);
  generator.set_state(state);
  EXPECT_TRUE(at::equal(first, at::randn({5}, generator, options)));
  const at::Generator copy = generator.clone();
  EXPECT_EQ(copy.device(), kFlagos);
}

}  // namespace
}  // namespace flagos
