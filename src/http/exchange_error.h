#pragma once

#include "core/error.h"

namespace assay::http {

/// A request and its answer did not get through intact: there was no connection or no answer, or
/// the answer was cut off, damaged or not the service's. Nobody refused anything, so another try
/// may succeed. Its kind is environment; where() is the server.
class ExchangeError : public Error {
 public:
  explicit ExchangeError(std::string message, std::string server, std::string advice = {})
      : Error(ErrorKind::environment, std::move(message), std::move(server), std::move(advice)) {}
};

}  // namespace assay::http
