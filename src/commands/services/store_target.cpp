#include "commands/services/store_target.h"

#include "commands/base/variable.h"
#include "commands/runs/planning.h"
#include "core/error.h"

namespace assay::commands {

std::optional<StoreUrl> parse_store_url(const std::string& text) {
  std::size_t from = std::string::npos;
  for (const char* scheme : {"obs://", "s3://"})
    if (text.starts_with(scheme)) from = std::string(scheme).size();
  if (from == std::string::npos) return std::nullopt;
  const std::size_t slash = text.find('/', from);
  StoreUrl url{text.substr(from, slash == std::string::npos ? slash : slash - from),
               slash == std::string::npos ? "" : text.substr(slash + 1)};
  if (url.bucket.empty())
    throw Error(ErrorKind::usage, "there is no bucket in '" + text + "'", {},
                "write it obs://BUCKET/KEY");
  return url;
}

void add_store_options(CLI::App& command, StoreOptions& options) {
  command
      .add_option("--suite", options.suite,
                  "Take endpoint and credentials from this suite (launcher modelarts or http)")
      ->type_name("SUITE");
  command
      .add_option("--endpoint", options.endpoint,
                  "The store's address, without the bucket; else ASSAY_OBS_ENDPOINT")
      ->type_name("URL");
  command
      .add_option("--region", options.region,
                  "OBS of this region; with --s3 the region of the signature (us-east-1)")
      ->type_name("NAME");
  command
      .add_option("--credentials", options.credentials,
                  "JSON file with access_key and secret_key, mode 0600; else HUAWEICLOUD_SDK_AK "
                  "and HUAWEICLOUD_SDK_SK, with --s3 AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
      ->type_name("FILE");
  command.add_option("--ca", options.ca_file, "Certificates to trust, PEM; else the system's")
      ->type_name("FILE");
  command.add_flag("--s3", options.s3, "An S3-compatible store: AWS signature V4, path style");
  command.add_flag("--path-style", options.path_style, "https://endpoint/bucket/key");
  command.add_option("--parallel", options.parallel, "Transfers at once (default: 8)")
      ->check(CLI::Range(1, 256));
}

plan::ModelArtsOptions cloud_of_suite(const std::string& suite,
                                      const std::vector<std::string>& set) {
  PlanRequest request;
  request.suite = suite;
  request.set = set;
  const plan::Plan plan = make_plan(request);
  const auto* options = std::get_if<plan::ModelArtsOptions>(&plan.cluster.options);
  if (options == nullptr)
    throw Error(ErrorKind::usage, "the suite's launcher is not modelarts", plan.suite_file,
                "name a suite with cluster: {launcher: modelarts}");
  return *options;
}

SuiteStore store_of_suite(const std::string& suite) {
  PlanRequest request;
  request.suite = suite;
  const plan::Plan plan = make_plan(request);
  if (const auto* modelarts = std::get_if<plan::ModelArtsOptions>(&plan.cluster.options))
    return {*modelarts, false, modelarts->inputs};
  if (const auto* http = std::get_if<plan::HttpOptions>(&plan.cluster.options))
    return {*http, true};
  throw Error(ErrorKind::usage, "the suite's launcher has no object store", plan.suite_file,
              "name a suite with the launcher modelarts or http, or give --endpoint URL");
}

Store::Store(const StoreOptions& options) : key_file_(options.credentials) {
  bool s3 = options.s3;
  if (!options.suite.empty()) {
    const SuiteStore suite = store_of_suite(options.suite);
    endpoint_ = suite.options.store_endpoint;
    if (key_file_.empty()) key_file_ = suite.options.credentials;
    s3 = s3 || suite.s3;
  }
  settings_ = launch::read_transfer_settings(
      key_file_, s3 ? launch::TransferSettings::of_s3() : launch::TransferSettings{});
  if (!options.endpoint.empty()) endpoint_ = options.endpoint;
  if (endpoint_.empty()) endpoint_ = variable("ASSAY_OBS_ENDPOINT");
  if (endpoint_.empty() && !options.region.empty() && !s3)
    endpoint_ = "https://obs." + options.region + ".myhuaweicloud.com";
  if (endpoint_.empty())
    throw Error(ErrorKind::usage, "which store is meant is not known", {},
                "give --endpoint URL, --region NAME (OBS), or --suite SUITE");
  if (!options.region.empty()) settings_.store.region = options.region;
  if (options.path_style) settings_.store.path_style = true;
  if (options.parallel > 0) settings_.store.parallel = options.parallel;
  if (!options.ca_file.empty()) settings_.client.ca_file = options.ca_file;
  client_.emplace(settings_.client);
  const bool aws = s3 && !variable(launch::kAwsKeys.access_key).empty();
  credentials_ = launch::credential_source(key_file_, aws ? launch::kAwsKeys : launch::kHuaweiKeys);
}

cloud::ObsBucket Store::bucket(const std::string& name) {
  return {*client_, *credentials_, settings_.store_at(endpoint_), name};
}

}  // namespace assay::commands
