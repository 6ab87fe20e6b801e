#include "e2e/ring_program.h"

#include <fstream>

#include "core/process.h"

namespace assay::e2e {

std::string make_ring_program(const fs::path& folder) {
  if (!find_program("mpirun") || !find_program("mpicc")) return {};
  std::ofstream(folder / "ring.c") << R"(#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, sum = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("rank %d of %d on worker %s: %d\n", rank, size, getenv("DLWS_ROLE_IDX"), sum);
  MPI_Finalize();
  return 0;
}
)";
  const std::string program = (folder / "ring").string();
  const CommandResult made = run_command({"mpicc", "-o", program, (folder / "ring.c").string()},
                                         {.timeout = std::chrono::seconds(60), .env = {}});
  EXPECT_TRUE(made.ok()) << made.err;
  return program;
}

}  // namespace assay::e2e
