#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "cloud/credentials.h"
#include "cloud/obs.h"
#include "core/json.h"
#include "e2e/cloud/listening_process.h"
#include "http/client.h"
#include "temporary_folder.h"

namespace assay::cloud {

/// Of the emulator's account and its first engine.
inline constexpr const char* kProject = "0123456789abcdef0123456789abcdef";
inline constexpr const char* kEngine = "mindspore_1.3.0-cann_5.0.2-py_3.7-euler_2.8.3-aarch64";
/// Its name in the interface v1.
inline constexpr const char* kOldEngine = "MindSpore-1.3-cann_5.0.2-python3.7-euleros2.8-aarch64";

/// A running assay-cloud-emulator; ends with this object.
class EmulatorProcess {
 public:
  /// `settings` is its configuration; its files go below `folder`. Throws std::runtime_error.
  EmulatorProcess(const std::filesystem::path& folder, const Json& settings);
  EmulatorProcess(const EmulatorProcess&) = delete;
  EmulatorProcess& operator=(const EmulatorProcess&) = delete;
  ~EmulatorProcess();

  [[nodiscard]] const std::string& url() const { return server_->url(); }
  [[nodiscard]] pid_t pid() const { return server_->pid(); }
  /// Ends it as a crash would.
  void kill();
  /// Asks its control interface; throws std::runtime_error when it refuses.
  [[nodiscard]] Json control(http::Client& client, const std::string& method,
                             const std::string& path, const Json& body = Json()) const;

 private:
  std::optional<ListeningProcess> server_;
};

/// A folder and an emulator of its own for every test, with the bucket "bucket-one". Retries are
/// quick, so that faults cost no time.
class EmulatorTest : public ::testing::Test {
 protected:
  /// Starts the emulator with these settings over the usual ones; the first use does it with none.
  void start(const Json& settings = Json::object());
  [[nodiscard]] const std::string& url();
  [[nodiscard]] std::string host();  ///< "127.0.0.1:port"
  void fault(const Json& fault);
  void clear_faults();
  void job_fault(const Json& fault);
  /// Ends the emulator, as SIGTERM does.
  void end() { process_.reset(); }
  void kill_emulator() { emulator().kill(); }
  void expire_tokens();
  /// How often "METHOD service" was asked, as "PUT obs".
  [[nodiscard]] std::uint64_t count(const std::string& what);
  /// Waits until it was asked so often; a failure after a minute.
  void wait_for_requests(const std::string& what, std::uint64_t times);

  [[nodiscard]] ObsOptions obs_options();
  [[nodiscard]] ObsBucket bucket() { return {client_, credentials_, obs_options(), "bucket-one"}; }

  /// A file in the test's folder, of `size` bytes that do not repeat.
  [[nodiscard]] std::filesystem::path make_file(const std::string& name, std::size_t size);

  static http::ClientOptions quick();

  testing::TemporaryFolder temporary_;
  const std::filesystem::path folder_ = temporary_.path();
  const std::string access_key_ = "AKTEST0000000001";
  const std::string secret_key_ = "emulated-Secret/Key+with=marks";
  const std::string password_ = "pass-phrase-of-the-test-user";
  FixedCredentials credentials_{{access_key_, secret_key_, ""}};
  http::Client client_{quick()};

 private:
  [[nodiscard]] EmulatorProcess& emulator();

  std::optional<EmulatorProcess> process_;
};

}  // namespace assay::cloud
