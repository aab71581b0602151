// The wheel's flagos-diag: loads torch, then the tool, which is a library beside this program.
//
// Note [The packaged program]
// In a wheel neither the place of torch nor whether it has CUDA is known before it is run, so that no rpath and no list
// of needed libraries can say what to load. The console script flagos-diag passes torch's folder of libraries in
// FLAGOS_DIAG_TORCH; without it torch is looked for in the same site-packages. Workers are this program too, and
// inherit the variable. Nothing is left to LD_LIBRARY_PATH, which programs that the tool starts would inherit.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace {

namespace fs = std::filesystem;

constexpr int kUsage = 2;  // ExitCode::kUsage
constexpr const char* kMinor = FLAGOS_TORCH_MINOR;

std::runtime_error unusable(const std::string& cause) {
  return std::runtime_error(cause + ". Install torch " + kMinor + " beside flagos (pip install 'torch==" + kMinor +
                            ".*'), and run the flagos-diag that pip put on PATH.");
}

void* load(const fs::path& library, int flags) {
  void* loaded = dlopen(library.c_str(), flags);
  if (loaded == nullptr) {
    throw unusable(std::string("can't load ") + library.string() + ": " + dlerror());
  }
  return loaded;
}

// The torch in the process says its version in a form that every release since 2.6 has.
void refuse_other_torch(void* torch, const fs::path& folder) {
  using Version = uint64_t();
  auto* const version = reinterpret_cast<Version*>(dlsym(torch, "aoti_torch_abi_version"));
  const uint64_t found = version == nullptr ? 0 : version();
  const std::string minor = std::to_string(found >> 56U) + "." + std::to_string(found >> 48U & 0xffU);
  if (minor != kMinor) {
    throw unusable("this flagos-diag was built for torch " + std::string(kMinor) + ", but " + folder.string() +
                   " has torch " + (found == 0 ? "of another version" : minor));
  }
}

// Global, as Python does it: libtorch_cuda's kernels register themselves, and the tool's libraries bind to these.
void load_torch(const fs::path& folder) {
  constexpr int kFlags = RTLD_NOW | RTLD_GLOBAL;
  load(folder / "libc10.so", kFlags);
  refuse_other_torch(load(folder / "libtorch_cpu.so", kFlags), folder);
  std::error_code error;
  if (fs::exists(folder / "libtorch_cuda.so", error)) {
    load(folder / "libtorch_cuda.so", kFlags);
  }
}

int run(int argc, char** argv) {
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  const char* torch = std::getenv("FLAGOS_DIAG_TORCH");
  load_torch(torch != nullptr && *torch != '\0' ? fs::path(torch) : here.parent_path().parent_path() / "torch/lib");
  load(here.parent_path() / "libflagos.so", RTLD_NOW | RTLD_GLOBAL);
  void* tool = load(here / "libflagos-diag-worker.so", RTLD_NOW);
  using Main = int(int, char**);
  auto* const diag = reinterpret_cast<Main*>(dlsym(tool, "flagos_diag_main"));
  if (diag == nullptr) {
    throw unusable(std::string("libflagos-diag-worker.so is of another flagos: ") + dlerror());
  }
  return diag(argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "flagos-diag: %s\n", error.what());
    return kUsage;
  }
}
