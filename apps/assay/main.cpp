#include "commands/base/extras.h"
#include "commands/base/program.h"

// What a run needs is here; the rest is in assay-full (commands/base/extras.h).
int main(int argc, char** argv) {
  assay::commands::set_extras(argv, nullptr);
  return assay::commands::run_program(argc, argv, assay::commands::add_own_commands);
}
