// An NVTX injection library, as a profiler brings one along: a program loads it that has its path in
// NVTX_INJECTION64_PATH. It appends a line for each range that begins or ends on a thread, "TID push NAME" and
// "TID pop", to the file that FLAGOS_NVTX_LOG names.
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace {

int log_file = -1;
thread_local int depth = 0;

void append(const std::string& event) {
  const std::string line = std::to_string(syscall(SYS_gettid)) + ' ' + event + '\n';
  if (write(log_file, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    std::abort();
  }
}

int NVTX_API push(const char* name) {
  append(std::string("push ") + name);
  return depth++;
}

int NVTX_API pop() {
  append("pop");
  return --depth;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const char* file = std::getenv("FLAGOS_NVTX_LOG");
  log_file = file != nullptr ? open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable functions = nullptr;
  unsigned int count = 0;
  if (log_file < 0 || callbacks == nullptr ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &functions, &count) == 0 ||
      count <= NVTX_CBID_CORE_RangePop) {
    return 0;
  }
  *functions[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(push);
  *functions[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(pop);
  return 1;
}
