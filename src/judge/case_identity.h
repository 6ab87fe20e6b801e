#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/json.h"
#include "plan/effective_settings.h"

namespace assay::plan {
struct CasePlan;
}

namespace assay::judge {

struct CaseResult;

/// The name of a case in every run, however often it is repeated: without the number of rounds if
/// the name is its key ("matmul:assay:cpu:1:2:5").
[[nodiscard]] std::string case_identity(const CaseResult& result);
[[nodiscard]] std::string case_identity(const plan::CasePlan& plan);

/// The settings that determine the work: two cases that differ in one of them cannot be compared.
/// Keys are those of the settings; unset ones are left out.
[[nodiscard]] std::map<std::string, std::string> work_of(
    const std::vector<plan::Setting>& settings);

/// "model is resnet and resnet50": the first setting in which two kinds of work differ; empty:
/// none.
[[nodiscard]] std::string work_difference(const std::map<std::string, std::string>& first,
                                          const std::map<std::string, std::string>& second);

/// The kind of hardware of the first `nodes` nodes of system.json: processors, cores and
/// accelerators, not the host's name, memory or software: "2 × (AMD EPYC 9654, 192 cores, 384
/// threads, 8 × NVIDIA H200)". Two machines of the same kind have the same text. Empty when a node
/// is not described.
[[nodiscard]] std::string hardware_kind(const Json& system, int nodes);

}  // namespace assay::judge
