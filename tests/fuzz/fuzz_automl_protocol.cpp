// The protocol of AutoML experiments: any bytes are lines or an Error, any line a message or an
// Error of kind round_failed, and a message that comes out survives another round trip.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "automl/worker_protocol.h"
#include "core/error.h"

namespace {

using namespace assay::automl;

template <class Decode>
void round_trip(const std::string& line, Decode decode) {
  try {
    std::string again = encode(decode(line, "fuzz"));
    again.pop_back();
    if (encode(decode(again, "again")) != again + "\n") std::abort();
  } catch (const assay::Error& error) {
    // A line just below the limit may grow beyond it.
    if (error.kind() != assay::ErrorKind::round_failed &&
        !(error.kind() == assay::ErrorKind::internal && line.size() > kMaxLine / 2))
      std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Framing framing;
  framing.feed({reinterpret_cast<const char*>(data), size});
  try {
    while (const std::optional<std::string> line = framing.line("fuzz")) {
      round_trip(*line, decode_worker_message);
      round_trip(*line, decode_coordinator_message);
    }
  } catch (const assay::Error& error) {
    if (error.kind() != assay::ErrorKind::round_failed) std::abort();
  }
  return 0;
}
