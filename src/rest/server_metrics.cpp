#include "rest/server_metrics.h"

#include <algorithm>

#include <fmt/format.h>

namespace assay::rest {

void ServerMetrics::Histogram::add(double value) {
  const auto bound = std::ranges::find_if(kBounds, [&](double most) { return value <= most; });
  ++counts.at(static_cast<std::size_t>(bound - kBounds.begin()));
  sum += value;
}

void ServerMetrics::Histogram::write(std::string& out, const std::string& name,
                                     const std::string& labels) const {
  const std::string comma = labels.empty() ? "" : ",";
  std::int64_t total = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    total += counts[i];
    const std::string bound = i < kBounds.size() ? fmt::format("{}", kBounds[i]) : "+Inf";
    out += fmt::format("{}_bucket{{{}{}le=\"{}\"}} {}\n", name, labels, comma, bound, total);
  }
  out +=
      fmt::format("{}_sum{{{}}} {}\n{}_count{{{}}} {}\n", name, labels, sum, name, labels, total);
}

void ServerMetrics::answered(const std::string& method, const std::string& path, int status,
                             double seconds) {
  const std::scoped_lock lock(lock_);
  ++requests_[{method, path, status}];
  request_time_.add(seconds);
}

void ServerMetrics::happened(const platform::JobEvent& event) {
  const std::scoped_lock lock(lock_);
  const auto found = since_.find(event.id);
  if (found != since_.end() && found->second.state == event.state) return;
  ++entered_[event.state];
  if (found != since_.end())
    state_time_[found->second.state].add(
        std::max(0.0, static_cast<double>(event.at_ns - found->second.at_ns) / 1e9));
  if (jobs::is_final(event.state))
    since_.erase(event.id);
  else
    since_[event.id] = {event.state, event.at_ns};
}

std::string ServerMetrics::text() const {
  const std::scoped_lock lock(lock_);
  std::string out =
      "# HELP assay_http_requests_total Requests that were answered.\n"
      "# TYPE assay_http_requests_total counter\n";
  for (const auto& [key, count] : requests_)
    out += fmt::format("assay_http_requests_total{{method=\"{}\",path=\"{}\",status=\"{}\"}} {}\n",
                       std::get<0>(key), std::get<1>(key), std::get<2>(key), count);
  out +=
      "# HELP assay_http_request_seconds Time from a request to its answer.\n"
      "# TYPE assay_http_request_seconds histogram\n";
  request_time_.write(out, "assay_http_request_seconds", "");
  out +=
      "# HELP assay_job_transitions_total Jobs that came into a state.\n"
      "# TYPE assay_job_transitions_total counter\n";
  for (const auto& [state, count] : entered_)
    out += fmt::format("assay_job_transitions_total{{state=\"{}\"}} {}\n", to_text(state), count);
  out +=
      "# HELP assay_job_state_seconds Time that jobs spent in a state that they have left; queued "
      "is the wait.\n"
      "# TYPE assay_job_state_seconds histogram\n";
  for (const auto& [state, times] : state_time_)
    times.write(out, "assay_job_state_seconds", fmt::format("state=\"{}\"", to_text(state)));
  return out;
}

}  // namespace assay::rest
