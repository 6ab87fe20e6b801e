#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "emulator/streaming_server.h"

namespace assay::emulator {

/// A failure to simulate, for which requests and how often.
struct Fault {
  enum class Kind {
    status,        ///< answers with `status` and does nothing
    html,          ///< answers with a page, like a captive portal
    drop_request,  ///< closes after `bytes` of the request's body
    drop_reply,    ///< carries out the request, then closes without an answer
    cut_reply,     ///< carries it out, closes after `bytes` of the answer's body
    delay,         ///< carries it out, answers after `delay`
    drip,          ///< carries it out, answers with one byte every `delay`
  };
  Kind kind = Kind::status;
  std::string method;     ///< empty: any
  std::string path;       ///< part of the path; empty: any
  std::string parameter;  ///< a name required in the query; empty: any
  int status = 503;
  std::string code;  ///< the service's
  std::optional<int> retry_after;
  std::uint64_t bytes = 0;
  std::chrono::milliseconds delay{};
  int skip = 0;   ///< how many matching requests pass first
  int count = 1;  ///< how many matching requests then fail; -1 = all
};

/// Throws Error of kind config for JSON that is not a fault.
[[nodiscard]] Fault fault_from_json(const Json& json);

/// Thread-safe.
class Faults {
 public:
  void add(Fault fault);
  void clear();
  /// The drop_request for a request with a spooled body whose head was read, if any; uses it up.
  [[nodiscard]] std::optional<Fault> meet_at_head(const ServerRequest& request);
  /// The fault for the complete request, if any; uses it up.
  [[nodiscard]] std::optional<Fault> meet(const ServerRequest& request);

 private:
  [[nodiscard]] std::optional<Fault> take(const ServerRequest& request, bool at_head);

  std::mutex mutex_;
  std::vector<Fault> faults_;
};

}  // namespace assay::emulator
