#include "agent/messages.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/sha256.h"
#include "core/text.h"

namespace assay::agent {

namespace {

constexpr const char* kSshFolders = "/tmp";
constexpr std::size_t kNameLength = 32;  // of at most 107 bytes for a socket's path

std::string ssh_folder_name(const std::string& round_id) {
  return "assay-ssh-" + sha256(round_id).substr(0, kNameLength);
}

template <class Message>
Json encode(const Message& message) {
  return std::visit(
      []<class T>(const T& alternative) {
        Json json{{"type", T::kType}};
        json.update(fields_to_json(alternative));
        return json;
      },
      message);
}

template <class... T>
std::variant<T...> decode(const Json& json, const char* what,
                          std::type_identity<std::variant<T...>> /*all*/) {
  const auto found = json.find("type");
  const std::string type =
      found != json.end() && found->is_string() ? found->template get<std::string>() : "";
  std::optional<std::variant<T...>> out;
  try {
    (void)((type == T::kType && (out = fields_from_json<T>(json, type), true)) || ...);
  } catch (const Error& error) {
    throw Error(ErrorKind::internal, std::string("malformed ") + what + ": " + error.what());
  }
  if (!out)
    throw Error(ErrorKind::internal,
                std::string("unknown ") + what + " '" + printable(ellipsize(type, 100)) + "'");
  return std::move(*out);
}

}  // namespace

std::filesystem::path round_ssh_folder(const std::string& round_id, int node) {
  return std::filesystem::path(kSshFolders) / fmt::format("{}-{}", ssh_folder_name(round_id), node);
}

void remove_round_ssh_folders(const std::string& round_id) {
  const std::string prefix = ssh_folder_name(round_id) + "-";
  std::error_code ec;
  for (const auto& entry : std::filesystem::directory_iterator(kSshFolders, ec))
    if (entry.path().filename().string().starts_with(prefix))
      std::filesystem::remove_all(entry.path(), ec);
}

Json to_json(const Report& report) {
  return encode(report);
}

Json to_json(const Request& request) {
  return encode(request);
}

Report report_from_json(const Json& json) {
  return decode(json, "report", std::type_identity<Report>{});
}

Request request_from_json(const Json& json) {
  Request request = decode(json, "request", std::type_identity<Request>{});
  if (const auto* round = std::get_if<RoundRequest>(&request))
    for (const RankRequest& rank : round->ranks)
      if (rank.argv.empty()) throw Error(ErrorKind::internal, "a rank without a command");
  return request;
}

}  // namespace assay::agent
