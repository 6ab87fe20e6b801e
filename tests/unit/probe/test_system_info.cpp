#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probe/readings.h"
#include "probe/system_info.h"
#include "unit/probe/fake_root.h"

namespace assay::probe {
namespace {

TEST(SystemInfo, DescribesTheHost) {
  const FakeRoot root;
  root.file("proc/sys/kernel/hostname", "node7\n");
  root.file("proc/sys/kernel/osrelease", "6.1.0-13-amd64\n");
  root.file("proc/sys/kernel/arch", "x86_64\n");
  root.file("proc/sys/kernel/random/boot_id", "3f2a\n");
  root.file("proc/uptime", "123.45 456.78\n");
  root.file("etc/os-release", "NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
  const Json info = system_info(root.path());
  EXPECT_EQ(info.at("hostname"), "node7");
  EXPECT_EQ(info.at("os"), "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(info.at("kernel"), "6.1.0-13-amd64");
  EXPECT_EQ(info.at("arch"), "x86_64");
  EXPECT_EQ(info.at("boot_id"), "3f2a");
  EXPECT_EQ(info.at("uptime_s"), 123.45);
  EXPECT_EQ(info.at("load"), Json::parse("[0.1, 0.2, 0.3]"));
}

TEST(SystemInfo, DescribesTheProcessors) {
  const FakeRoot root;
  root.file("proc/cpuinfo", "processor\t: 0\nmodel name\t: EPYC 7742\nprocessor\t: 1\n");
  root.file("sys/devices/system/node/online", "0-1\n");
  root.file("sys/devices/system/cpu/cpufreq/boost", "1\n");
  root.file("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3400000\n");
  root.file("sys/devices/system/cpu/cpu0/cache/index3/level", "3\n");
  root.file("sys/devices/system/cpu/cpu0/cache/index3/size", "16384K\n");
  root.file("sys/devices/system/cpu/cpu0/cache/index3/type", "Unified\n");
  root.file("sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_list", "0-3\n");
  const Json cpu = system_info(root.path()).at("cpu");
  EXPECT_EQ(cpu.at("model"), "EPYC 7742");
  EXPECT_EQ(cpu.at("sockets"), 1);
  EXPECT_EQ(cpu.at("cores"), 2);
  EXPECT_EQ(cpu.at("threads"), 4);
  EXPECT_EQ(cpu.at("numa_nodes"), 2);
  EXPECT_EQ(cpu.at("governor"), "performance");
  EXPECT_EQ(cpu.at("boost"), true);
  EXPECT_EQ(cpu.at("max_mhz"), 3400);
  EXPECT_EQ(cpu.at("caches").at(0),
            Json::parse(R"({"level": 3, "type": "unified", "size": "16384K", "shared_by": 4})"));
}

TEST(SystemInfo, MemoryIsInBytes) {
  const FakeRoot root;
  const Json memory = system_info(root.path()).at("memory");
  EXPECT_EQ(memory.at("total_bytes"), 16384 * 1024);
  EXPECT_EQ(memory.at("available_bytes"), 8192 * 1024);
  EXPECT_EQ(memory.at("swap_total_bytes"), 4096 * 1024);
  EXPECT_EQ(memory.at("hugepages"), 3);
}

TEST(SystemInfo, AcceleratorsAreFoundByPciClass) {
  const FakeRoot root;
  const std::string gpu = "sys/bus/pci/devices/0000:3b:00.0/";
  root.file(gpu + "class", "0x030200\n");
  root.file(gpu + "vendor", "0x10de\n");
  root.file(gpu + "device", "0x20b0\n");
  root.file(gpu + "numa_node", "1\n");
  root.file("sys/bus/pci/devices/0000:af:00.0/class", "0x120000\n");
  root.file("sys/bus/pci/devices/0000:af:00.0/vendor", "0x19e5\n");
  root.file("sys/bus/pci/devices/0000:00:00.0/class", "0x060000\n");
  root.file("dev/nvidia0", "");
  const Json info = system_info(root.path());
  ASSERT_EQ(info.at("accelerators").size(), 2U);
  EXPECT_EQ(info.at("accelerators").at(0).at("vendor"), "nvidia");
  EXPECT_EQ(info.at("accelerators").at(0).at("numa_node"), 1);
  EXPECT_EQ(info.at("accelerators").at(1).at("vendor"), "huawei");
  EXPECT_EQ(info.at("device_nodes"), Json::parse(R"(["/dev/nvidia0"])"));
}

TEST(SystemInfo, NetworksAndDisks) {
  const FakeRoot root;
  root.file("sys/class/net/eth0/operstate", "up\n");
  root.file("sys/class/net/eth0/speed", "25000\n");
  root.file("sys/class/net/eth1/operstate", "down\n");
  root.file("sys/class/net/eth1/speed", "-1\n");
  root.file("sys/class/net/lo/operstate", "unknown\n");
  root.file("sys/block/nvme0n1/size", "2048\n");
  root.file("sys/block/nvme0n1/queue/rotational", "0\n");
  root.file("sys/block/loop0/size", "8\n");
  const Json info = system_info(root.path());
  ASSERT_EQ(info.at("networks").size(), 2U);
  EXPECT_EQ(info.at("networks").at(0).at("speed_mbps"), 25000);
  EXPECT_FALSE(info.at("networks").at(1).contains("speed_mbps"));
  EXPECT_EQ(info.at("disks"),
            Json::parse(R"([{"name": "nvme0n1", "bytes": 1048576, "rotational": false}])"));
}

TEST(SystemInfo, CgroupLimitsAreThoseInForce) {
  const FakeRoot root;
  root.file("proc/self/cgroup", "0::/a/b\n");
  root.file("sys/fs/cgroup/a/cpu.max", "300000 100000\n");
  root.file("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  root.file("sys/fs/cgroup/a/b/memory.max", "1048576\n");
  const Json cgroup = system_info(root.path()).at("cgroup");
  EXPECT_EQ(cgroup.at("cpus"), 3.0);
  EXPECT_EQ(cgroup.at("memory_bytes"), 1048576);
}

TEST(SystemInfo, AVirtualMachineShows) {
  const FakeRoot root;
  root.file("sys/class/dmi/id/sys_vendor", "QEMU\n");
  EXPECT_EQ(system_info(root.path()).at("virtualisation").at("hypervisor"), "qemu");
}

TEST(SystemInfo, WhatCannotBeReadIsLeftOut) {
  const FakeRoot root;
  const Json info = system_info(root.path() / "nothing");
  EXPECT_FALSE(info.contains("hostname"));
  EXPECT_FALSE(info.at("cpu").contains("threads"));
  EXPECT_TRUE(info.at("memory").empty());
  EXPECT_TRUE(info.at("accelerators").empty());
}

TEST(SystemInfo, GarbageDoesNotBecomeNumbers) {
  const FakeRoot root;
  root.file("proc/meminfo", "MemTotal: many kB\n\x01\xff\n");
  root.file("proc/uptime", "\xff\xfe");
  root.file("proc/sys/kernel/hostname", "a\x1b[31mb\xff\n");
  const Json info = system_info(root.path());
  EXPECT_FALSE(info.at("memory").contains("total_bytes"));
  EXPECT_FALSE(info.contains("uptime_s"));
  EXPECT_NO_THROW(static_cast<void>(info.dump()));
}

TEST(SystemInfo, ThisMachineIsDescribed) {
  const Json info = system_info();
  EXPECT_GE(info.at("cpu").at("threads").get<int>(), 1);
  EXPECT_GT(info.at("memory").at("total_bytes").get<double>(), 0);
  EXPECT_TRUE(info.at("ulimits").contains("nofile"));
}

TEST(Readings, CpuLists) {
  EXPECT_EQ(count_cpu_list("0-3,8"), 5);
  EXPECT_EQ(count_cpu_list("7\n"), 1);
  EXPECT_EQ(count_cpu_list(""), std::nullopt);
  EXPECT_EQ(count_cpu_list("3-1"), std::nullopt);
  EXPECT_EQ(count_cpu_list("a"), std::nullopt);
}

}  // namespace
}  // namespace assay::probe
