#pragma once

#include "core/error.h"

namespace assay {

/// Thrown when work ends because its stop token requested it. Its kind is environment.
class Cancelled : public Error {
 public:
  explicit Cancelled(std::string message, std::string where = {})
      : Error(ErrorKind::environment, std::move(message), std::move(where)) {}
};

}  // namespace assay
