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

/// A case's name across runs, independent of its repeats: its name, without the number of rounds if
/// the name is made of its key ("matmul:assay:cpu:1:2:5").
[[nodiscard]] std::string case_identity(const CaseResult& result);
[[nodiscard]] std::string case_identity(const plan::CasePlan& plan);

/// The settings that determine what was computed: cases that differ in one of them cannot be
/// compared for speed. Keys are those of the settings; unset ones are left out.
[[nodiscard]] std::map<std::string, std::string> work_of(
    const std::vector<plan::Setting>& settings);

/// "model is resnet and resnet50": the first setting that differs; empty when none does.
[[nodiscard]] std::string work_difference(const std::map<std::string, std::string>& first,
                                          const std::map<std::string, std::string>& second);

/// The kind of hardware of the first `nodes` nodes in system.json (processors, cores and
/// accelerators, but not the host's name, memory or software): "2 × (AMD EPYC 9654, 192 cores, 384
/// threads, 8 × NVIDIA H200)". Machines of the same kind have the same text. Empty when a node is
/// not described.
[[nodiscard]] std::string hardware_kind(const Json& system, int nodes);

}  // namespace assay::judge
