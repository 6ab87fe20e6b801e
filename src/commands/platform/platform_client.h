#pragma once

#include <stop_token>
#include <string>

#include <CLI/CLI.hpp>

#include "client/rest_client.h"
#include "page/table.h"

namespace assay::commands {

/// The options of every command that uses the platform's server.
struct ServerOptions {
  std::string url;  ///< --server
  std::string ca;   ///< --ca
  std::string format = "text";

  [[nodiscard]] bool json() const { return format == "json"; }
};

/// Adds --server, --ca and --format (text, json and `more`). The options must outlive the command.
void add_server_options(CLI::App& command, ServerOptions& options,
                        const std::vector<std::string>& more = {});

/// A client for the server that was given or found. Warns if the token could be read on the way.
[[nodiscard]] client::Client make_client(const ServerOptions& options, std::stop_token stop = {});

/// The part of commands' help that they all share.
inline constexpr const char* kServerHelp =
    "\nThe server: --server URL or ASSAY_SERVER, with the token in ASSAY_TOKEN; else that of\n"
    "'assay login'; else one that runs here. Exit codes: 2 it cannot be done, 3 the server does\n"
    "not let us in, 4 it cannot be reached.";

/// A table as wide as the terminal; complete if the output goes elsewhere.
[[nodiscard]] std::string fitted(const page::Table& table);

}  // namespace assay::commands
