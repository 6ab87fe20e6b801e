#include "workload/place.h"

#include <cstdlib>
#include <optional>

#include "core/error.h"
#include "core/parse_number.h"
#include "core/text.h"

namespace assay::workload {
namespace {

std::optional<std::string> variable(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  return text;
}

int number(const char* name, int fallback, int min, int max) {
  const std::optional<std::string> text = variable(name);
  if (!text) return fallback;
  const auto value = parse_number<int>(*text, min, max);
  if (!value)
    throw Error(ErrorKind::usage,
                std::string(name) + " is not a whole number from " + std::to_string(min) + " to " +
                    std::to_string(max) + ": '" + ellipsize(printable(*text), 40) + "'",
                "environment", "unset it for a single process, or let torchrun or assay set it");
  return *value;
}

}  // namespace

Place place_from_environment() {
  Place place;
  if (variable("RANK").has_value() != variable("WORLD_SIZE").has_value())
    throw Error(ErrorKind::usage,
                variable("RANK") ? "RANK is set, but WORLD_SIZE is not"
                                 : "WORLD_SIZE is set, but RANK is not",
                "environment", "set both, or neither for a single process");
  place.world_size = number("WORLD_SIZE", 1, 1, 1'000'000);
  place.rank = number("RANK", 0, 0, 999'999);
  if (place.rank >= place.world_size)
    throw Error(ErrorKind::usage,
                "RANK " + std::to_string(place.rank) + " is not below WORLD_SIZE " +
                    std::to_string(place.world_size),
                "environment");
  place.local_rank = number("LOCAL_RANK", 0, 0, 65'535);
  place.master_address = variable("MASTER_ADDR").value_or("127.0.0.1");
  place.master_port = static_cast<std::uint16_t>(number("MASTER_PORT", 29500, 1, 65'535));
  place.launcher_has_store = variable("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True";
  place.attempt = variable("TORCHELASTIC_RESTART_COUNT").value_or("0");
  return place;
}

}  // namespace assay::workload
