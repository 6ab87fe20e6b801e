#include <cmath>

#include <gtest/gtest.h>
#include <unistd.h>

#include "support.h"
#include "telemetry/rapl.h"
#include "telemetry/source_kind.h"
#include "telemetry/values.h"

namespace assay::telemetry {
namespace {

void domain(const TemporaryFolder& root, const std::string& zone, const std::string& name,
            const std::string& energy_uj) {
  const std::string folder = "sys/class/powercap/" + zone + "/";
  root.write(folder + "name", name + "\n");
  root.write(folder + "max_energy_range_uj", "262143328850\n");
  root.write(folder + "energy_uj", energy_uj + "\n");
}

TEST(Rapl, PowerIsEnergyOverTime) {
  const TemporaryFolder root;
  domain(root, "intel-rapl:0", "package-0", "1000000");
  Rapl rapl(root.path());
  EXPECT_FALSE(rapl.problem());
  const auto first = rapl.sample(0);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].source, "rapl0");
  EXPECT_TRUE(std::isnan(first[0].power_w));
  EXPECT_DOUBLE_EQ(first[0].energy_j, 1);
  domain(root, "intel-rapl:0", "package-0", "301000000");
  const auto second = rapl.sample(2 * kSecond);
  EXPECT_DOUBLE_EQ(second[0].power_w, 150);
  EXPECT_DOUBLE_EQ(second[0].energy_j, 301);
}

TEST(Rapl, TheCounterWrapsAndTheEnergyGoesOn) {
  const TemporaryFolder root;
  domain(root, "intel-rapl:0", "package-0", "262143000000");
  Rapl rapl(root.path());
  static_cast<void>(rapl.sample(0));
  domain(root, "intel-rapl:0", "package-0", "99671150");
  const auto after = rapl.sample(kSecond);
  // 262143328850 - 262143000000 + 99671150 = 100000000 µJ
  EXPECT_DOUBLE_EQ(after[0].power_w, 100);
  EXPECT_DOUBLE_EQ(after[0].energy_j, 262143 + 100);
}

TEST(Rapl, ACounterWithoutARangeThatFallsIsUnknownForOneSample) {
  const TemporaryFolder root;
  root.write("sys/class/powercap/intel-rapl:0/name", "package-0\n");
  root.write("sys/class/powercap/intel-rapl:0/energy_uj", "5000000\n");
  Rapl rapl(root.path());
  static_cast<void>(rapl.sample(0));
  root.write("sys/class/powercap/intel-rapl:0/energy_uj", "1000000\n");
  EXPECT_TRUE(std::isnan(rapl.sample(kSecond)[0].power_w));
  root.write("sys/class/powercap/intel-rapl:0/energy_uj", "3000000\n");
  const auto later = rapl.sample(2 * kSecond);
  EXPECT_DOUBLE_EQ(later[0].power_w, 2);
  EXPECT_DOUBLE_EQ(later[0].energy_j, 7);
}

TEST(Rapl, OnlyPackagesAddUp) {
  const TemporaryFolder root;
  domain(root, "intel-rapl:0", "package-0", "0");
  domain(root, "intel-rapl:0:0", "core", "0");
  domain(root, "intel-rapl:0:1", "dram", "0");
  domain(root, "intel-rapl:1", "psys", "0");
  domain(root, "intel-rapl:2", "package-1", "0");
  domain(root, "intel-rapl:2:0", "dram", "0");
  domain(root, "intel-rapl-mmio:0", "package-0", "0");
  Rapl rapl(root.path());
  std::string seen;
  for (const RaplSample& sample : rapl.sample(0))
    seen += std::string(sample.source) + (adds_up(sample.source, false) ? "+ " : " ");
  EXPECT_EQ(seen, "rapl0+ dram0 psys rapl1+ dram1 ");
}

TEST(Rapl, CountersThatCannotBeReadAreAProblemNotAnError) {
  const TemporaryFolder root;
  root.write("sys/class/powercap/intel-rapl:0/name", "package-0\n");
  // Root may open anything, so the file is a dangling link: it exists and cannot be opened.
  std::filesystem::create_symlink("/nonexistent",
                                  root.path() / "sys/class/powercap/intel-rapl:0/energy_uj");
  Rapl rapl(root.path());
  EXPECT_TRUE(rapl.problem());
  EXPECT_TRUE(rapl.sample(0).empty());
}

TEST(Rapl, AMachineWithoutCountersHasNoProblem) {
  const TemporaryFolder root;
  Rapl rapl(root.path());
  EXPECT_FALSE(rapl.problem());
  EXPECT_TRUE(rapl.sample(0).empty());
}

}  // namespace
}  // namespace assay::telemetry
