#include "micro/workloads.h"

namespace assay::micro {

std::vector<workload::Workload> workloads() {
  return {null_workload(), matmul_workload()};
}

}  // namespace assay::micro
