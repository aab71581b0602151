// Preloaded, it makes this torch call itself 2.1, which libflagos was never built for.
#include <cstdint>

extern "C" [[gnu::visibility("default")]] uint64_t aoti_torch_abi_version();
uint64_t aoti_torch_abi_version() { return uint64_t{2} << 56 | uint64_t{1} << 48; }
