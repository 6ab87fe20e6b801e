#pragma once

#include <filesystem>
#include <string>

#include "temporary_folder.h"

namespace assay::probe {

/// A folder that stands for the root of another machine.
class FakeRoot : public assay::testing::TemporaryFolder {
 public:
  FakeRoot() {
    file("proc/meminfo",
         "MemTotal:       16384 kB\nMemAvailable:    8192 kB\nSwapTotal:       4096 kB\n"
         "SwapFree:        4096 kB\nHugePages_Total:       3\nHugepagesize:    2048 kB\n");
    file("proc/loadavg", "0.10 0.20 0.30 1/234 5678\n");
    file("sys/devices/system/cpu/online", "0-3\n");
    for (int cpu = 0; cpu < 4; ++cpu) {
      const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(cpu);
      file(folder + "/topology/physical_package_id", "0\n");
      file(folder + "/topology/core_id", std::to_string(cpu / 2) + "\n");
      file(folder + "/cpufreq/scaling_governor", "performance\n");
    }
    std::filesystem::create_directories(path() / "dev/shm");
  }

  void file(const std::string& name, const std::string& content) const { write(name, content); }
  /// A program that prints something or fails.
  std::string program(const std::string& name, const std::string& script) const {
    return write_program(name, "#!/bin/sh\n" + script + "\n").string();
  }
};

}  // namespace assay::probe
