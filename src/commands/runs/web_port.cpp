#include "commands/runs/web_port.h"

#include "core/error.h"
#include "core/parse_number.h"

namespace assay::commands {

std::uint16_t web_port(const std::string& text) {
  if (text == "any") return 0;
  const auto port = parse_number<std::uint16_t>(text, 1);
  if (!port) throw Error(ErrorKind::usage, "not a port: '" + text + "'", "--web", "1 to 65535");
  return *port;
}

}  // namespace assay::commands
