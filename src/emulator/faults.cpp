#include "emulator/faults.h"

#include <array>

#include "core/error.h"
#include "core/json_error.h"

namespace assay::emulator {

Fault fault_from_json(const Json& json) {
  using Kind = Fault::Kind;
  constexpr std::array<std::pair<std::string_view, Kind>, 7> kinds = {{
      {"status", Kind::status},
      {"html", Kind::html},
      {"drop-request", Kind::drop_request},
      {"drop-reply", Kind::drop_reply},
      {"cut-reply", Kind::cut_reply},
      {"delay", Kind::delay},
      {"drip", Kind::drip},
  }};
  try {
    Fault fault;
    const auto name = json.at("kind").get<std::string>();
    bool known = false;
    for (const auto& [text, kind] : kinds) {
      if (text != name) continue;
      fault.kind = kind;
      known = true;
    }
    if (!known)
      throw Error(ErrorKind::config, "unknown kind of fault '" + name + "'", "faults",
                  "kinds: status, html, drop-request, drop-reply, cut-reply, delay, drip");
    fault.method = json.value("method", "");
    fault.path = json.value("path", "");
    fault.parameter = json.value("parameter", "");
    fault.status = json.value("status", 503);
    fault.code = json.value("code", "");
    if (json.contains("retry_after")) fault.retry_after = json.at("retry_after").get<int>();
    fault.bytes = json.value("bytes", std::uint64_t{0});
    fault.delay = std::chrono::milliseconds(json.value("delay_ms", 0));
    fault.skip = json.value("skip", 0);
    fault.count = json.value("count", 1);
    return fault;
  } catch (const nlohmann::json::exception& e) {
    throw Error(ErrorKind::config, "not a fault: " + plain_error(e), "faults");
  }
}

void Faults::add(Fault fault) {
  const std::lock_guard lock(mutex_);
  faults_.push_back(std::move(fault));
}

void Faults::clear() {
  const std::lock_guard lock(mutex_);
  faults_.clear();
}

std::optional<Fault> Faults::meet_at_head(const ServerRequest& request) {
  return take(request, true);
}

std::optional<Fault> Faults::meet(const ServerRequest& request) {
  return take(request, false);
}

std::optional<Fault> Faults::take(const ServerRequest& request, bool at_head) {
  // A request counts once per fault: at its head, or when it is complete.
  const bool spooled = !request.body_file.empty();
  const std::lock_guard lock(mutex_);
  for (auto& fault : faults_) {
    const bool head_matters = fault.kind == Fault::Kind::drop_request && (at_head || spooled);
    if (fault.count == 0 || head_matters != at_head) continue;
    if (!fault.method.empty() && fault.method != request.method) continue;
    if (request.path.find(fault.path) == std::string::npos) continue;
    if (!fault.parameter.empty() && !request.parameter(fault.parameter)) continue;
    if (fault.skip > 0) {
      --fault.skip;
      continue;
    }
    if (fault.count > 0) --fault.count;
    return fault;
  }
  return std::nullopt;
}

}  // namespace assay::emulator
