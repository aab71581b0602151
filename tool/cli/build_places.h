// Absolute paths of the machine that built the tool.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace flagos::diag {

// Note [Build places]
// A tool that is run where it was built, or where it was installed to, finds the build's Python and data files by these
// paths. build_places.cpp is the one file that has them: the wheel's tool is made of the same objects and of a
// build_places.cpp without any, and finds everything relative to itself.
struct BuildPlaces {
  const char* python;               // what the project was configured with; empty: none
  std::array<const char*, 3> data;  // folders of corpus.json and of the workloads, the best first; empty: none
};

BuildPlaces build_places();

// The Pythons that may run the tool's scripts, the best first: FLAGOS_DIAG_PYTHON, the build's, python3 on PATH.
std::vector<std::string> pythons();

}  // namespace flagos::diag
