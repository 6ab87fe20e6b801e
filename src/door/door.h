#pragma once

#include <functional>
#include <optional>
#include <string>

#include "accounts/accounts.h"
#include "door/endpoint_names.h"
#include "door/entrance.h"
#include "door/relays.h"
#include "door/visits.h"
#include "jobs/job_store.h"
#include "platform/platform.h"
#include "serve/http_server.h"

namespace assay::door {

struct DoorOptions {
  /// Endpoints are at job7-jupyter.DOMAIN; if empty, they have no sites and are not shown in
  /// browsers.
  std::string domain{};
  bool tls = false;
};

/// Whether a person may enter a job: its owner and those it is shared with, as the permission table
/// says about one's own things.
[[nodiscard]] bool may_enter(accounts::Accounts& accounts, const jobs::Job& job,
                             const std::string& user);

/// The only way into running jobs: endpoints in a browser, programs with a terminal, SSH.
/// Thread-safe; blocks where noted.
class Door {
 public:
  Door(platform::Platform& platform, accounts::Accounts& accounts, DoorOptions options);

  [[nodiscard]] const DoorOptions& options() const noexcept { return options_; }

  // At an endpoint's site:

  /// Whether a request is for an endpoint, by its Host header.
  [[nodiscard]] bool takes(const serve::HttpRequest& request) const;
  /// Answers exactly once, whatever fails; sets `who` before. Blocks for seconds while entering the
  /// job, and up to a minute while starting a service.
  void handle(const serve::HttpRequest& request, std::string& who,
              const serve::HttpServer::Respond& respond);

  // At the platform, for a person who may enter the job (the caller has checked may_enter()):

  /// An endpoint's address, valid once and for a minute. Starts a service. `host` is the request's,
  /// whose port is used. Throws Closed, and Error of kind usage if there is no such endpoint or no
  /// site for it.
  [[nodiscard]] std::string ticket(const Visit& visitor, const std::string& name,
                                   const std::string& host);
  /// The state of an endpoint: nothing, or what is in the way. Starts nothing.
  [[nodiscard]] std::optional<Closed> look_at(jobs::JobId job, const std::string& name);

  /// The protocol spoken with what was entered.
  enum class Manner { bytes, websocket };
  /// A response that becomes a stream: a program in frames (entry/frame.h), or SSH if there is a
  /// key. Throws Closed.
  [[nodiscard]] serve::HttpResponse enter(const Visit& visitor, std::optional<int> rank,
                                          const std::string& key, Manner manner,
                                          const serve::HttpRequest& request);

 private:
  [[nodiscard]] serve::HttpResponse answer(const serve::HttpRequest& request, std::string& who);
  [[nodiscard]] jobs::Endpoint endpoint_of(jobs::JobId job, const std::string& label);
  [[nodiscard]] Passage open(jobs::JobId job, const jobs::Endpoint& endpoint, bool start);
  [[nodiscard]] bool allowed(const Visit& visit);
  [[nodiscard]] Relays::Terms terms_of(const Visit& visit);
  [[nodiscard]] serve::HttpResponse come_in(const serve::HttpRequest& request,
                                            const EndpointHost& at);
  [[nodiscard]] serve::HttpResponse pass_on(const serve::HttpRequest& request, const Visit& visit);

  platform::Platform& platform_;
  accounts::Accounts& accounts_;
  const DoorOptions options_;
  Visits visits_;
  Entrance entrance_;
  Relays relays_;  // last: its lines leave through the entrance
};

}  // namespace assay::door
