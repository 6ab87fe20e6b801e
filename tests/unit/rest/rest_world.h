#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "platform/owner_standing.h"
#include "rest/rest.h"
#include "temporary_folder.h"

namespace assay::rest {

/// An engine whose jobs run until they are stopped.
class IdleEngine : public engine::Engine {
 public:
  [[nodiscard]] engine::Traits traits() const override { return {.name = "idle"}; }
  void report_to(Reporter reporter) override { reporter_ = std::move(reporter); }
  [[nodiscard]] std::vector<jobs::ClusterNode> nodes() override {
    return {{.name = "n1", .device_type = "cpu", .devices = 4}};
  }
  void start(const engine::Order& /*order*/) override {}
  void stop(const engine::Execution& /*execution*/, Nanoseconds /*grace*/) override {}
  void recall(const std::vector<engine::Order>& /*orders*/) override {}

 private:
  Reporter reporter_;
};

/// Accounts, a platform and the REST over it. "root" is an administrator in the team vision; "ann"
/// and "bob" are members of it, "vic" is a viewer of it; "eve" is a member of speech. All have the
/// password kPassword.
class RestWorld : public ::testing::Test {
 protected:
  static constexpr const char* kPassword = "correct horse battery";

  RestWorld();

  struct Asked {
    std::string method = "GET";
    std::string path{};  ///< with its query
    std::string as{};    ///< whose token; empty: nobody's
    Json body{};         ///< null: none
    std::map<std::string, std::string> headers{};
    std::string raw{};  ///< a body that is no JSON
  };
  serve::HttpResponse ask(const Asked& asked);
  /// The same, with its body parsed.
  Json json(const Asked& asked);
  /// A job of that person and team, as the platform has it.
  jobs::JobId job_of(const std::string& owner, const std::string& team);
  static Json submission(const std::string& name = "a job");
  [[nodiscard]] static std::string header(const serve::HttpResponse& response,
                                          const std::string& name);

  testing::TemporaryFolder folder_;
  accounts::Accounts accounts_{folder_.path() / "accounts.db"};
  code::CodeStore code_{folder_.path() / "code"};  // the platform's thread asks it
  platform::Platform platform_{
      {.data = folder_.path(),
       .code = [this](const std::string& id) { return code_.folder_of(id); },
       .secret = [this](
                     const std::string& owner, const std::string& team,
                     const std::string& name) { return accounts_.secret_for(owner, team, name); },
       .barred = [this](
                     const std::string& owner,
                     const std::string& team) { return platform::barred(accounts_, owner, team); }},
      std::make_unique<IdleEngine>()};
  EventHub events_;
  OpenStreams streams_;
  Follower follower_;
  ServerMetrics metrics_;
  platform::Schedules schedules_{folder_.path() / "schedules.json",
                                 [this](const jobs::NewJob& job) { return platform_.submit(job); }};
  Context context_{.accounts = accounts_,
                   .platform = platform_,
                   .events = events_,
                   .streams = streams_,
                   .follower = follower_,
                   .metrics = metrics_,
                   .code = code_,
                   .schedules = schedules_,
                   .hosts = {"localhost", "127.0.0.1"}};
  Rest rest_{context_};
  std::map<std::string, std::string> tokens_;
  std::string address_ = "127.0.0.1";  ///< of who asks
};

}  // namespace assay::rest
