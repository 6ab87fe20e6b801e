#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "accounts/accounts.h"
#include "code/code_store.h"
#include "door/door.h"
#include "oidc/provider.h"
#include "platform/platform.h"
#include "platform/schedules.h"
#include "rest/rest.h"
#include "site/server.h"
#include "site/webhooks.h"

namespace assay::site {

/// The job platform of a server, except HTTP itself. Nothing runs until platform and schedules are
/// started.
struct PlatformSide {
  PlatformSide(const ServeOptions& options, const std::filesystem::path& data);
  PlatformSide(const PlatformSide&) = delete;
  PlatformSide& operator=(const PlatformSide&) = delete;

  accounts::Accounts accounts;
  rest::EventHub events;
  rest::ServerMetrics metrics;
  code::CodeStore code;
  platform::Platform platform;
  platform::Schedules schedules;  ///< submits to the platform
  rest::OpenStreams streams;      ///< asks accounts and platform
  rest::Follower follower;        ///< asks the platform
  std::unique_ptr<oidc::Provider> provider;
  door::Door door;
  rest::Context context;
  rest::Rest rest;
  std::vector<std::unique_ptr<Webhook>> webhooks;
  std::shared_ptr<void> listening;  ///< destroyed first, because it calls the others

 private:
  std::vector<jobs::JobId> submit(const jobs::NewJob& job);
};

}  // namespace assay::site
