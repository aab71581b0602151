// The Python that puts a worker under a TorchDispatchMode.
#pragma once

#include <string>
#include <vector>

namespace flagos::diag {

struct PythonProgram {
  std::vector<std::string> command;  // to put before a worker's arguments; empty: none was found
  std::string error;                 // why not
};

// The Python that the project was built with, else python3 on PATH, with a torch of the running version; the script
// python_mode.py and the worker as a shared library, from beside this program or from where they were built.
PythonProgram find_python_program();

}  // namespace flagos::diag
