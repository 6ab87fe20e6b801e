#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/diagnostic.h"
#include "core/json.h"
#include "pyliteral/python_value.h"

namespace assay::importer {

struct ImportOptions {
  std::string vendor{};  ///< replaces VENDOR; empty: from test_conf.py
  /// Replaces CASES: globs that select from them, or other keys, "KEY" or "KEY=DATA".
  std::vector<std::string> cases{};
  std::string name;  ///< the suite's; empty: flagperf-<vendor>
  std::string python = "python3";
  /// The place of FlagPerf's training/ folder on the hosts; empty: the imported one.
  std::filesystem::path training_on_hosts;
  /// This machine's names and addresses; empty: found out. A single host among them is "local".
  std::vector<std::string> local_names;
  /// The vendors known to Assay; empty: not checked. Any other becomes "cpu", with a warning.
  std::vector<std::string> known_vendors;
};

/// cluster_conf.py
struct FlagPerfCluster {
  std::vector<std::string> hosts;
  std::vector<std::string> hosts_ports;
  std::optional<int> master_port;
  std::optional<int> ssh_port;
};

/// An entry of CASES, with the settings of the vendor's file.
struct FlagPerfCase {
  std::string key;  ///< as written
  std::string model;
  std::string framework;  ///< including its version: "pytorch_1.13"
  std::string family;     ///< "pytorch": names folders and launchers
  std::string hardware;
  int nodes = 0;
  int procs = 0;
  int repeats = 0;
  std::string data;
  pyliteral::Place place;                ///< in test_conf.py
  std::string config_file;               ///< only the name: "config_A100x1x8.py"
  Json config = Json::object();          ///< literal values of the vendor's file
  std::vector<std::string> not_literal;  ///< names in it whose values require Python
  std::optional<double> peak_flops;      ///< theoryflops: FLOP/s of one device
  std::string skipped;                   ///< why it is left out; empty if imported
};

/// test_conf.py
struct FlagPerfTest {
  std::string vendor;
  std::string container_options;    ///< ACCE_CONTAINER_OPT
  std::string visible_devices_env;  ///< ACCE_VISIBLE_DEVICE_ENV_NAME
  std::string pip_source;
  std::string flagperf_path;
  std::string log_path;
  std::string log_level;
  std::string shm_size;
  std::optional<bool> clear_caches;
};

struct FlagPerfConfig {
  std::filesystem::path training;  ///< absolute
  FlagPerfCluster cluster;
  FlagPerfTest test;
  std::vector<FlagPerfCase> cases;  ///< in the order of CASES, including skipped ones
};

struct FlagPerfImport {
  FlagPerfConfig config;
  std::string suite_yaml;
  std::vector<Diagnostic> diagnostics;
  std::vector<std::string> imported;                         ///< case keys
  std::vector<std::pair<std::string, std::string>> skipped;  ///< case key, reason
};

/// Reads a FlagPerf checkout (`dir` is its root or its training/ folder) without executing Python,
/// and writes a suite that runs FlagPerf's own scripts under Assay. Cases that FlagPerf's own
/// checks would drop are in `skipped`. Throws Error of kind config if `dir` is not a checkout, a
/// required setting is missing or not a literal, or no case is left.
[[nodiscard]] FlagPerfImport import_flagperf(const std::filesystem::path& dir,
                                             const ImportOptions& options = {});

/// The first half of import_flagperf: the checkout's settings. Appends to `diagnostics`.
[[nodiscard]] FlagPerfConfig read_flagperf(const std::filesystem::path& dir,
                                           std::vector<Diagnostic>& diagnostics,
                                           const ImportOptions& options = {});

/// Reads only cluster_conf.py. Throws Error of kind config if HOSTS is missing or a value is
/// invalid, of kind environment if the file cannot be read.
[[nodiscard]] FlagPerfCluster read_flagperf_cluster(const std::filesystem::path& file,
                                                    std::vector<Diagnostic>& diagnostics);

/// Whether a host's name or address is this machine's (`local_names`; empty: found out).
[[nodiscard]] bool is_this_machine(const std::string& host,
                                   const std::vector<std::string>& local_names);

/// The second half: the suite. Pure, except that it checks which files of the checkout exist.
[[nodiscard]] std::string render_suite(const FlagPerfConfig& config, const ImportOptions& options,
                                       std::vector<Diagnostic>& diagnostics);

/// The survey's result for one vendor file of a checkout.
struct SurveyedFile {
  std::string file;                                              ///< relative to training/
  std::size_t values = 0;                                        ///< number of literals read
  std::vector<std::pair<std::string, std::string>> not_literal;  ///< name and kind of value
  bool fully_read = false;
  bool syntax_ok = true;
  std::vector<Diagnostic> diagnostics;
};

struct ImportSurvey {
  std::vector<SurveyedFile> files;  ///< sorted by name
  std::size_t fully = 0;            ///< number of plain literal modules, with every name read
  std::size_t partly = 0;
  std::size_t unreadable = 0;  ///< number that Python itself would refuse
  std::size_t values = 0;
};

/// Reads every config_*.py of every vendor below training/, whether or not CASES names it.
[[nodiscard]] ImportSurvey import_survey(const std::filesystem::path& dir);

[[nodiscard]] Json to_json(const ImportSurvey& survey);
/// For people: the counts, then every file that was not fully read, with names and reasons.
[[nodiscard]] std::string render(const ImportSurvey& survey);

}  // namespace assay::importer
