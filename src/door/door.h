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
  /// Endpoints are at job7-jupyter.DOMAIN; empty: they have no sites, and are not shown in
  /// browsers.
  std::string domain{};
  bool tls = false;
};

/// Whether somebody may enter a job: its owner, and whom they share it with, as the table of
/// permissions says about what is one's own.
[[nodiscard]] bool may_enter(accounts::Accounts& accounts, const jobs::Job& job,
                             const std::string& user);

/// The one way into jobs that run: endpoints in a browser, programs with their terminal, SSH.
/// Thread-safe; blocks where it says so.
class Door {
 public:
  Door(platform::Platform& platform, accounts::Accounts& accounts, DoorOptions options);

  [[nodiscard]] const DoorOptions& options() const noexcept { return options_; }

  // At an endpoint's site:

  /// Whether a request is for an endpoint, by its Host header.
  [[nodiscard]] bool takes(const serve::HttpRequest& request) const;
  /// Answers once, whatever fails; `who` is set before that. Blocks for seconds while the job is
  /// entered, and up to a minute while a service is started.
  void handle(const serve::HttpRequest& request, std::string& who,
              const serve::HttpServer::Respond& respond);

  // At the platform, for somebody who may enter the job (the caller has asked may_enter()):

  /// The address of an endpoint, good once and for a minute. A service is started. `host`: of the
  /// request, whose port it gets. Throws Closed, and Error of kind usage where there is no such
  /// endpoint or no site for it.
  [[nodiscard]] std::string ticket(const Visit& visitor, const std::string& name,
                                   const std::string& host);
  /// How an endpoint is: nothing is in the way, or what is. Starts nothing.
  [[nodiscard]] std::optional<Closed> look_at(jobs::JobId job, const std::string& name);

  /// How somebody speaks with what they enter.
  enum class Manner { bytes, websocket };
  /// An answer that becomes a stream: a program in frames (entry/frame.h), or SSH where there is a
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
