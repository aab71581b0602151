// The worker: checks operators in a process of its own, so that a crash costs one row.
#pragma once

namespace flagos::diag {

// Note [Worker protocol]
// The parent starts `flagos-diag --worker IN OUT SEED [TRACE]`; IN and OUT are file descriptors. Lines of JSON:
//   parent: {"op": "aten::mm", "situations": ["plain", "conj"]}
//   worker: {"begin": "plain"}, then {"row": {...}}, for each situation; then {"done": "aten::mm"}
// With "kind": "stats" the request's situations are the numbers of recorded calls.
// With "kind": "verify" the request's situations are cases, "0:transposed", and each arm of a case is announced by
//   worker: {"stage": "native"}
// and "settings" may say what takes the place of the recorded call (verify/isolated_case.h). {"kernels": true} in them
// asks for the kernels too; where they can't be recorded the answer is, in a row,
//   worker: {"end": "no_kernels", "why": text}
// With "kind": "bench" they are numbers of recorded calls, or "step" for all of them in order, and "settings" says how.
// With "kind": "count" likewise; "settings" are {"by": "perf"}, or {"by": "callgrind", "folder": for its files}, in a
// process that is then to run under callgrind_command().
// The end of IN ends the worker. A worker that dies is replaced, and what it had begun is reported as an error.
inline constexpr const char* kWorkerFlag = "--worker";
inline constexpr const char* kNoKernels = "no_kernels";

bool is_worker(int argc, char** argv);

}  // namespace flagos::diag

// Runs a worker to its end; the exit code. Also called by python_mode.py, in Python under a TorchDispatchMode.
extern "C" [[gnu::visibility("default")]] int flagos_diag_worker(int argc, char** argv);
