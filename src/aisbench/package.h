#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace assay::aisbench {

/// A workload package of ais-bench, unpacked in a folder.
struct Package {
  std::filesystem::path base;         ///< holds code/, log/, result/, tmp/
  std::filesystem::path code;         ///< base/code
  std::filesystem::path benchmark;    ///< code/benchmark.sh
  std::string run_type;               ///< RUNTYPE in benchmark.sh: cluster_offline, modelarts or ""
  std::filesystem::path config_json;  ///< the tester's, in config/ or code/; or empty
  std::filesystem::path system_json;  ///< likewise
  /// Its own libraries that report results to the closed program; see `assay ais test`.
  std::vector<std::filesystem::path> closed_libraries;

  [[nodiscard]] bool on_modelarts() const { return run_type == "modelarts"; }
};

/// `dir` is a package (layout 1.0 or 2) or its code/. Throws Error of kind usage if it is neither.
[[nodiscard]] Package open_package(const std::filesystem::path& dir);

/// The RUNTYPE that benchmark.sh sets, or "".
[[nodiscard]] std::string run_type_of(std::string_view benchmark_sh);
/// The script with another RUNTYPE; nothing if the script sets none.
[[nodiscard]] std::optional<std::string> with_run_type(std::string_view benchmark_sh,
                                                       const std::string& run_type);

/// What config.json says about the test. The defaults are what local mode shows.
struct TestInfo {
  std::string test_id = "20210126-ljp0IY";
  std::string mode = "training";
  std::string model = "resnet50_v1.5";
  std::string division = "close";
  std::string scenario = "generic";
  std::string object_type = "single";
  std::string tester_ip = "127.0.0.1";
  int tester_port = 9527;
  std::string tester_url;    ///< https://…; empty if the file gives none
  bool has_test_id = false;  ///< the file gives test_id
  bool has_tester = false;   ///< the file gives the tester's address
};

/// Ignores the case of keys, '_' and '-' ("testid", "Test_ID"), looks one level deeper, too, and
/// takes "Divsion" for division, as packages spell it. Throws Error of kind config at `where` for a
/// value of the wrong type.
[[nodiscard]] TestInfo read_test_info(const Json& config, const std::string& where);

/// "get ConfigInfo testid:…, Mode:…, …", as ais-bench's stub logs it.
[[nodiscard]] std::string config_info_line(const TestInfo& info);

/// "[2022-7-13 11:27:19][INFO]TEXT\n" in local time, as ais-bench's stub logs it.
[[nodiscard]] std::string stub_line(std::int64_t wall_ns, std::string_view level,
                                    std::string_view text);

}  // namespace assay::aisbench
