#pragma once

#include <fstream>
#include <string>

#include <fmt/format.h>

#include "core/json.h"
#include "store/run_dir.h"
#include "temporary_folder.h"

namespace assay::live::testing {

/// A run directory that a test writes as the agents would.
class RunFolder {
 public:
  static constexpr std::int64_t kStartMs = 1'794'799'617'000;

  explicit RunFolder(bool shares_files = true) {
    folder_.write("plan.json", dump_line({{"cluster",
                                           {{"launcher", shares_files ? "local" : "ssh"},
                                            {"traits", {{"shares_files", shares_files}}}}}}));
    journal({{"event", "run_start"}});
    journal({{"event", "round_start"}, {"case", "c"}, {"round", 1}});
  }

  void journal(Json event, double seconds = 0) {
    event["wall_ns"] = (kStartMs + static_cast<std::int64_t>(seconds * 1e3)) * 1'000'000;
    append("journal.jsonl", dump_line(event) + "\n");
  }
  void append(const std::string& name, std::string_view text) const {
    const auto file = folder_.path() / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary | std::ios::app) << text;
  }
  [[nodiscard]] static std::string log(int rank, int node = 0) {
    return fmt::format("c/round1/n{}_noderank{}/rank{}.out.log", node, node, rank);
  }
  /// A PerfLog line, seconds after the start.
  [[nodiscard]] static std::string step(double seconds, double loss, double samples = 32) {
    return fmt::format(
        "[PerfLog] {{\"event\": \"STEP_END\", \"value\": {{\"loss\": {}, \"samples\": {}}}, "
        "\"step\": 1, \"metadata\": {{\"time_ms\": {}}}}}\n",
        loss, samples, kStartMs + static_cast<std::int64_t>(seconds * 1e3));
  }
  [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }
  [[nodiscard]] std::filesystem::path file(const std::string& name) const {
    return folder_.path() / name;
  }
  /// Somebody works on the run from now on.
  void hold() { lock_ = std::make_unique<store::RunLock>(path()); }
  void release() { lock_.reset(); }

 private:
  assay::testing::TemporaryFolder folder_;
  std::unique_ptr<store::RunLock> lock_;
};

}  // namespace assay::live::testing
