// What happens when the library is loaded: settings, target, device, kernels.
#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/Allocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>
#include <c10/util/Logging.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/version.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "device/allocator.h"
#include "device/environment.h"
#include "device/guard.h"
#include "device/hooks.h"
#include "device/profiler.h"
#include "device/target.h"
#include "flagos/target.h"
#include "kernel/fallback.h"
#include "kernel/load_error.h"
#include "kernel/registration.h"
#include "ops/as_target.h"
#include "ops/attention.h"
#include "ops/autocast.h"
#include "ops/collectives.h"
#include "ops/copies.h"
#include "ops/dropout.h"
#include "ops/packed_sequence.h"
#include "ops/parameters.h"
#include "ops/rnn_cells.h"
#include "ops/target_views.h"
#include "ops/views.h"
#include "ops/zero_tensor.h"
#include "redispatch/switch.h"
#include "routes/table.h"

namespace flagos {
namespace {

std::string* g_load_error = nullptr;
bool g_loaded = false;

// "2.11" for an ABI version, which has the major version in its highest byte and the minor one in the next.
std::string minor_version(uint64_t abi_version) {
  return std::to_string(abi_version >> 56) + "." + std::to_string(abi_version >> 48 & 0xff);
}

// Another minor version of torch lays its objects out differently. A C function tells which one this is, so that
// asking needs none of them. Python's loader refuses such a library before it is loaded; a program that links it can't.
void check_torch() {
  const std::string built = minor_version(TORCH_ABI_VERSION);
  const std::string running = minor_version(aoti_torch_abi_version());
  if (built != running) {
    throw std::runtime_error("flagos: libflagos was built for torch " TORCH_VERSION ", but this process runs torch " +
                             running + ". Build it again for torch " + running + ", or run the program with torch " +
                             built + " (its run path and LD_LIBRARY_PATH say where libtorch is).");
  }
}

void register_device() {
  c10::register_privateuse1_backend("flagos");
  static const c10::impl::DeviceGuardImplRegistrar guard_registrar(c10::DeviceType::PrivateUse1, device::guard());
  at::RegisterPrivateUse1HooksInterface(device::hooks());
  c10::SetAllocator(c10::DeviceType::PrivateUse1, device::allocator());
  device::register_profiler();
  // Boxed calls initialise the target, not flagos; and what PyTorch thinks is not initialised has no pinned memory.
  at::globalContext().lazyInitDevice(c10::DeviceType::PrivateUse1);
}

// Whether autograd records what the operator's composite calls, and not the operator: avg_pool1d.out and its kin, whose
// functional overloads are CompositeImplicit.
bool autograd_sees_inside(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd) &&
         !op.hasKernelForDispatchKey(c10::DispatchKey::Autograd) && !op.hasKernelForDispatchKey(target().dense_key);
}

// Only what the target has a kernel for: an op registered over a target that lacks it would send its composite down a
// path that fails. A CompositeImplicit kernel is none of the target's: autograd must see what it is made of.
bool target_has_kernel(const c10::OperatorHandle& op) {
  if (autograd_sees_inside(op)) {
    return false;
  }
  return op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd)
             ? op.hasKernelForDispatchKey(target().dense_key)
             : op.hasComputedKernelForDispatchKey(target().dense_key);
}

void register_kernels() {
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const auto& shard : kernel::all_shards()) {
    for (const kernel::RegisteredOp& op : shard) {
      const auto handle = dispatcher.findSchema({op.name, op.overload});
      if (handle.has_value() && target_has_kernel(*handle)) {
        const auto& context = kernel::add_context(*handle, KernelKind::kBoxed, op.policy);
        kernel::register_kernel(context, op.make_kernel(context, op.full_dispatch));
      }
    }
  }
}

void load() {
  const Environment& settings = environment();
  if (settings.disabled) {
    return;
  }
  check_torch();
  redispatch_switch::initialise(settings.redispatch_off, settings.log_dispatch);
  device::choose_target(settings.target);
  register_device();
  register_kernels();
  ops::shorten_copies();
  ops::register_views();
  ops::register_parameter_moves();
  ops::register_packed_sequence();
  ops::register_zero_tensor();
  ops::register_rnn_cells();
  ops::register_as_target();
  ops::register_attention();
  ops::register_dropout();
  ops::register_autocast();
  ops::register_collectives();
  ops::register_target_views();
  kernel::watch_definitions();
  kernel::register_special_layouts();
  kernel::register_fallbacks(&ops::try_on_target);
  routing::apply_environment();
  g_loaded = true;
}

// An exception must not leave a static initialiser: it would end the process. It is kept, shown, and thrown by init().
[[maybe_unused]] const bool g_attempted = [] {
  try {
    load();
  } catch (const c10::Error& error) {
    g_load_error = new std::string(error.what_without_backtrace());
  } catch (const std::exception& error) {
    g_load_error = new std::string(error.what());
  }
  if (g_load_error != nullptr) {
    LOG(ERROR) << *g_load_error;
  }
  return true;
}();

}  // namespace

const std::string* kernel::load_error() noexcept { return g_load_error; }

const char* version() noexcept { return FLAGOS_VERSION; }

bool init() {
  TORCH_CHECK(g_load_error == nullptr, *g_load_error);
  return g_loaded;
}

}  // namespace flagos
