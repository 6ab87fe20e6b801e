#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "core/files.h"
#include "core/json.h"
#include "core/text.h"
#include "e2e/harness.h"

namespace assay::e2e {

/// The end of a workload that succeeds.
inline constexpr const char* kTells = R"(
ais_utils set_result training throughput_ratio 450.58182754928634
ais_utils set_result training accuracy 0.7138610482215881
ais_utils set_result training result OK
)";

/// `assay ais test` with a package of the test's own.
class Ais : public AssayTest {
 protected:
  void package(const std::string& script) const {
    fs::create_directories(folder_ / "pkg/code");
    write("pkg/code/benchmark.sh", "#!/bin/bash\n" + script);
  }
  [[nodiscard]] CommandResult test(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"ais", "test", "pkg", "--interval", "200ms"});
    return assay(more, std::chrono::seconds(120));
  }
  [[nodiscard]] fs::path run() const { return fs::canonical(folder_ / "pkg/result/latest"); }
  [[nodiscard]] fs::path round() const { return run() / "workload/round1"; }
  [[nodiscard]] Json record() const { return read_json(round() / "train_result_info.json"); }
  [[nodiscard]] Json details() const { return read_json(round() / "ais_result.json"); }
  [[nodiscard]] std::string stub_log() const {
    return read_file_or_empty(folder_ / "pkg/log/stub.log");
  }
  /// What set_result wrote, of the round's only node.
  [[nodiscard]] std::vector<Json> calls() const {
    std::vector<Json> out;
    for (const auto& entry : fs::recursive_directory_iterator(run()))
      if (entry.path().filename() == "set_result.jsonl") {
        const std::string text = read_file(entry.path());
        for (const std::string_view line : split(text, '\n'))
          if (!line.empty()) out.push_back(parse_json(line, "set_result.jsonl"));
      }
    return out;
  }
  [[nodiscard]] bool finding(const std::string& rule) const {
    const Json result = read_json(run() / "result.json");
    for (const auto& found : result["cases"][0]["rounds"][0]["findings"])
      if (found["rule"] == rule) return true;
    return false;
  }
  /// In the command line of what the workload starts; no other test has it.
  const std::string marker_ = fmt::format("7{:05}", ::getpid() % 100000);
};

}  // namespace assay::e2e
