#include "site/platform_side.h"

#include <algorithm>
#include <string>

#include "core/address.h"
#include "core/error.h"
#include "core/text.h"
#include "core/time.h"
#include "jobs/pending.h"
#include "platform/owner_standing.h"
#include "site/first_start.h"

namespace assay::site {

namespace {

constexpr std::int64_t kNoticesAtOnce = 100;

// On the loopback address, only names of this machine are accepted: any other name that leads here
// is an attack on a browser (DNS rebinding). Elsewhere, the operator may list the names.
std::vector<std::string> hosts_of(const ServeOptions& options) {
  std::vector<std::string> out;
  for (const std::string& name : options.names) out.push_back(to_lower(name));
  if (!is_loopback(options.address) && out.empty()) return {};
  for (const char* name : {"localhost", "127.0.0.1", "::1"}) out.emplace_back(name);
  out.push_back(to_lower(options.address));
  return out;
}

// The server's address as its users see it; empty if unknown.
std::string server_of(const ServeOptions& options) {
  const std::string host =
      options.names.empty() ? options.address : to_lower(options.names.front());
  if (options.port == 0 || host == "0.0.0.0" || host == "::") return {};
  const bool v6 = host.find(':') != std::string::npos;
  const bool usual = options.port == (options.tls() ? 443 : 80);
  return (options.tls() ? "https://" : "http://") + (v6 ? "[" + host + "]" : host) +
         (usual ? "" : ":" + std::to_string(options.port));
}

std::string endpoint_domain_of(const ServeOptions& options) {
  if (!options.endpoint_domain.empty()) return to_lower(options.endpoint_domain);
  return is_loopback(options.address) ? "localhost" : "";
}

}  // namespace

PlatformSide::PlatformSide(const ServeOptions& options, const std::filesystem::path& data)
    : accounts(accounts_file(data)),
      code(data / "code"),
      platform(
          {.data = data,
           .code = [this](const std::string& id) { return code.folder_of(id); },
           .secret =
               [this](const std::string& owner, const std::string& team, const std::string& name) {
                 return accounts.secret_for(owner, team, name);
               },
           .barred =
               [this](const std::string& owner, const std::string& team) {
                 return platform::barred(accounts, owner, team);
               },
           .listeners = options.webhooks},
          options.engine()),
      schedules(data / "schedules.json", [this](const jobs::NewJob& job) { return submit(job); }),
      provider(options.oidc ? std::make_unique<oidc::Provider>(*options.oidc) : nullptr),
      door(platform, accounts, {.domain = endpoint_domain_of(options), .tls = options.tls()}),
      context{.accounts = accounts,
              .platform = platform,
              .events = events,
              .streams = streams,
              .follower = follower,
              .metrics = metrics,
              .code = code,
              .schedules = schedules,
              .tls = options.tls(),
              .hosts = hosts_of(options),
              .pages = options.pages,
              .door = &door,
              .provider = provider.get()},
      rest(context) {
  const std::int64_t now_ns = wall_now_ns();
  make_first_admin(accounts, now_ns);
  keep_admin_token(data, accounts, now_ns);
  for (const std::string& url : options.webhooks)
    webhooks.push_back(std::make_unique<Webhook>(
        WebhookOptions{.url = url, .secret = options.webhook_secret, .server = server_of(options)},
        send_by_http(),
        Webhook::Outbox{[this, url](std::int64_t after) {
                          return platform.notices(url, kNoticesAtOnce, after);
                        },
                        [this](std::int64_t number) { platform.told(number); }}));
  listening = platform.subscribe([this](const platform::JobEvent& event) {
    events.publish(event);
    metrics.happened(event);
    if (jobs::is_final(event.state))
      for (const auto& webhook : webhooks) webhook->wake();
  });
}

// The owner of a schedule may have been disabled or have left the team since.
std::vector<jobs::JobId> PlatformSide::submit(const jobs::NewJob& job) {
  if (const auto why = platform::barred(accounts, job.owner, job.team))
    throw Error(ErrorKind::usage,
                jobs::to_words({.kind = *why, .subject = job.owner, .team = job.team}));
  if (!job.code.empty() && !code.has(job.owner, job.code))
    throw Error(ErrorKind::usage, "what it was made with is not here any more");
  return platform.submit(job);
}

}  // namespace assay::site
