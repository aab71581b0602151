// Symbol visibility of the public API. Everything without FLAGOS_API is hidden.
#pragma once

#define FLAGOS_API [[gnu::visibility("default")]]
