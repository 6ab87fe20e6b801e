#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "emulator/cloud_accounts.h"
#include "emulator/emulator_settings.h"
#include "emulator/faults.h"
#include "emulator/job_faults.h"
#include "emulator/obs_store.h"
#include "emulator/streaming_server.h"

namespace assay::emulator {

class ModelArtsService;

/// IAM, OBS and ModelArts behind one port. /v3… is IAM, /v1/PROJECT/… and /v2/PROJECT/… are
/// ModelArts, /_emulator/… is the tests' control interface, and everything else is OBS: path style,
/// or virtual host if the Host is BUCKET.<obs_domain>.
class Emulator final : public Handler {
 public:
  explicit Emulator(Settings settings);
  ~Emulator() override;

  [[nodiscard]] Intake intake(const ServerRequest& head) override;
  [[nodiscard]] ServerResponse handle(ServerRequest& request) override;

 private:
  enum class Service { control, iam, modelarts, obs };
  struct Target {
    Service service = Service::obs;
    std::string bucket;
    std::string key;
  };
  [[nodiscard]] Target target_of(const ServerRequest& request) const;
  [[nodiscard]] ServerResponse dispatch(ServerRequest& request, const Target& target);
  [[nodiscard]] ServerResponse control(const ServerRequest& request);
  [[nodiscard]] ServerResponse planned_failure(const Fault& fault, Service service) const;
  void count(const ServerRequest& request, Service service);

  Settings settings_;
  Accounts accounts_;
  ObsStore store_;
  JobFaults job_faults_;
  std::unique_ptr<ModelArtsService> modelarts_;
  Faults faults_;
  std::mutex mutex_;
  std::map<std::string, std::uint64_t> counts_;  // "PUT obs" → requests
  std::uint64_t received_bytes_ = 0;
  std::uint64_t sent_object_bytes_ = 0;  // to clients, not counting jobs' downloads
};

}  // namespace assay::emulator
