#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_fields.h"
#include "core/processors.h"
#include "core/text.h"
#include "rest/call.h"
#include "rest/change_guard.h"

namespace assay::rest {

using jobs::Deed;

namespace {

constexpr int kMaxWeight = 1'000'000;

serve::HttpResponse nodes(Call& call) {
  jobs::NodesAnswer out;
  const std::vector<platform::NodeView> views = call.context.platform.nodes();
  const auto readings = call.context.readings.of(call.context.platform, views);
  for (const platform::NodeView& view : views) {
    jobs::NodeAnswer& node =
        out.nodes.emplace_back(jobs::NodeAnswer{.name = view.node.name,
                                                .device_type = view.node.device_type,
                                                .devices = view.node.devices,
                                                .available = view.node.available,
                                                .drained = view.drained,
                                                .drained_by = view.drained_by,
                                                .reason = view.reason,
                                                .lost = view.lost,
                                                .state = view.state});
    for (const auto& use : view.uses)
      node.uses.push_back({use.job, use.owner, use.devices, use.indices});
    if (const auto read = readings.find(view.node.name);
        read != readings.end() && !view.uses.empty())
      node.readings =
          readings_answer(read->second, view.node.devices, are_processors(view.node.device_type));
  }
  out.trouble = call.context.platform.trouble();
  return json_answer(fields_to_json(out));
}

serve::HttpResponse others(Call& call) {
  Json out = Json::array();
  for (const engine::OtherJob& job : call.context.platform.others())
    out.push_back({{"id", job.id},
                   {"name", job.name},
                   {"user", job.user},
                   {"queue", job.queue},
                   {"state", job.state},
                   {"waiting", job.waiting},
                   {"nodes", job.nodes},
                   {"node_list", job.node_list},
                   {"submitted", time_json(job.submitted_ns)},
                   {"started", time_json(job.started_ns)}});
  return json_answer({{"jobs", out}, {"trouble", call.context.platform.trouble()}});
}

void require_node(Call& call) {
  const auto all = call.context.platform.nodes();
  if (std::ranges::none_of(all,
                           [&](const auto& view) { return view.node.name == call.parameter(0); }))
    throw not_found("there is no such node");
}

serve::HttpResponse drain(Call& call) {
  require_node(call);
  const std::string reason = serve::text_field(call.body, "reason", 500);
  call.context.platform.drain(call.parameter(0), reason, call.caller().name);
  return nodes(call);
}

serve::HttpResponse undrain(Call& call) {
  require_node(call);
  call.context.platform.undrain(call.parameter(0));
  return nodes(call);
}

// One at a time: nobody's change is lost in another's.
template <class F>
void change_settings(Call& call, F&& f) {
  const std::scoped_lock lock(call.context.settings);
  platform::Settings settings = call.context.platform.settings();
  f(settings);
  call.context.platform.change_settings(settings);
}

// What is shown of a thing: its name, what can be changed, and by what that is known.
Json row_of(const std::string& name, const Json& changeable) {
  Json out = {{"name", name}};
  out.update(changeable);
  out["etag"] = etag_of(changeable);
  return out;
}

// `changeable` of the one with the name; null: there is none.
template <class T, class F>
Json named(const std::vector<T>& all, const std::string& name, const F& changeable) {
  const auto found = std::ranges::find(all, name, &T::name);
  return found == all.end() ? Json() : changeable(*found);
}

template <class T>
void put(std::vector<T>& all, T one) {
  const auto found = std::ranges::find(all, one.name, &T::name);
  if (found == all.end())
    all.push_back(std::move(one));
  else
    *found = std::move(one);
}

// Of one that is not there, that is said, whatever else was asked.
template <class T, class F>
void drop(Call& call, std::vector<T>& all, const char* without, const F& changeable) {
  const Json now = named(all, call.parameter(0), changeable);
  if (now.is_null()) throw not_found(without);
  check_unchanged(call, now);
  std::erase_if(all, [&](const T& one) { return one.name == call.parameter(0); });
}

void check_address(const Call& call, const char* what) {
  accounts::check_name(call.parameter(0), what);
  check_same_name(call);
}

// The one of the address, with what the body names in place of what there is.
template <class T>
T read_named(const Call& call, const std::vector<T>& all, const char* what, const Json& body) {
  const auto found = std::ranges::find(all, call.parameter(0), &T::name);
  Json merged = found == all.end() ? Json::object() : fields_to_json(*found);
  merged.update(body);
  merged["name"] = call.parameter(0);
  return fields_from_json<T>(merged, what);
}

// A field that is not known is an error, not left out.
void check_fields(const Json& body, std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : body.items())
    if (std::ranges::find(known, key) == known.end())
      throw serve::Refusal(400, "bad_field",
                           "there is no field '" + ellipsize(printable(key), 64) + "'");
}

std::int64_t count(Call& call, const std::string& queue, std::vector<jobs::State> states) {
  return call.context.platform.list({.states = std::move(states), .queue = queue, .limit = 1})
      .total;
}

Json changeable_queue(const jobs::Queue& queue) {
  return {{"priority", queue.priority},
          {"closed", queue.closed},
          {"preempts", queue.preempts},
          {"approval", queue.approval},
          {"partition", queue.partition},
          {"account", queue.account},
          {"qos", queue.qos}};
}

serve::HttpResponse queues(Call& call) {
  Json out = Json::array();
  const auto own = call.context.platform.settings().queues;
  using enum jobs::State;
  for (const jobs::Queue& queue : call.context.platform.queues()) {
    Json row = row_of(queue.name, changeable_queue(queue));
    row["engine"] = std::ranges::find(own, queue.name, &jobs::Queue::name) == own.end();
    row["waiting"] = count(call, queue.name, {unapproved, queued});
    row["running"] = count(call, queue.name, {scheduling, running, pausing, killing});
    out.push_back(std::move(row));
  }
  return json_answer({{"queues", out}});
}

serve::HttpResponse put_queue(Call& call) {
  check_fields(call.body, {"name", "priority", "closed", "preempts", "approval", "partition",
                           "account", "qos", "etag", "engine", "waiting", "running"});
  check_address(call, "queue");
  Json body = call.body;
  for (const char* shown : {"etag", "engine", "waiting", "running"}) body.erase(shown);
  change_settings(call, [&](platform::Settings& settings) {
    const auto all = call.context.platform.queues();
    const auto queue = read_named(call, all, "queue", body);
    for (const std::string* name : {&queue.partition, &queue.account, &queue.qos})
      if (!name->empty()) accounts::check_name(*name, "name in Slurm");
    if (std::abs(queue.priority) > jobs::kMaxPriority)
      throw serve::Refusal(400, "bad_field",
                           fmt::format("'priority' must be from -{0} to {0}", jobs::kMaxPriority));
    check_unchanged(call, named(all, queue.name, changeable_queue));
    put(settings.queues, queue);
  });
  return queues(call);
}

serve::HttpResponse delete_queue(Call& call) {
  const std::string& name = call.parameter(0);
  if (name == "default")
    throw serve::Refusal(409, "does_not_fit", "the queue 'default' stays",
                         "close it, if nobody is to use it");
  using enum jobs::State;
  const std::int64_t waiting =
      call.context.platform
          .list({.states = {unapproved, queued, pausing, paused}, .queue = name, .limit = 1})
          .total;
  if (waiting > 0)
    throw serve::Refusal(
        409, "does_not_fit",
        fmt::format("{} in the queue '{}'",
                    waiting == 1 ? "1 job waits" : fmt::format("{} jobs wait", waiting),
                    printable(name)),
        "close it, and delete it when they have run or were killed");
  change_settings(call, [&](platform::Settings& all) {
    drop(call, all.queues, "there is no such queue", changeable_queue);
  });
  return queues(call);
}

auto changeable_team(Call& call) {
  return [&call](const jobs::Team& team) -> Json {
    return {{"weight", team.weight},
            {"quota", team.quota},
            {"user_quota", team.user_quota},
            {"members", call.context.accounts.members(team.name)}};
  };
}

serve::HttpResponse teams(Call& call) {
  Json out = Json::array();
  for (const jobs::Team& team : call.context.platform.settings().teams)
    out.push_back(row_of(team.name, changeable_team(call)(team)));
  return json_answer({{"teams", out}});
}

void check_quotas(const jobs::Team& team) {
  if (!std::isfinite(team.weight) || team.weight <= 0 || team.weight > kMaxWeight)
    throw serve::Refusal(400, "bad_field",
                         fmt::format("'weight' must be above 0, and at most {}", kMaxWeight));
  for (const auto* quota : {&team.quota, &team.user_quota})
    for (const auto& [type, devices] : *quota)
      if (devices < 0 || type.empty() || type.size() > 64)
        throw serve::Refusal(400, "bad_field",
                             "a quota is a type of devices and how many of them, 0 or more");
}

serve::HttpResponse put_team(Call& call) {
  check_fields(call.body, {"name", "weight", "quota", "user_quota", "members", "etag"});
  check_address(call, "team");
  Json body = call.body;
  body.erase("etag");
  std::optional<std::vector<std::string>> members;
  if (const auto found = body.find("members"); found != body.end()) {
    members.emplace();
    json_fields_detail::decode(*found, *members, "members");
    body.erase("members");
  }
  change_settings(call, [&](platform::Settings& settings) {
    const auto team = read_named(call, settings.teams, "team", body);
    check_quotas(team);
    check_unchanged(call, named(settings.teams, team.name, changeable_team(call)));
    // Members first: a name that there is not changes nothing.
    if (members) call.context.accounts.set_members(team.name, *members);
    put(settings.teams, team);
  });
  call.context.streams.ask_now();
  call.context.platform.reconsider();
  return teams(call);
}

serve::HttpResponse delete_team(Call& call) {
  const std::string& name = call.parameter(0);
  // What is left of its jobs would have no quota at all.
  std::vector<jobs::State> open;
  for (const jobs::State state : enum_values<jobs::State>())
    if (!jobs::is_final(state)) open.push_back(state);
  const std::int64_t left =
      call.context.platform.list({.states = std::move(open), .team = name, .limit = 1}).total;
  if (left > 0)
    throw serve::Refusal(
        409, "does_not_fit",
        left == 1 ? fmt::format("1 job of the team '{}' has not ended", printable(name))
                  : fmt::format("{} jobs of the team '{}' have not ended", left, printable(name)),
        "delete it when they have ended or were killed");
  change_settings(call, [&](platform::Settings& all) {
    drop(call, all.teams, "there is no such team", changeable_team(call));
  });
  call.context.accounts.forget_team(name);
  call.context.streams.ask_now();
  return teams(call);
}

Json changeable_reservation(const jobs::Reservation& one) {
  return {{"nodes", one.nodes},
          {"from", time_json(one.from_ns)},
          {"to", time_json(one.to_ns)},
          {"teams", one.teams}};
}

serve::HttpResponse reservations(Call& call) {
  Json out = Json::array();
  for (const jobs::Reservation& one : call.context.platform.settings().reservations)
    out.push_back(row_of(one.name, changeable_reservation(one)));
  return json_answer({{"reservations", out}});
}

std::string shown_name(const std::string& name) {
  return ellipsize(printable(name), 64);
}

// Throws Refusal for what it is not to be.
void check_reservation(Call& call, const jobs::Reservation& one) {
  if (one.to_ns <= one.from_ns) throw serve::Refusal(400, "bad_field", "'to' must be after 'from'");
  if (one.nodes.empty())
    throw serve::Refusal(400, "bad_field", "'nodes' must name at least one node");
  for (auto at = one.nodes.begin(); at != one.nodes.end(); ++at)
    if (std::find(one.nodes.begin(), at, *at) != at)
      throw serve::Refusal(400, "bad_field", "'nodes' names '" + shown_name(*at) + "' twice");
  const auto nodes = call.context.platform.nodes();
  for (const std::string& name : one.nodes)
    if (std::ranges::none_of(nodes, [&](const auto& view) { return view.node.name == name; }))
      throw serve::Refusal(400, "bad_field", "there is no node '" + shown_name(name) + "'");
  const auto teams = call.context.platform.settings().teams;
  for (const std::string& name : one.teams)
    if (std::ranges::find(teams, name, &jobs::Team::name) == teams.end() &&
        call.context.accounts.members(name).empty())
      throw serve::Refusal(400, "bad_field", "there is no team '" + shown_name(name) + "'");
}

serve::HttpResponse put_reservation(Call& call) {
  check_fields(call.body, {"name", "nodes", "from", "to", "teams", "etag"});
  check_address(call, "reservation");
  change_settings(call, [&](platform::Settings& settings) {
    const auto there =
        std::ranges::find(settings.reservations, call.parameter(0), &jobs::Reservation::name);
    const bool is_new = there == settings.reservations.end();
    jobs::Reservation one = is_new ? jobs::Reservation{.name = call.parameter(0)} : *there;
    const auto read_moment = [&](const char* key, jobs::WallTime& into) {
      if (!is_new && !call.body.contains(key)) return;
      const auto at_ns = parse_time(serve::text_field(call.body, key, 64));
      if (!at_ns)
        throw serve::Refusal(400, "bad_field", fmt::format("'{}' is not a time", key),
                             "such as 2026-11-16T16:10:00Z");
      into = *at_ns;
    };
    read_moment("from", one.from_ns);
    read_moment("to", one.to_ns);
    if (const auto on = call.body.find("nodes"); on != call.body.end())
      json_fields_detail::decode(*on, one.nodes, "nodes");
    if (const auto of = call.body.find("teams"); of != call.body.end())
      json_fields_detail::decode(*of, one.teams, "teams");
    check_reservation(call, one);
    check_unchanged(call, named(settings.reservations, one.name, changeable_reservation));
    put(settings.reservations, one);
  });
  return reservations(call);
}

serve::HttpResponse delete_reservation(Call& call) {
  change_settings(call, [&](platform::Settings& all) {
    drop(call, all.reservations, "there is no such reservation", changeable_reservation);
  });
  return reservations(call);
}

Route reading(const char* path, serve::HttpResponse (*handler)(Call&), const char* summary,
              const char* answer) {
  return {.method = "GET",
          .path = path,
          .handler = handler,
          .deed = Deed::read_cluster,
          .summary = summary,
          .answer = answer};
}

Route writing(const char* path, serve::HttpResponse (*handler)(Call&), Deed deed,
              const char* summary, const char* answer, const char* request) {
  return {.method = "PUT",
          .path = path,
          .handler = handler,
          .deed = deed,
          .summary = summary,
          .answer = answer,
          .request = request,
          .body = Body::json,
          .guarded = true};
}

Route deleting(const char* path, serve::HttpResponse (*handler)(Call&), Deed deed,
               const char* summary, const char* answer) {
  return {.method = "DELETE",
          .path = path,
          .handler = handler,
          .deed = deed,
          .summary = summary,
          .answer = answer,
          .guarded = true};
}

}  // namespace

