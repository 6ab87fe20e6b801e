#include "launch/modelarts/cloud_connection.h"

#include <cstdlib>

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

cloud::ObsOptions obs_options(const plan::ModelArtsOptions& options) {
  cloud::ObsOptions obs;
  obs.endpoint = options.obs_endpoint;
  return obs;
}

}  // namespace

cloud::Credentials read_credentials(const plan::ModelArtsOptions& options) {
  cloud::Credentials found;
  if (options.credentials.empty()) {
    found = {variable("HUAWEICLOUD_SDK_AK"), variable("HUAWEICLOUD_SDK_SK"),
             variable("HUAWEICLOUD_SDK_SECURITY_TOKEN")};
    if (found.access_key.empty() || found.secret_key.empty())
      throw Error(ErrorKind::environment, "there is no access key for the cloud", {}, kAdvice);
    return found;
  }
  const std::string where = options.credentials.string();
  struct stat status {};
  if (::stat(where.c_str(), &status) == 0 && (status.st_mode & 077) != 0)
    throw Error(ErrorKind::environment, "others can read this file of secrets", where,
                "chmod 600 it, and make a new key if others may have read it");
  // Not parse_json: its message would quote the file.
  const Json json = parse_json_or_null(read_file(options.credentials));
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

CloudConnection::CloudConnection(const plan::ModelArtsOptions& options)
    : credentials(read_credentials(options)),
      modelarts(client, credentials, options.endpoint, options.project),
      jobs(options.v1() ? make_service_v1(modelarts, options.job_name, options.engine)
                        : make_service_v2(modelarts)),
      bucket(client, credentials, obs_options(options), options.bucket) {}

}  // namespace assay::launch
