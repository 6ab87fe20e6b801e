#include "client/server_choice.h"

#include <cstdlib>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/address.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/json_access.h"
#include "core/regular_file.h"
#include "core/text.h"
#include "http/url.h"

namespace assay::client {

namespace fs = std::filesystem;

namespace {

// Empty where there is no such file. One that others can read is no place for a token.
std::string private_file(const fs::path& path) {
  const UniqueFd fd = open_regular_file(path);
  if (!fd) return {};
  struct stat about {};
  if (::fstat(fd.get(), &about) == 0 && (about.st_mode & 077) != 0)
    throw Error(ErrorKind::environment, "others can read this file, and it holds a token",
                path.string(), "chmod 600 " + shell_quote(path.string()));
  return read_regular_file(path);
}

Server logged_in(const fs::path& file) {
  const std::string text = private_file(file);
  if (text.empty()) return {};
  const Json content = parse_json_or_null(text);
  const JsonReader json(content, file.string(), "rewrite it with 'assay login URL'");
  return {json.text("url"), json.text_or_empty("token"), json.text_or_empty("ca"), file.string()};
}

// Only who may read the administrator's token is the administrator.
std::string token_of_data(const fs::path& data) {
  if (::access((data / "admin.token").c_str(), R_OK) != 0) return {};
  return std::string(trim(private_file(data / "admin.token")));
}

Server on_this_machine(const fs::path& data) {
  const fs::path file = data / "server.json";
  const std::string text = read_regular_file_or_empty(file);
  if (text.empty()) return {};
  const Json json = parse_json_or_null(text);
  Server server;
  server.url = text_at(json, "url");
  server.ca_file = text_at(json, "ca");
  server.source = file.string();
  if (server.url.empty())
    throw Error(ErrorKind::config, "there is no 'url' in it", file.string(),
                "start 'assay serve' again, or give --server URL");
  server.token = token_of_data(data);
  return server;
}

}  // namespace

ServerPlaces usual_places() {
  ServerPlaces places;
  places.variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  fs::path config = places.variable("XDG_CONFIG_HOME");
  if (config.empty() || config.is_relative()) {
    const std::string home = places.variable("HOME");
    config = home.empty() ? fs::path() : fs::path(home) / ".config";
  }
  if (!config.empty()) places.login_file = config / "assay" / "server.json";
  places.data = kDefaultData;
  return places;
}

Server find_server(const ServerPlaces& places) {
  const std::string token = places.variable("ASSAY_TOKEN");
  Server found{places.given_url, {}, {}, "--server"};
  if (found.url.empty()) found = {places.variable("ASSAY_SERVER"), {}, {}, "ASSAY_SERVER"};
  const bool named = !found.url.empty();
  if (named) found.url = http::parse_url(found.url, found.source).origin;

  // A token that was kept for a server goes to that server only.
  Server kept = places.login_file.empty() ? Server{} : logged_in(places.login_file);
  if (kept.url.empty() || (named && kept.url != found.url)) {
    Server local = on_this_machine(places.data);
    if (!local.url.empty() && (!named || local.url == found.url)) kept = local;
  }
  if (!named) found = kept;
  if (named && kept.url == found.url) {
    found.token = kept.token;
    found.ca_file = kept.ca_file;
  }
  if (!token.empty()) found.token = token;
  if (!places.given_ca.empty()) found.ca_file = places.given_ca;
  if (found.url.empty())
    throw Error(ErrorKind::usage, "which server? None is named, and none runs from here", {},
                "start one with 'assay serve', sign in to one with 'assay login URL', or give "
                "--server URL (or ASSAY_SERVER) and the token in ASSAY_TOKEN");
  found.url = http::parse_url(found.url, found.source).origin;
  return found;
}

void write_login(const fs::path& file, const Server& server) {
  make_directories(file.parent_path());
  Json json = {{"url", server.url}, {"token", server.token}};
  if (!server.ca_file.empty()) json["ca"] = fs::absolute(server.ca_file).string();
  const std::string text = dump_pretty(json);
  fs::path fresh = file;
  fresh += ".new";
  (void)::unlink(fresh.c_str());
  UniqueFd fd(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd) throw system_error(ErrorKind::environment, "cannot write", fresh.string(), errno);
  write_all(fd.get(), text, fresh);
  fd.reset();
  if (::rename(fresh.c_str(), file.c_str()) != 0)
    throw system_error(ErrorKind::environment, "cannot write", file.string(), errno);
}

bool is_private(const Server& server) {
  const http::Url url = http::parse_url(server.url, server.source);
  return url.origin.starts_with("https://") || is_this_machine(url.host);
}

}  // namespace assay::client
