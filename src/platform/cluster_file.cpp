#include "platform/cluster_file.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "accounts/accounts.h"
#include "core/files.h"
#include "core/json_fields.h"
#include "core/json_unknown_fields.h"
#include "core/regular_file.h"
#include "core/text.h"

namespace assay::platform {

namespace {

constexpr std::int64_t kMaxDays = 36'500;

struct StoredCluster {
  std::vector<jobs::Queue> queues{};
  std::vector<jobs::Team> teams{};
  std::vector<jobs::Reservation> reservations{};
  std::map<std::string, Drain> drains{};
  IdlePolicy idle{};
  RetentionPolicy retention{};

  static void fields(auto& self, auto&& field) {
    field.optional("idle", self.idle);
    field.optional("retention", self.retention);
    field("queues", self.queues);
    field("teams", self.teams);
    field("reservations", self.reservations);
    field("drains", self.drains);
  }
};

// Paths of json_fields begin with the separator where nothing is above them.
std::string trim_left(const std::string& text, const char* characters) {
  const std::size_t from = text.find_first_not_of(characters);
  return from == std::string::npos ? std::string() : text.substr(from);
}

[[noreturn]] void wrong_setting(const std::string& where, const std::string& what) {
  throw Error(ErrorKind::usage, what, where);
}

template <class T>
void check_names(const std::vector<T>& list, const char* kind) {
  std::set<std::string> seen;
  for (const T& item : list) {
    if (item.name.empty()) wrong_setting(kind, "it has no name");
    accounts::check_name(item.name, kind);
    if (!seen.insert(item.name).second)
      wrong_setting(kind, "'" + printable(item.name) + "' is there twice");
  }
}

void check_quota(const jobs::Team& team, const std::map<std::string, int>& quota) {
  for (const auto& [type, devices] : quota)
    if (devices < 0)
      wrong_setting("team '" + printable(team.name) + "'", "a quota cannot be below 0");
}

}  // namespace

Settings checked(Settings settings) {
  check_names(settings.queues, "queue");
  check_names(settings.teams, "team");
  check_names(settings.reservations, "reservation");
  for (const jobs::Team& team : settings.teams) {
    if (!std::isfinite(team.weight) || team.weight <= 0)
      wrong_setting("team '" + printable(team.name) + "'", "the weight must be above 0");
    check_quota(team, team.quota);
    check_quota(team, team.user_quota);
  }
  if (settings.idle.warn_s < 0 || settings.idle.stop_s < 0)
    wrong_setting("idle", "a time cannot be below 0");
  for (const std::int64_t days : {settings.retention.logs_days, settings.retention.jobs_days})
    if (days < 0 || days > kMaxDays)
      wrong_setting("retention", fmt::format("days are a number from 0 to {}", kMaxDays));
  for (const jobs::Reservation& reservation : settings.reservations)
    if (reservation.to_ns <= reservation.from_ns)
      wrong_setting("reservation '" + printable(reservation.name) + "'",
                    "it ends before it begins");
  if (std::ranges::find(settings.queues, kDefaultQueue, &jobs::Queue::name) ==
      settings.queues.end())
    settings.queues.insert(settings.queues.begin(), jobs::Queue{.name = kDefaultQueue});
  return settings;
}

ClusterState read_cluster_file(const std::filesystem::path& file) {
  ClusterState state;
  std::error_code ec;
  const bool there =
      std::filesystem::symlink_status(file, ec).type() != std::filesystem::file_type::not_found;
  try {
    if (there) {
      const Json json = parse_json(read_plain_file(file), file.string());
      refuse_unknown_fields<StoredCluster>(json);
      StoredCluster stored = fields_from_json<StoredCluster>(json, {});
      state.settings = {std::move(stored.queues), std::move(stored.teams),
                        std::move(stored.reservations), stored.idle, stored.retention};
      state.drains = std::move(stored.drains);
    }
    state.settings = checked(std::move(state.settings));
  } catch (const Error& error) {
    const std::string where = trim_left(error.where(), ": ");
    const bool of_file = where.starts_with(file.string());
    const std::string what =
        where.empty() || of_file ? error.message() : where + ": " + error.message();
    throw Error(
        ErrorKind::environment, "the settings of the cluster cannot be read: " + what,
        of_file ? where : file.string(),
        error.advice().empty() ? "correct the file, or restore it from a copy" : error.advice());
  }
  return state;
}

void write_cluster_file(const std::filesystem::path& file, const ClusterState& state) {
  write_file_atomic(file,
                    dump_pretty(fields_to_json(StoredCluster{
                        state.settings.queues, state.settings.teams, state.settings.reservations,
                        state.drains, state.settings.idle, state.settings.retention})));
}

}  // namespace assay::platform
