#pragma once

#include <fstream>
#include <future>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/json.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "ports.h"
#include "temporary_folder.h"

namespace assay::train {

/// assay-train as a launcher starts it, on one rank or on several.
class ProgramTest : public ::testing::Test {
 protected:
  static constexpr const char* kImages =
      "train_size: 256\neval_size: 66\nbatch_size: 16\neval_batch_size: 32\nthreads: 1\n"
      "loader_threads: 1\nwarmup_steps: 0\n";
  static constexpr const char* kText =
      "train_size: 256\neval_size: 50\nbatch_size: 16\neval_batch_size: 32\nthreads: 1\n"
      "loader_threads: 1\nwarmup_steps: 0\nsequence: 32\n";
  static constexpr const char* kTokens =
      "train_size: 96\neval_size: 16\neval_batch_size: 8\nthreads: 1\nloader_threads: 1\n"
      "warmup_steps: 2\nsequence: 32\n";

  std::string config(const std::string& text) {
    const std::filesystem::path path =
        folder_.path() / ("config" + std::to_string(++configs_) + ".yaml");
    std::ofstream(path) << text;
    return path.string();
  }

  static CommandResult run(std::vector<std::string> arguments,
                           std::map<std::string, std::string> env = {}) {
    arguments.insert(arguments.begin(), std::string(ASSAY_BIN_DIR) + "/assay-train");
    return command(arguments, std::move(env));
  }

  static CommandResult command(const std::vector<std::string>& argv,
                               std::map<std::string, std::string> env = {}) {
    CommandOptions options;
    options.timeout = std::chrono::seconds(100);
    options.env = std::move(env);
    options.max_output = 8 << 20;
    return run_command(argv, options);
  }

  CommandResult train(const std::string& workload, const std::string& text) {
    return run({workload, "--config", config(text)});
  }

  std::vector<CommandResult> train_ranks(const std::string& workload, const std::string& text,
                                         int world) {
    // More ranks than devices, where there are some.
    const bool placed = text.find("device:") != std::string::npos;
    const std::string path = config(placed ? text : text + "device: cpu\n");
    return train_ranks(workload, std::vector<std::string>(static_cast<std::size_t>(world), path));
  }

  // Each rank with a configuration of its own.
  static std::vector<CommandResult> train_ranks(const std::string& workload,
                                                const std::vector<std::string>& configs) {
    const std::size_t world = configs.size();
    const std::string port = free_port();
    std::vector<std::future<CommandResult>> ranks;
    for (std::size_t rank = 0; rank < world; ++rank)
      ranks.push_back(std::async(std::launch::async, [&, rank] {
        return run({workload, "--config", configs[rank]}, {{"RANK", std::to_string(rank)},
                                                           {"WORLD_SIZE", std::to_string(world)},
                                                           {"LOCAL_RANK", std::to_string(rank)},
                                                           {"MASTER_ADDR", "127.0.0.1"},
                                                           {"MASTER_PORT", port}});
      }));
    std::vector<CommandResult> results;
    for (auto& rank : ranks) results.push_back(rank.get());
    return results;
  }

  static std::string free_port() { return std::to_string(testing::reserved_port()); }

  // The events of one name, as JSON.
  static std::vector<Json> events(const CommandResult& result, const std::string& name) {
    std::vector<Json> found;
    for (const std::string_view line : split(result.out, '\n')) {
      if (!line.starts_with("[PerfLog] ")) continue;
      const Json event = parse_json(line.substr(10), "log");
      if (event.at("event") == name) found.push_back(event);
    }
    return found;
  }
  static std::vector<double> losses(const CommandResult& result) {
    std::vector<double> values;
    for (const Json& event : events(result, "STEP_END"))
      values.push_back(event.at("value").at("loss").get<double>());
    return values;
  }

  // The mean of the ranks' losses in each step.
  static std::vector<double> mean_losses(const std::vector<std::vector<double>>& of_ranks) {
    std::vector<double> mean(of_ranks[0].size());
    for (const std::vector<double>& losses : of_ranks)
      for (std::size_t i = 0; i < mean.size(); ++i)
        mean[i] += losses[i] / static_cast<double>(of_ranks.size());
    return mean;
  }

  assay::testing::TemporaryFolder folder_;
  int configs_ = 0;
};

}  // namespace assay::train
