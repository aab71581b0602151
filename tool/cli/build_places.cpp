#include "cli/build_places.h"

// Meson's, for all but the wheel.
#ifndef FLAGOS_PYTHON
#define FLAGOS_PYTHON ""
#define FLAGOS_DATA_INSTALLED ""
#define FLAGOS_DATA_BUILD ""
#define FLAGOS_DATA_SOURCE ""
#endif

namespace flagos::diag {

BuildPlaces build_places() { return {FLAGOS_PYTHON, {FLAGOS_DATA_INSTALLED, FLAGOS_DATA_BUILD, FLAGOS_DATA_SOURCE}}; }

}  // namespace flagos::diag
