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

/// What a server does by itself, beside answering: removes what is kept no longer, and uses a
/// certificate that was renewed. In the thread that calls it.
class Upkeep {
 public:
  struct Parts {
    tester::Api& tester;
    PlatformSide* platform = nullptr;   ///< none: the server is the tester alone
    serve::TlsIdentity* tls = nullptr;  ///< none: without TLS
    std::filesystem::path data{};
    std::function<void(const std::string&)> say{};
    std::function<bool()> ending{};  ///< whether the server was told to end: nothing more goes
  };
  /// Removes what is old each time `every` has passed; never before.
  Upkeep(Parts parts, std::chrono::milliseconds every, std::int64_t mono_ns);

  /// Says what will be removed the first time, and what is to be known of the certificate.
  void say_ahead();
  /// How long nothing has to be done.
  [[nodiscard]] std::chrono::nanoseconds rest(std::int64_t mono_ns) const;
  /// Does what is due.
  void work(std::int64_t mono_ns);

 private:
  void look_at_certificate();

  Parts parts_;
  std::optional<platform::RetentionRounds> rounds_;
  std::int64_t every_ns_;
  std::int64_t look_ns_;        // between two looks at the certificate
  std::int64_t next_clean_ns_;  // of a monotonic clock, as all of them
  std::int64_t next_look_ns_;
  std::vector<std::string> said_;  // of the certificate, at last
};

/// The uploads that no job needs any more go. A failure costs nothing but room, and is said.
void collect_code(PlatformSide& side, const std::filesystem::path& data,
                  const std::function<void(const std::string&)>& say);

}  // namespace assay::site
