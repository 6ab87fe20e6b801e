#pragma once

#include "core/error.h"

namespace assay {

/// Thrown where work ends because its stop token asked for that. Of kind environment.
class Cancelled : public Error {
 public:
  explicit Cancelled(std::string message, std::string where = {})
      : Error(ErrorKind::environment, std::move(message), std::move(where)) {}
};

}  // namespace assay
