#include <limits>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "core/address.h"
#include "core/parse_number.h"
#include "core/text.h"
#include "rest/call.h"
#include "rest/guard.h"

namespace assay::rest {

using jobs::Deed;

namespace {

std::string csv_field(const std::string& text) {
  std::string out = text;
  // Spreadsheets take these for formulas.
  if (!out.empty() && std::string_view("=+-@\t").find(out.front()) != std::string_view::npos)
    out.insert(0, "'");
  if (out.find_first_of(",\"\n\r") == std::string::npos) return out;
  std::string quoted = "\"";
  for (const char c : out) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

// Empty: nobody measured it.
std::string measured_field(const std::optional<double>& value) {
  return value ? fmt::format("{:.3f}", *value) : std::string();
}

std::vector<platform::UsageRow> summed(Call& call) {
  std::set<std::string, std::less<>> by;
  const std::string asked = call.asked("by");
  const std::string wanted = asked.empty() ? "user,team,month,device_type" : asked;
  for (const std::string_view word : split(wanted, ',')) {
    if (word != "user" && word != "team" && word != "month" && word != "device_type")
      throw serve::Refusal(400, "bad_parameter", "'by' names what is not known",
                           "of: user, team, month, device_type");
    by.insert(std::string(word));
  }
  const jobs::WallTime from_ns = call.asked_time("from", 0);
  const jobs::WallTime to_ns = call.asked_time("to", std::numeric_limits<jobs::WallTime>::max());
  std::map<std::tuple<std::string, std::string, std::string, std::string>, platform::UsageRow> sums;
  for (platform::UsageRow row : call.context.platform.usage(from_ns, to_ns)) {
    if (!call.caller().may(Deed::read_usage, whose(call.caller(), row.user, row.team))) continue;
    if (!by.contains("user")) row.user.clear();
    if (!by.contains("team")) row.team.clear();
    if (!by.contains("month")) row.month.clear();
    if (!by.contains("device_type")) row.device_type.clear();
    auto& sum = sums[{row.month, row.team, row.user, row.device_type}];
    if (sum.jobs == 0) {
      sum = row;
      continue;
    }
    sum.add(row);
  }
  std::vector<platform::UsageRow> out;
  for (auto& [key, row] : sums) out.push_back(std::move(row));
  return out;
}

serve::HttpResponse usage(Call& call) {
  const std::string format = call.asked("format");
  if (!format.empty() && format != "json" && format != "csv")
    throw serve::Refusal(400, "bad_parameter", "'format' is json or csv");
  const auto rows = summed(call);
  if (format == "csv") {
    serve::HttpResponse response;
    response.type = "text/csv; charset=utf-8";
    response.headers.emplace_back("Content-Disposition", "attachment; filename=\"usage.csv\"");
    response.body =
        "user,team,month,device_type,jobs,device_hours,idle_device_hours,energy_kwh,unmetered_"
        "device_hours,unwatched_device_hours\n";
    for (const auto& row : rows) {
      response.body += fmt::format(
          "{},{},{},{},{},{:.3f},{},{},{:.3f},{:.3f}\n", csv_field(row.user), csv_field(row.team),
          row.month, csv_field(row.device_type), row.jobs, row.device_hours,
          measured_field(row.known_idle_device_hours()), measured_field(row.known_energy_kwh()),
          row.unmetered_device_hours, row.unwatched_device_hours);
    }
    return response;
  }
  jobs::UsageAnswer out;
  for (const auto& row : rows)
    out.usage.push_back({row.user, row.team, row.month, row.device_type, row.jobs, row.device_hours,
                         row.known_idle_device_hours(), row.known_energy_kwh(),
                         row.unmetered_device_hours, row.unwatched_device_hours});
  return json_answer(fields_to_json(out));
}

serve::HttpResponse audit(Call& call) {
  Json out = Json::array();
  const auto before = call.asked_number("from", 0, 0, std::numeric_limits<std::int64_t>::max());
  for (const auto& deed :
       call.context.accounts.deeds(before, call.asked_number("limit", 100, 1, 1000)))
    out.push_back({{"number", deed.number},
                   {"at", time_json(deed.at_ns)},
                   {"who", deed.who},
                   {"address", deed.address},
                   {"deed", deed.deed},
                   {"subject", deed.subject},
                   {"status", deed.status}});
  return json_answer({{"deeds", out}});
}

serve::HttpResponse events(Call& call) {
  const Caller& caller = call.caller();
  std::string last = call.request.header("last-event-id");
  if (last.empty()) last = call.asked("after");
  const auto after = parse_number<std::int64_t>(last).value_or(0);
  return event_stream(call, [hub = &call.context.events, after,
                             listener = EventHub::Listener{caller.name, caller.role, caller.teams}](
                                const auto& stream) { hub->add(listener, stream, after); });
}

// On this machine anyone may read it, elsewhere somebody with a token.
serve::HttpResponse metrics(Call& call) {
  if (!is_loopback(call.request.address) && !caller_of(call.request, call.context, call.now_ns))
    throw serve::Refusal(401, "not_signed_in", "beyond this machine, metrics need a token");
  std::string out =
      "# HELP assay_jobs Jobs that have not ended, by state.\n# TYPE assay_jobs gauge\n";
  for (const auto state : enum_values<jobs::State>())
    if (!jobs::is_final(state))
      out += fmt::format("assay_jobs{{state=\"{}\"}} {}\n", to_text(state),
                         call.context.platform.list({.states = {state}, .limit = 1}).total);
  out += "# HELP assay_event_streams Open streams of events.\n# TYPE assay_event_streams gauge\n";
  out += fmt::format("assay_event_streams {}\n", call.context.events.size());
  serve::HttpResponse response;
  response.type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = out + call.context.metrics.text();
  return response;
}

}  // namespace

std::vector<Route> record_routes() {
  return {
      {.method = "GET",
       .path = "/api/v1/usage",
       .handler = usage,
       .deed = Deed::read_usage,
       .of = Of::self,
       .summary = "Device hours, idle hours and energy; of others as far as one may",
       .answer = "Usage",
       .query = {{"from", "string", "time"},
                 {"to", "string", "time; now by default"},
                 {"by", "string", "of user, team, month, device_type"},
                 {"format", "string", "json or csv"}}},
      {.method = "GET",
       .path = "/api/v1/audit",
       .handler = audit,
       .deed = Deed::read_audit_log,
       .summary = "Who did what, the latest first",
       .answer = "Audit",
       .query = {{"from", "integer", "only what was before this number"},
                 {"limit", "integer", "100 by default, 1000 at most"}}},
      {.method = "GET",
       .path = "/api/v1/events",
       .handler = events,
       .deed = Deed::list_jobs,
       .summary = "What happens to jobs, as it happens",
       .answer = "text/event-stream",
       .query = {{"after", "integer", "as Last-Event-ID"}}},
      {.method = "GET",
       .path = "/metrics",
       .handler = metrics,
       .who = Who::anyone,
       .summary = "Metrics of the server for Prometheus; beyond this machine with a token",
       .answer = "text/plain"},
  };
}

}  // namespace assay::rest
