#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "core/json.h"

namespace assay::commands {

struct PushRequest {
  std::string run;
  std::string url;
  std::string token_file;  ///< empty: ASSAY_TESTER_TOKEN
  std::string ca;
  std::string name;
  Json ais = Json::object();             ///< as in push::PushOptions
  std::optional<std::string> test_id{};  ///< as in push::PushOptions
};

/// Sends the run to the tester and prints its answer; returns the exit code of `assay push`.
int push(const PushRequest& given);

/// Adds --to, --token-file and --ca to a command that talks to a tester. The texts must outlive it.
void add_tester_options(CLI::App& command, std::string& url, std::string& token_file,
                        std::string& ca);

}  // namespace assay::commands
