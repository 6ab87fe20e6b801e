#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/subprocess.h"
#include "core/text.h"

namespace assay::testing {

/// The scalars of an event file, as a reader sees them that shares nothing with the writer.
inline std::vector<Json> read_events(const std::filesystem::path& file) {
  const auto read = run_command(
      {"python3", ASSAY_SOURCE_DIR "/tests/unit/tensorboard/read_events.py", file.string()});
  if (!read.ok()) throw Error(ErrorKind::environment, read.err);
  std::vector<Json> out;
  for (const std::string_view line : split(read.out, '\n'))
    if (!line.empty()) out.push_back(parse_json(std::string(line), "read_events.py"));
  return out;
}

}  // namespace assay::testing
