// flagos-diag: parse, validate, run, report.
#include "cli/exit_code.h"
#include "cli/run.h"
#include "cli/standard_streams.h"
#include "isolation/worker.h"

int main(int argc, char** argv) {
  flagos::diag::open_closed_streams();
  if (flagos::diag::is_worker(argc, argv)) {
    return flagos_diag_worker(argc, argv);
  }
  return static_cast<int>(flagos::diag::parse_and_run(argc, argv));
}
