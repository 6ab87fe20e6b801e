#include "launch/cloud/cloud_connection.h"

#include <cstdlib>
#include <mutex>

#include <sys/stat.h>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"

namespace assay::launch {

namespace {

constexpr const char* kAdvice =
    "set HUAWEICLOUD_SDK_AK and HUAWEICLOUD_SDK_SK, or name a file with access_key and secret_key "
    "as cluster.modelarts.credentials";

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

std::unique_ptr<cloud::CredentialSource> credential_source(const std::filesystem::path& file) {
  if (file.empty()) return std::make_unique<cloud::FixedCredentials>(read_credentials(file));
  return std::make_unique<FileCredentials>(file);
}

cloud::Credentials read_credentials(const std::filesystem::path& file) {
  cloud::Credentials found;
  if (file.empty()) {
    found = {variable("HUAWEICLOUD_SDK_AK"), variable("HUAWEICLOUD_SDK_SK"),
             variable("HUAWEICLOUD_SDK_SECURITY_TOKEN")};
    if (found.access_key.empty() || found.secret_key.empty())
      throw Error(ErrorKind::environment, "there is no access key for the cloud", {}, kAdvice);
    return found;
  }
  const std::string where = file.string();
  struct stat status {};
  if (::stat(where.c_str(), &status) == 0 && (status.st_mode & 077) != 0)
    throw Error(ErrorKind::environment, "others can read this file of secrets", where,
                "chmod 600 it, and make a new key if others may have read it");
  // Not parse_json: its message would quote the file.
  const Json json = parse_json_or_null(read_file(file));
  const auto text = [&](const char* key) {
    return json.is_object() && json.contains(key) && json.at(key).is_string()
               ? json.at(key).get<std::string>()
               : std::string();
  };
  found = {text("access_key"), text("secret_key"), text("security_token")};
  if (found.access_key.empty() || found.secret_key.empty())
    throw Error(ErrorKind::environment, "access_key and secret_key are not in it", where, kAdvice);
  return found;
}

CloudConnection::CloudConnection(const plan::ModelArtsOptions& options, const MakeJobs& make_jobs)
    : settings(read_transfer_settings(options.credentials)),
      client(settings.client),
      credentials(credential_source(options.credentials)),
      jobs(make_jobs(client, *credentials)),
      bucket(client, *credentials, settings.store_at(options.obs_endpoint), options.bucket) {}

}  // namespace assay::launch