std::vector<Route> cluster_routes() {
  return {
      reading("/api/v1/nodes", nodes, "Nodes, and who uses what of them", "Nodes"),
      {.method = "POST",
       .path = "/api/v1/nodes/{name}/drain",
       .handler = drain,
       .deed = Deed::drain_node,
       .summary = "Let nothing new begin on a node",
       .answer = "Nodes",
       .request = "Drain",
       .body = Body::json},
      {.method = "POST",
       .path = "/api/v1/nodes/{name}/undrain",
       .handler = undrain,
       .deed = Deed::drain_node,
       .summary = "Use a node again",
       .answer = "Nodes"},
      reading("/api/v1/others", others,
              "Jobs of the engine's scheduler that were not submitted here; to be seen only",
              "Others"),
      reading("/api/v1/queues", queues, "Queues", "Queues"),
      writing("/api/v1/queues/{name}", put_queue, Deed::write_queue, "Make or change a queue",
              "Queues", "Queue"),
      deleting("/api/v1/queues/{name}", delete_queue, Deed::write_queue, "Delete a queue",
               "Queues"),
      reading("/api/v1/teams", teams, "Teams, their members and quotas", "Teams"),
      writing("/api/v1/teams/{name}", put_team, Deed::write_team, "Make or change a team", "Teams",
              "Team"),
      deleting("/api/v1/teams/{name}", delete_team, Deed::write_team, "Delete a team", "Teams"),
      reading("/api/v1/reservations", reservations, "Reservations of nodes", "Reservations"),
      writing("/api/v1/reservations/{name}", put_reservation, Deed::reserve_nodes,
              "Make or change a reservation", "Reservations", "Reservation"),
      deleting("/api/v1/reservations/{name}", delete_reservation, Deed::reserve_nodes,
               "Delete a reservation", "Reservations"),
  };
}

}  // namespace assay::rest
