// The Python that puts a worker under a TorchDispatchMode.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace flagos::diag {

struct PythonProgram {
  std::vector<std::string> command;  // to put before a worker's arguments; empty: none was found
  std::string error;                 // why not
};

// The first of pythons() with a torch of the running version; the script
// python_mode.py and the worker as a shared library, from beside this program or from where they were built.
PythonProgram find_python_program();

// A file or folder of this project: beside this program in a build tree, else below ../lib/flagos where it is
// installed.
std::optional<std::filesystem::path> find_beside_program(const char* name);

}  // namespace flagos::diag
