#include "isolation/worker.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Logging.h>
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "flagos/target.h"
#include "isolation/line_pipe.h"
#include "report/error_text.h"
#include "situations/checker.h"

namespace flagos::diag {
namespace {

constexpr int kLeastArguments = 5;

void send(int out, const Row& message) { write_line(out, message.dump(-1, ' ', false, Row::error_handler_t::replace)); }

// A CUDA error such as a failed device-side assertion stays with the process: every later call would fail.
bool device_is_broken() {
  try {
    const c10::impl::VirtualGuardImpl device(c10::DeviceType::PrivateUse1);
    device.synchronizeDevice(device.getDevice().index());
    return false;
  } catch (const std::exception&) {
    return true;
  }
}

void serve(const Row& request, const ArgumentSource& source, uint64_t seed, int out) {
  const auto op = request.at("op").get<std::string>();
  std::unique_ptr<Checker> checker;
  for (const auto& name : request.at("situations")) {
    const auto situation = situation_of(name.get<std::string>()).value();
    send(out, {{"begin", name}});
    if (checker == nullptr) {
      checker = std::make_unique<Checker>(source, op, seed);
    }
    send(out, {{"row", checker->check(situation)}});
  }
  send(out, {{"done", op}, {"spent", device_is_broken()}});
}

int run(int argc, char** argv) {
  flagos::init();
  const int in = std::stoi(argv[2]);
  const int out = std::stoi(argv[3]);
  const uint64_t seed = std::stoull(argv[4]);
  const auto source =
      argc > kLeastArguments ? ArgumentSource::from_trace(argv[kLeastArguments]) : ArgumentSource::bundled();
  LineReader requests(in);
  while (const auto line = requests.next()) {
    serve(Row::parse(*line), source, seed, out);
  }
  return 0;
}

}  // namespace

bool is_worker(int argc, char** argv) { return argc >= kLeastArguments && std::string_view(argv[1]) == kWorkerFlag; }

}  // namespace flagos::diag

int flagos_diag_worker(int argc, char** argv) {
  try {
    return flagos::diag::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "flagos-diag worker: {}\n", flagos::diag::error_text(error));
  }
  return 2;
}
