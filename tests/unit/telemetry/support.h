#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include "core/files.h"
#include "core/text.h"
#include "core/time.h"
#include "telemetry/device_parser.h"
#include "telemetry/recorder.h"
#include "telemetry/telemetry_table.h"
#include "temporary_folder.h"

namespace assay::telemetry {

using assay::testing::TemporaryFolder;

inline double value(const DeviceReading& reading, Column column) {
  return reading.values[column];
}

/// A machine whose counters the test moves on.
class FakeRoot : public TemporaryFolder {
 public:
  FakeRoot() {
    stat({{100, 900}, {50, 450}, {50, 450}});
    write("proc/meminfo", "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 600 kB\n");
    write("proc/diskstats", "");
    net("eth0", 0, 0);
  }

  struct Cpu {
    std::uint64_t busy;
    std::uint64_t idle;
  };
  /// The total first, then cpu0, cpu1, …
  void stat(const std::vector<Cpu>& cpus) const {
    std::string text;
    for (std::size_t i = 0; i < cpus.size(); ++i)
      text += (i == 0 ? "cpu " : "cpu" + std::to_string(i - 1)) + " " +
              std::to_string(cpus[i].busy) + " 0 0 " + std::to_string(cpus[i].idle) +
              " 0 0 0 0 0 0\n";
    write("proc/stat", text + "intr 1 2 3\nctxt 5\n");
  }
  void net(const std::string& name, std::uint64_t rx, std::uint64_t tx) const {
    write("proc/net/dev", "Inter-|   Receive\n face |bytes\n    lo: 77 0 0 0 0 0 0 0 77 0 0\n" +
                              name + ": " + std::to_string(rx) + " 1 0 0 0 0 0 0 " +
                              std::to_string(tx) + " 1 0 0 0 0 0 0\n");
  }
};

/// Runs the loop until `done` holds; false when that takes longer than `limit`.
inline bool run_until(asio::io_context& loop, const std::function<bool()>& done,
                      Nanoseconds limit = std::chrono::seconds(20)) {
  const std::int64_t deadline = mono_now_ns() + limit.count();
  while (!done()) {
    if (mono_now_ns() > deadline) return false;
    loop.restart();
    asio::steady_timer wake(loop, std::chrono::milliseconds(5));
    wake.async_wait([](asio::error_code) {});
    loop.run_one();
  }
  return true;
}

inline void run_for(asio::io_context& loop, Nanoseconds duration) {
  const std::int64_t end = mono_now_ns() + duration.count();
  static_cast<void>(run_until(loop, [&] { return mono_now_ns() >= end; }));
}

/// Stops the recorder and runs the loop until it says so.
inline bool stop(asio::io_context& loop, Recorder& recorder) {
  bool stopped = false;
  recorder.stop([&] { stopped = true; });
  return run_until(loop, [&] { return stopped; });
}

inline std::vector<Row> rows_of(const Table& table, std::string_view source) {
  std::vector<Row> out;
  for (const Row& row : table.rows)
    if (table.sources[row.source] == source) out.push_back(row);
  return out;
}

inline std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::vector<std::string> out;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) out.push_back(line);
  return out;
}

}  // namespace assay::telemetry
