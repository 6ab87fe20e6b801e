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

/// What a case is called in every run, however often it is repeated: its name, without the number
/// of rounds where the name is made of its key ("matmul:assay:cpu:1:2:5").
[[nodiscard]] std::string case_identity(const CaseResult& result);
[[nodiscard]] std::string case_identity(const plan::CasePlan& plan);

/// The settings that say what was computed: of two cases that differ in one of them, neither is
/// faster than the other. Keys are those of the settings; what is not set is left out.
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
