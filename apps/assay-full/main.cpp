#include "commands/full/full_program.h"
#include "launch/backends/job_services.h"

int main(int argc, char** argv) {
  assay::launch::use_job_services();
  assay::commands::set_extras(argv, &assay::commands::all_extras());
  return assay::commands::run_program(argc, argv, assay::commands::add_all_commands);
}
