#include "commands/platform/platform_client.h"

#include <cstdio>

#include <fmt/format.h>

#include "commands/base/terminal.h"
#include "core/text.h"

namespace assay::commands {

void add_server_options(CLI::App& command, ServerOptions& options,
                        const std::vector<std::string>& more) {
  command.add_option("--server", options.url, "Address of the server")->type_name("URL");
  command.add_option("--ca", options.ca, "Certificate to trust, PEM; else the system's")
      ->type_name("FILE");
  std::vector<std::string> formats{"text", "json"};
  formats.insert(formats.end(), more.begin(), more.end());
  command.add_option("--format", options.format, "Of the output")
      ->check(CLI::IsMember(formats))
      ->capture_default_str();
}

client::Client make_client(const ServerOptions& options, std::stop_token stop) {
  client::ServerPlaces places = client::usual_places();
  places.given_url = options.url;
  places.given_ca = options.ca;
  client::Server server = client::find_server(places);
  if (!server.token.empty() && !client::is_private(server))
    tell_error(fmt::format("assay: warning: {} has no TLS: the token can be read on the way\n",
                           server.url));
  return client::Client(std::move(server), std::move(stop));
}

std::string fitted(const page::Table& table) {
  const Terminal t = terminal();
  page::TextStyle style;
  if (t.interactive) style.width = t.width;
  style.mark = t.unicode ? "…" : "~";
  style.color = t.color;
  return join(page::text_lines(table, style), "\n") + "\n";
}

}  // namespace assay::commands
