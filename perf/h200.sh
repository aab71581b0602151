#!/usr/bin/env bash
# What a flagos call costs over the native call on a CUDA machine, from Python and from C++: the figures of
# docs/performance.md. One command, nothing to prepare but ./start --version.
#   perf/h200.sh [BUILD] [OUTPUT]     BUILD: build folder, default build; OUTPUT: folder for JSON files, default none
# PYTHON names the interpreter that has torch; the default is .venv's. About 3 minutes.
set -euo pipefail

root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
build=${1:-$root/build}
output=${2:-}
python=${PYTHON:-$root/.venv/bin/python3}
library=$build/lib/libflagos.so

[[ -e $library ]] ||
  { echo "h200.sh: $library is missing; run ./start --version first, or name a build folder" >&2; exit 2; }
[[ -x $python ]] || { echo "h200.sh: no $python; set PYTHON to an interpreter that has torch" >&2; exit 2; }
"$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' ||
  { echo "h200.sh: torch finds no usable CUDA device" >&2; exit 2; }
json() { [[ -z $output ]] || printf -- '%s\n' "$1" "$output/$2"; }
[[ -z $output ]] || mkdir -p -- "$output"

export FLAGOS_TARGET=cuda FLAGOS_LIBRARY=$library PYTHONPATH=$root/python${PYTHONPATH:+:$PYTHONPATH}
nvidia-smi --query-gpu=name,driver_version,clocks.sm --format=csv,noheader || true
echo "== from Python: three arms interleaved in one process, twice"
mapfile -t arguments < <(json --json overhead.json)
"$python" "$root/perf/overhead.py"
"$python" "$root/perf/overhead.py" "${arguments[@]}"
if [[ -x $build/tool/flagos-diag ]]; then
  echo "== from C++: a decode step's operators and the step itself"
  mapfile -t arguments < <(json --output ab-bench.json)
  [[ -z $output ]] || arguments+=(--format json)
  "$build/tool/flagos-diag" ab-bench --workload qwen3-decode --time-budget 60 "${arguments[@]}"
fi
if [[ -x $build/perf/thread-bench ]]; then
  echo "== 1, 2, 4 and 8 threads on shared weights"
  "$build/perf/thread-bench" --benchmark_enable_random_interleaving=true --benchmark_repetitions=9 \
    --benchmark_report_aggregates_only=true
fi
