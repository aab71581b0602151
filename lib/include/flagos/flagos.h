// libflagos: the whole public API. See README.md for what it is and lib/kernel/op_kernel.h for how a call runs.
#pragma once

#include "flagos/export.h"      // IWYU pragma: export
#include "flagos/redispatch.h"  // IWYU pragma: export
#include "flagos/routes.h"      // IWYU pragma: export
#include "flagos/stats.h"       // IWYU pragma: export
#include "flagos/target.h"      // IWYU pragma: export
