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

/// What goes wrong, for which requests, and how often.
struct Fault {
  enum class Kind {
    status,        ///< answered with `status`, not carried out
    html,          ///< answered with a page, as a captive portal does
    drop_request,  ///< closed after `bytes` of the request's body
    drop_reply,    ///< carried out, then closed without an answer
    cut_reply,     ///< carried out, closed after `bytes` of the answer's body
    delay,         ///< carried out, answered after `delay`
    drip,          ///< carried out, answered with one byte every `delay`
  };
  Kind kind = Kind::status;
  std::string method;     ///< empty: any
  std::string path;       ///< a part of the path; empty: any
  std::string parameter;  ///< a name that the query must have; empty: any
  int status = 503;
  std::string code;  ///< the service's error code
  std::optional<int> retry_after;
  std::uint64_t bytes = 0;
  std::chrono::milliseconds delay{};
  int skip = 0;   ///< matching requests that pass first
  int count = 1;  ///< matching requests that fail then; -1 = all
};

/// Throws Error of kind config for JSON that is not a fault.
[[nodiscard]] Fault fault_from_json(const Json& json);

/// Thread-safe.
class Faults {
 public:
  void add(Fault fault);
  void clear();
  /// The drop_request that a request with a spooled body meets once its head was read; uses it up.
  [[nodiscard]] std::optional<Fault> meet_at_head(const ServerRequest& request);
  /// The fault that the whole request meets, if any; uses it up.
  [[nodiscard]] std::optional<Fault> meet(const ServerRequest& request);

 private:
  [[nodiscard]] std::optional<Fault> take(const ServerRequest& request, bool at_head);

  std::mutex mutex_;
  std::vector<Fault> faults_;
};

}  // namespace assay::emulator
