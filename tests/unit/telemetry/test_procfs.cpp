#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"
#include "telemetry/procfs.h"
#include "telemetry/values.h"

namespace assay::telemetry {
namespace {

TEST(Procfs, FirstSampleHasNoRates) {
  const FakeRoot root;
  ProcSampler sampler(root.path());
  const Values first = sampler.sample(0);
  EXPECT_TRUE(std::isnan(first[Column::util]));
  EXPECT_TRUE(std::isnan(first[Column::net_rx_bps]));
  EXPECT_TRUE(sampler.cores().empty());
  EXPECT_DOUBLE_EQ(first[Column::mem_total_bytes], 1000 * 1024);
  EXPECT_DOUBLE_EQ(first[Column::mem_used_bytes], (1000 - 600) * 1024);
}

TEST(Procfs, UtilisationIsTheBusyShareOfTheInterval) {
  const FakeRoot root;
  root.stat({{100, 900}, {50, 450}, {50, 450}});
  ProcSampler sampler(root.path());
  static_cast<void>(sampler.sample(0));
  root.stat({{160, 1040}, {100, 500}, {60, 540}});  // 60 of 200; 50 of 100; 10 of 100
  EXPECT_DOUBLE_EQ(sampler.sample(kSecond)[Column::util], 0.3);
  ASSERT_EQ(sampler.cores().size(), 2U);
  EXPECT_DOUBLE_EQ(sampler.cores()[0].util, 0.5);
  EXPECT_DOUBLE_EQ(sampler.cores()[1].util, 0.1);
}

TEST(Procfs, IowaitIsIdleAndStealIsBusyAndGuestIsNotCountedTwice) {
  const FakeRoot root;
  //                               user nice sys idle iowait irq softirq steal guest guest_nice
  root.write("proc/stat", "cpu  100 10 20 1000 50 1 2 3 40 0\n");
  ProcSampler sampler(root.path());
  static_cast<void>(sampler.sample(0));
  root.write("proc/stat", "cpu  110 11 22 1040 90 2 4 7 50 0\n");
  // busy 10+1+2+1+2+4 = 20, idle 40+40 = 80
  EXPECT_DOUBLE_EQ(sampler.sample(kSecond)[Column::util], 0.2);
}

TEST(Procfs, CountersThatGoBackwardsDoNotGiveNonsense) {
  const FakeRoot root;
  root.write("proc/stat", "cpu  100 0 0 1000 500 0 0 0 0 0\n");
  root.net("eth0", 5000, 5000);
  ProcSampler sampler(root.path());
  static_cast<void>(sampler.sample(0));
  root.write("proc/stat", "cpu  130 0 0 1070 400 0 0 0 0 0\n");  // iowait fell by 100
  root.net("eth0", 100, 6000);
  Values sample = sampler.sample(kSecond);
  EXPECT_DOUBLE_EQ(sample[Column::util], 0.3);
  EXPECT_DOUBLE_EQ(sample[Column::net_rx_bps], 0);
  EXPECT_DOUBLE_EQ(sample[Column::net_tx_bps], 1000);
  root.net("eth0", 400, 6000);
  EXPECT_DOUBLE_EQ(sampler.sample(2 * kSecond)[Column::net_rx_bps], 300);
}

TEST(Procfs, AnUnpluggedCpuDisappearsAndComesBackWithANewStart) {
  const FakeRoot root;
  root.stat({{100, 900}, {50, 450}, {50, 450}});
  ProcSampler sampler(root.path());
  static_cast<void>(sampler.sample(0));
  root.stat({{150, 950}, {100, 500}});
  static_cast<void>(sampler.sample(kSecond));
  ASSERT_EQ(sampler.cores().size(), 1U);
  EXPECT_EQ(sampler.cores()[0].cpu, 0);
  root.stat({{200, 1000}, {150, 550}, {0, 0}});
  static_cast<void>(sampler.sample(2 * kSecond));
  EXPECT_EQ(sampler.cores().size(), 1U);  // no delta for cpu1 yet
  root.stat({{250, 1050}, {200, 600}, {25, 75}});
  static_cast<void>(sampler.sample(3 * kSecond));
  ASSERT_EQ(sampler.cores().size(), 2U);
  EXPECT_DOUBLE_EQ(sampler.cores()[1].util, 0.25);
}

TEST(Procfs, RatesAreBytesPerSecondOfMonotonicTime) {
  const FakeRoot root;
  root.net("eth0", 1000, 2000);
  ProcSampler sampler(root.path());
  static_cast<void>(sampler.sample(5 * kSecond));
  root.net("eth0", 1600, 2100);
  const Values sample = sampler.sample(7 * kSecond);
  EXPECT_DOUBLE_EQ(sample[Column::net_rx_bps], 300);
  EXPECT_DOUBLE_EQ(sample[Column::net_tx_bps], 50);
}

std::string disk(const std::string& name, int read_sectors, int written_sectors) {
  return " 8 0 " + name + " 1 0 " + std::to_string(read_sectors) + " 0 1 0 " +
         std::to_string(written_sectors) + " 0 0 0 0\n";
}

TEST(Procfs, DisksAreCountedOnceWithoutPartitionsAndStacks) {
  const FakeRoot root;
  for (const char* name : {"sda", "nvme0n1", "dm-0", "loop0", "cciss!c0d0", "bcache0", "nvme0c0n1"})
    root.write(std::string("sys/block/") + name + "/size", "1\n");
  root.write("sys/block/bcache0/slaves/sda/x", "");
  const auto all = [&](int factor) {
    std::string text;
    for (const char* name : {"sda", "sda1", "nvme0n1", "nvme0n1p1", "dm-0", "md127", "loop0",
                             "ram0", "zram0", "sr0", "bcache0", "nvme0c0n1", "cciss/c0d0"})
      text += disk(name, 10 * factor, 20 * factor);
    return text;
  };
  root.write("proc/diskstats", all(1));
  ProcSampler sampler(root.path());
  static_cast<void>(sampler.sample(0));
  root.write("proc/diskstats", all(3));
  const Values sample = sampler.sample(2 * kSecond);
  // Three disks (sda, nvme0n1, cciss/c0d0), 20 sectors of 512 bytes each in two seconds.
  EXPECT_DOUBLE_EQ(sample[Column::disk_read_bps], 3 * 20 * 512 / 2.0);
  EXPECT_DOUBLE_EQ(sample[Column::disk_write_bps], 3 * 40 * 512 / 2.0);
}

TEST(Procfs, WithoutSysfsPartitionsAreKnownByTheirNames) {
  const FakeRoot root;
  const auto all = [](int sectors) {
    return disk("sda", sectors, 0) + disk("sda1", sectors, 0) + disk("nvme0n1", sectors, 0) +
           disk("nvme0n1p2", sectors, 0) + disk("mmcblk0", sectors, 0) +
           disk("mmcblk0p1", sectors, 0) + disk("vda", sectors, 0) + disk("vda15", sectors, 0);
  };
  root.write("proc/diskstats", all(0));
  ProcSampler sampler(root.path());
  static_cast<void>(sampler.sample(0));
  root.write("proc/diskstats", all(1));
  EXPECT_DOUBLE_EQ(sampler.sample(kSecond)[Column::disk_read_bps], 4 * 512);
}

TEST(Procfs, LoopbackBondsBridgesAndContainerPortsAreNotCounted) {
  const FakeRoot root;
  root.write("sys/class/net/eth0/device/vendor", "");
  root.write("sys/class/net/eth1/device/vendor", "");
  root.write("sys/class/net/eth1/brport/state", "");
  root.write("sys/class/net/bond0/lower_eth0/x", "");
  root.write("sys/class/net/veth1/brport/state", "");
  root.write("sys/class/net/wg0/mtu", "");
  const auto all = [](int bytes) {
    std::string text = "Inter-|\n face |\n";
    for (const char* name : {"lo", "eth0", "eth1", "bond0", "veth1", "ifb0", "wg0"})
      text += std::string("  ") + name + ":" + std::to_string(bytes) + " 0 0 0 0 0 0 0 0 0 0\n";
    return text;
  };
  root.write("proc/net/dev", all(0));
  ProcSampler sampler(root.path());
  static_cast<void>(sampler.sample(0));
  root.write("proc/net/dev", all(100));
  EXPECT_DOUBLE_EQ(sampler.sample(kSecond)[Column::net_rx_bps], 300);  // eth0, eth1, wg0
}

TEST(Procfs, ClockIsTheMeanOverCores) {
  const FakeRoot root;
  root.write("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2000000\n");
  root.write("sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "3000000\n");
  root.write("sys/devices/system/cpu/cpufreq/boost", "1\n");
  ProcSampler sampler(root.path());
  EXPECT_DOUBLE_EQ(sampler.sample(0)[Column::clock_mhz], 2500);
  root.write("sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "1000000\n");
  EXPECT_DOUBLE_EQ(sampler.sample(kSecond)[Column::clock_mhz],
                   2500);  // read every five seconds only
  EXPECT_DOUBLE_EQ(sampler.sample(6 * kSecond)[Column::clock_mhz], 1500);
}

TEST(Procfs, AMachineWithoutProcIsUnknownNotZero) {
  const TemporaryFolder empty;
  ProcSampler sampler(empty.path());
  static_cast<void>(sampler.sample(0));
  const Values sample = sampler.sample(kSecond);
  for (const double value :
       {sample[Column::util], sample[Column::mem_used_bytes], sample[Column::mem_total_bytes],
        sample[Column::disk_read_bps], sample[Column::net_rx_bps], sample[Column::clock_mhz]})
    EXPECT_TRUE(std::isnan(value));
}

TEST(Procfs, GarbageInProcIsUnknown) {
  const FakeRoot root;
  root.write("proc/stat", "cpu  a b c\ncpu99999999 1 2 3 4\ncpu\n");
  root.write("proc/meminfo", "MemTotal: lots\n");
  root.write("proc/diskstats", "8 0 sda 1\n\n");
  root.write("proc/net/dev", "x");
  ProcSampler sampler(root.path());
  static_cast<void>(sampler.sample(0));
  const Values sample = sampler.sample(kSecond);
  EXPECT_TRUE(std::isnan(sample[Column::util]));
  EXPECT_TRUE(std::isnan(sample[Column::mem_used_bytes]));
  EXPECT_TRUE(std::isnan(sample[Column::disk_read_bps]));
}

TEST(Procfs, ReadsFilesLargerThanTheBuffer) {
  const FakeRoot root;
  std::vector<FakeRoot::Cpu> cpus(1 + 512, {1000, 1000});
  root.stat(cpus);
  ProcSampler sampler(root.path());
  static_cast<void>(sampler.sample(0));
  for (auto& cpu : cpus) cpu = {1010, 1030};
  root.stat(cpus);
  static_cast<void>(sampler.sample(kSecond));
  ASSERT_EQ(sampler.cores().size(), 512U);
  EXPECT_DOUBLE_EQ(sampler.cores()[511].util, 0.25);
}

}  // namespace
}  // namespace assay::telemetry
