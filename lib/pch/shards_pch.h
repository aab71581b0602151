// Precompiled: what every shard includes.
#include "kernel/op_kernel.h"
