#include "launch/cloud/cloud_connection.h"

#include <cstdlib>
#include <mutex>

#include <fmt/format.h>
#include <sys/stat.h>

#include "core/error.h"
#include "core/files.h"
#include "core/json_access.h"

namespace assay::launch {

namespace {

std::string advice(const KeyVariables& variables) {
  return fmt::format(
      "set {} and {}, or name a file with access_key and secret_key as the launcher's credentials",
      variables.access_key, variables.secret_key);
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// A file that someone else may renew.
class FileCredentials final : public cloud::CredentialSource {
 public:
  explicit FileCredentials(std::filesystem::path file)
      : file_(std::move(file)), current_(read_credentials(file_)) {}
  cloud::Credentials get() override {
    const std::lock_guard lock(mutex_);
    return current_;
  }
  bool renew(const cloud::Credentials& used) override {
    const std::lock_guard lock(mutex_);
    current_ = read_credentials(file_);
    return current_.access_key != used.access_key || current_.secret_key != used.secret_key ||
           current_.security_token != used.security_token;
  }

 private:
  std::filesystem::path file_;
  std::mutex mutex_;
  cloud::Credentials current_;
};

}  // namespace

std::unique_ptr<cloud::CredentialSource> credential_source(const std::filesystem::path& file,
                                                           const KeyVariables& variables) {
  if (file.empty())
    return std::make_unique<cloud::FixedCredentials>(read_credentials(file, variables));
  return std::make_unique<FileCredentials>(file);
}

Json read_secrets(const std::filesystem::path& file) {
  const std::string where = file.string();
  struct stat status {};
  if (::stat(where.c_str(), &status) == 0 && (status.st_mode & 077) != 0)
    throw Error(ErrorKind::environment, "others can read this file of secrets", where,
                "chmod 600 it, and make a new key if others may have read it");
  // Not parse_json: its message would quote the file.
  Json json = parse_json_or_null(read_file(file));
  return json.is_object() ? json : Json::object();
}

cloud::Credentials read_credentials(const std::filesystem::path& file,
                                    const KeyVariables& variables) {
  cloud::Credentials found;
  if (file.empty()) {
    found = {variable(variables.access_key), variable(variables.secret_key),
             variable(variables.security_token)};
    if (found.access_key.empty() || found.secret_key.empty())
      throw Error(ErrorKind::environment, "there is no access key for the cloud", {},
                  advice(variables));
    return found;
  }
  const Json json = read_secrets(file);
  found = {text_at(json, "access_key"), text_at(json, "secret_key"),
           text_at(json, "security_token")};
  if (found.access_key.empty() || found.secret_key.empty())
    throw Error(ErrorKind::environment, "access_key and secret_key are not in it", file.string(),
                advice(variables));
  return found;
}

CloudConnection::CloudConnection(const plan::JobServiceOptions& options, TransferSettings transfer,
                                 std::unique_ptr<cloud::CredentialSource> keys,
                                 const MakeService& make_service)
    : settings(std::move(transfer)),
      client(settings.client),
      credentials(std::move(keys)),
      bucket(client, *credentials, settings.store_at(options.store_endpoint), options.bucket),
      jobs(make_service(client, *credentials, bucket)) {}

}  // namespace assay::launch
