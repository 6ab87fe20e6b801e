#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cloud/obs.h"
#include "launch/cloud/cloud_connection.h"

namespace assay::commands {

/// "obs://bucket/a/b" or "s3://bucket/a/b".
struct StoreUrl {
  std::string bucket;
  std::string key;  ///< may be empty, or end with "/"

  [[nodiscard]] std::string text() const { return "obs://" + bucket + "/" + key; }
};

/// Nothing for text without such a beginning, which is a local path. Throws Error of kind usage for
/// an address without a bucket.
[[nodiscard]] std::optional<StoreUrl> parse_store_url(const std::string& text);

/// The object store and its credentials, according to the command line.
struct StoreOptions {
  std::string suite;        ///< names it: a file, or one of conf/suites
  std::string endpoint;     ///< otherwise this
  std::string region;       ///< otherwise OBS in this region; with `s3`, part of the signature
  std::string credentials;  ///< file, as cluster.modelarts.credentials
  std::string ca_file;
  bool s3 = false;  ///< AWS's signature V4, with keys from AWS_ACCESS_KEY_ID too
  bool path_style = false;
  int parallel = 0;  ///< 0: the default
};
void add_store_options(CLI::App& command, StoreOptions& options);

/// A client of the store with its credentials. Throws Error of kind usage that says what is
/// missing.
class Store {
 public:
  explicit Store(const StoreOptions& options);
  [[nodiscard]] cloud::ObsBucket bucket(const std::string& name);
  /// The file with its credentials; empty if they come from the environment.
  [[nodiscard]] const std::filesystem::path& key_file() const { return key_file_; }

 private:
  launch::TransferSettings settings_;
  std::filesystem::path key_file_;
  std::string endpoint_;
  std::optional<http::Client> client_;
  std::unique_ptr<cloud::CredentialSource> credentials_;
};

/// What a suite whose launcher leaves its rounds to a service says about its object store.
struct SuiteStore {
  plan::JobServiceOptions options;
  bool s3 = false;                              ///< as StoreOptions::s3
  std::map<std::string, std::string> inputs{};  ///< name → /bucket/folder, of modelarts
};
/// Throws Error of kind usage when the suite has another launcher.
[[nodiscard]] SuiteStore store_of_suite(const std::string& suite);

/// cluster.modelarts of a suite; throws Error of kind usage when it has another launcher.
[[nodiscard]] plan::ModelArtsOptions cloud_of_suite(const std::string& suite,
                                                    const std::vector<std::string>& set = {});

}  // namespace assay::commands
