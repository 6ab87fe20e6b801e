#include <sys/prctl.h>

#include "commands/full/full_program.h"
#include "launch/backends/job_services.h"

int main(int argc, char** argv) {
  // One command has one name among the processes, which 'assay stop' and others look for.
  ::prctl(PR_SET_NAME, "assay");
  assay::launch::use_job_services();
  assay::commands::set_extras(argv, &assay::commands::all_extras());
  return assay::commands::run_program(argc, argv, assay::commands::add_all_commands);
}
