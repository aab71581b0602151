// flagos-diag: parse, validate, run, report.
#include "cli/run.h"

int main(int argc, char** argv) { return flagos_diag_main(argc, argv); }
