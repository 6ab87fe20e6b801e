// The agent protocol: any bytes in any pieces; messages that come out survive another round trip.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agent/messages.h"
#include "agent/protocol.h"
#include "core/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using assay::agent::Decoder;
  using assay::agent::Encoder;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Encoder encoder;
  Decoder decoder([&](int node, const assay::Json& message) {
    assay::Json again;
    Decoder second([&](int, const assay::Json& copy) { again = copy; });
    second.feed(encoder.encode(node, message));
    if (again.is_null()) __builtin_trap();
    try {
      (void)assay::agent::request_from_json(message);
    } catch (const assay::Error&) {
    }
    try {
      (void)assay::agent::report_from_json(message);
    } catch (const assay::Error&) {
    }
  });
  const std::size_t half = size / 2;
  decoder.feed(bytes.substr(0, half));
  decoder.feed(bytes.substr(half));
  return 0;
}
