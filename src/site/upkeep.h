#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "platform/retention_rounds.h"
#include "serve/tls_identity.h"
#include "site/platform_side.h"
#include "tester/api.h"

namespace assay::site {

/// A server's own work besides answering: it removes what is no longer kept, and takes a renewed
/// certificate into use. Everything happens in the calling thread.
class Upkeep {
 public:
  struct Parts {
    tester::Api& tester;
    PlatformSide* platform = nullptr;   ///< null: the server is only the tester
    serve::TlsIdentity* tls = nullptr;  ///< null without TLS
    std::filesystem::path data{};
    std::function<void(const std::string&)> say{};
    std::function<bool()> ending{};  ///< whether the server is to end, so that removal stops
  };
  /// Removes what is old whenever `every` has passed, never earlier.
  Upkeep(Parts parts, std::chrono::milliseconds every, std::int64_t mono_ns);

  /// Reports what will be removed the first time, and the certificate's state.
  void say_ahead();
  /// The time until something is due.
  [[nodiscard]] std::chrono::nanoseconds rest(std::int64_t mono_ns) const;
  /// Does everything that is due.
  void work(std::int64_t mono_ns);

 private:
  void look_at_certificate();

  Parts parts_;
  std::optional<platform::RetentionRounds> rounds_;
  std::int64_t every_ns_;
  std::int64_t look_ns_;        // between two looks at the certificate
  std::int64_t next_clean_ns_;  // all of these by the monotonic clock
  std::int64_t next_look_ns_;
  std::vector<std::string> said_;  // about the certificate, most recently
};

/// Removes uploads that no job needs any more. A failure only costs room, and is reported.
void collect_code(PlatformSide& side, const std::filesystem::path& data,
                  const std::function<void(const std::string&)>& say);

}  // namespace assay::site
