#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "client/connection.h"
#include "http/tunnel.h"
#include "jobs/job_request.h"

namespace assay::client {

/// A stream into a job: frames of a program beside one of its ranks (entry/frame.h), or, where
/// there is a public key, the protocol of SSH. Errors are those of Connection.
class EntryStream {
 public:
  EntryStream(const Connection& connection, jobs::JobId job, std::optional<int> rank,
              const std::string& public_key = {});

  // As of http::Tunnel.
  [[nodiscard]] int descriptor() const noexcept { return tunnel_->descriptor(); }
  void write(std::string_view bytes) { tunnel_->write(bytes); }
  [[nodiscard]] std::optional<std::string> read();

 private:
  void shake_hands(const Connection& connection, const std::string& request);
  [[nodiscard]] std::string wait_for_bytes(std::int64_t deadline_ns);

  std::unique_ptr<http::Tunnel> tunnel_;
  std::string first_;  // what came with the server's answer
};

}  // namespace assay::client
