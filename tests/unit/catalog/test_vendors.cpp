#include <cmath>
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/catalog.h"
#include "core/files.h"
#include "telemetry/device_parser.h"

namespace assay::catalog {
namespace {

using telemetry::Column;
using telemetry::DeviceParser;
using telemetry::DeviceReading;
using telemetry::DeviceSource;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kMiB = 1024.0 * 1024.0;

const Catalog& shipped() {
  static const Catalog catalog = load_catalog({std::string(ASSAY_SOURCE_DIR) + "/conf"});
  return catalog;
}

std::string screen(const std::string& file) {
  return read_file(std::string(ASSAY_SOURCE_DIR) + "/tests/fixtures/vendors/" + file);
}

// What the vendor's sample source number `index` reads from the screen.
std::vector<DeviceReading> readings(const std::string& vendor, std::size_t index,
                                    const std::string& file) {
  const DeviceSource& source = shipped().find_vendor(vendor)->samples.at(index);
  const DeviceParser::Output output = DeviceParser(source, "test").parse_output(screen(file));
  EXPECT_EQ(output.nonsense, 0U) << output.first_nonsense;
  return output.readings;
}

double at(const DeviceReading& reading, Column column) {
  return reading.values[column];
}

void expect_device(const DeviceReading& reading, int index, double util, double used_mib,
                   double total_mib, double power, double temperature) {
  EXPECT_EQ(reading.index, index);
  EXPECT_NEAR(at(reading, Column::util), util, 1e-12);
  EXPECT_DOUBLE_EQ(at(reading, Column::mem_used_bytes), used_mib * kMiB);
  EXPECT_DOUBLE_EQ(at(reading, Column::mem_total_bytes), total_mib * kMiB);
  EXPECT_DOUBLE_EQ(at(reading, Column::power_w), power);
  EXPECT_DOUBLE_EQ(at(reading, Column::temp_c), temperature);
}

TEST(Vendors, AllTenAreThereInOrder) {
  EXPECT_THAT(shipped().vendor_names(),
              ElementsAre("amd", "ascend", "cambricon", "cpu", "dcu", "iluvatar", "kunlunxin",
                          "metax", "mthreads", "nvidia"));
}

TEST(Vendors, EveryPatternFieldAndCommandIsSound) {
  for (const Vendor& vendor : shipped().vendors)
    EXPECT_NO_THROW(check_vendor(vendor)) << vendor.name;
}

TEST(Vendors, ADevicesNameLeadsToItsType) {
  const auto type = [](const char* vendor, const char* device) {
    const Hardware* hardware = shipped().find_vendor(vendor)->hardware_of_device(device);
    return hardware == nullptr ? "none" : hardware->name;
  };
  EXPECT_EQ(type("nvidia", "NVIDIA H200"), "H200");
  EXPECT_EQ(type("nvidia", "NVIDIA A100-SXM4-80GB"), "A100");
  EXPECT_EQ(type("nvidia", "NVIDIA H100 80GB HBM3"), "H100");
  EXPECT_EQ(type("nvidia", "Tesla V100-SXM2-32GB"), "V100");
  EXPECT_EQ(type("nvidia", "NVIDIA H20"), "H20");
  EXPECT_EQ(type("ascend", "910B3"), "Atlas800TA2");
  EXPECT_EQ(type("mthreads", "MTT S4000"), "S4000");
  EXPECT_EQ(type("iluvatar", "Iluvatar BI-V100"), "BI-V100");
  // Other devices of the name have other peaks.
  EXPECT_EQ(type("nvidia", "NVIDIA H100 PCIe"), "none");
  EXPECT_EQ(type("nvidia", "NVIDIA H200 NVL"), "none");
  EXPECT_EQ(type("nvidia", "NVIDIA GH200 480GB"), "none");
  EXPECT_EQ(type("nvidia", "NVIDIA GeForce RTX 4090"), "none");
}

TEST(Vendors, QueriesNameTheDevices) {
  const auto first = [](const char* vendor, const std::string& text) {
    const DeviceQuery& query = *shipped().find_vendor(vendor)->query;
    const std::regex regex(query.pattern);
    std::map<std::string, std::string> out;
    std::smatch match;
    if (std::regex_search(text, match, regex))
      for (std::size_t i = 0; i < query.fields.size(); ++i) out[query.fields[i]] = match[i + 1];
    return out;
  };
  using Fields = std::map<std::string, std::string>;
  EXPECT_EQ(first("nvidia", "GPU 3: NVIDIA A100-SXM4-40GB (UUID: GPU-1b2c)\n"),
            (Fields{{"index", "3"}, {"name", "NVIDIA A100-SXM4-40GB"}, {"uuid", "GPU-1b2c"}}));
  EXPECT_EQ(first("ascend", screen("ascend.txt")), (Fields{{"index", "0"}, {"name", "910B3"}}));
  EXPECT_EQ(first("cambricon", screen("cambricon.txt")),
            (Fields{{"index", "0"}, {"name", "MLU370-X8"}}));
  EXPECT_EQ(first("kunlunxin", screen("kunlunxin.txt")),
            (Fields{{"index", "0"}, {"bus_id", "0000:53:00.0"}}));
  EXPECT_EQ(first("metax", screen("metax.txt")),
            (Fields{{"index", "0"}, {"name", "MetaX C500"}, {"bus_id", "0000:01:00.0"}}));
  EXPECT_EQ(first("mthreads", screen("mthreads-screen.txt")),
            (Fields{{"index", "0"}, {"name", "MTT S4000"}, {"bus_id", "00000000:0f:00.0"}}));
  EXPECT_EQ(first("dcu", screen("dcu.txt")), (Fields{{"index", "0"}}));
  EXPECT_EQ(first("amd", R"({"card0": {"Card Series": "Instinct MI210"}})"),
            (Fields{{"index", "0"}, {"name", "Instinct MI210"}}));
}

TEST(Vendors, VisibleDevicesVariables) {
  const auto variable = [](const char* name) {
    return shipped().find_vendor(name)->visible_devices;
  };
  EXPECT_EQ(variable("nvidia"), "CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(variable("iluvatar"), "CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(variable("ascend"), "ASCEND_VISIBLE_DEVICES");
  EXPECT_EQ(variable("cambricon"), "MLU_VISIBLE_DEVICES");
  EXPECT_EQ(variable("kunlunxin"), "XPU_VISIBLE_DEVICES");
  EXPECT_EQ(variable("metax"), "MACA_VISIBLE_DEVICES");
  EXPECT_EQ(variable("mthreads"), "MUSA_VISIBLE_DEVICES");
  EXPECT_EQ(variable("dcu"), "HIP_VISIBLE_DEVICES");
  EXPECT_EQ(variable("amd"), "HIP_VISIBLE_DEVICES");
  EXPECT_EQ(variable("cpu"), "");
}

TEST(Vendors, MonitorLogsAreNamedAsFlagPerfNamesThem) {
  for (const Vendor& vendor : shipped().vendors)
    for (const DeviceSource& source : vendor.samples)
      EXPECT_EQ(source.monitor_log,
                vendor.name == "metax" ? "mx-smi_monitor.log" : vendor.name + "_monitor.log");
}

TEST(Vendors, CpuHasNoDevices) {
  EXPECT_THAT(shipped().find_vendor("cpu")->samples, IsEmpty());
}

TEST(Vendors, NvidiaPrefersItsSamplerOverNvidiaSmi) {
  const auto& samples = shipped().find_vendor("nvidia")->samples;
  ASSERT_THAT(samples, SizeIs(2));
  EXPECT_THAT(samples[0].command,
              ElementsAre("{bindir}/assay-nvml", "--interval-ms", "{interval_ms}"));
  EXPECT_EQ(samples[0].format, DeviceSource::Format::assay);
  EXPECT_EQ(samples[1].command.at(0), "nvidia-smi");
  EXPECT_EQ(samples[1].mode, DeviceSource::Mode::loop);
}

TEST(Vendors, NvidiaTellsTheStateOfItsDevices) {
  const Vendor& vendor = *shipped().find_vendor("nvidia");
  EXPECT_THAT(vendor.state, ElementsAre("{bindir}/assay-nvml", "--state"));
  EXPECT_EQ(to_json(vendor, {{"bindir", "/opt/assay/bin"}})["state"]["command"][0],
            "/opt/assay/bin/assay-nvml");
  EXPECT_FALSE(to_json(*shipped().find_vendor("cpu"), {}).contains("state"));
}

TEST(Vendors, NvidiaSmiLoopIsRead) {
  const auto devices = readings("nvidia", 1, "nvidia.txt");
  ASSERT_THAT(devices, SizeIs(3));
  expect_device(devices[0], 0, 0.87, 30321, 40960, 312.45, 61);
  EXPECT_DOUBLE_EQ(at(devices[0], Column::clock_mhz), 1410);
  EXPECT_DOUBLE_EQ(at(devices[0], Column::mem_clock_mhz), 1215);
  EXPECT_DOUBLE_EQ(at(devices[0], Column::throttle), 0);
  expect_device(devices[1], 1, 0, 74, 40960, 54.02, 30);
  EXPECT_DOUBLE_EQ(at(devices[1], Column::throttle), 1);
  EXPECT_DOUBLE_EQ(at(devices[1], Column::ecc_errors), 2);
  EXPECT_TRUE(std::isnan(at(devices[2], Column::power_w)));
  EXPECT_DOUBLE_EQ(at(devices[0], Column::power_limit_w), 400);
  EXPECT_DOUBLE_EQ(at(devices[0], Column::power_capped), 0);
  EXPECT_DOUBLE_EQ(at(devices[0], Column::clock_max_mhz), 1410);
  EXPECT_DOUBLE_EQ(at(devices[2], Column::throttle), 0);
  EXPECT_DOUBLE_EQ(at(devices[2], Column::power_capped), 1);
  EXPECT_TRUE(std::isnan(at(devices[2], Column::clock_max_mhz)));
}

TEST(Vendors, NpuSmiScreenIsReadChipByChip) {
  const auto devices = readings("ascend", 0, "ascend.txt");
  ASSERT_THAT(devices, SizeIs(3));
  expect_device(devices[0], 0, 0.93, 57895, 65536, 316.2, 54);
  expect_device(devices[1], 1, 0, 3314, 65536, 92.0, 39);
  expect_device(devices[2], 2, 0.07, 2883, 65536, 164.1, 36);
}

TEST(Vendors, IxsmiScreenIsReadAlsoWithoutPower) {
  const auto devices = readings("iluvatar", 0, "iluvatar.txt");
  ASSERT_THAT(devices, SizeIs(2));
  expect_device(devices[0], 0, 0.98, 30513, 32768, 212, 71);
  EXPECT_DOUBLE_EQ(at(devices[0], Column::clock_mhz), 1500);
  EXPECT_EQ(devices[1].index, 1);
  EXPECT_TRUE(std::isnan(at(devices[1], Column::power_w)));
  EXPECT_DOUBLE_EQ(at(devices[1], Column::mem_used_bytes), 114 * kMiB);
}

TEST(Vendors, CnmonScreenIsRead) {
  const auto devices = readings("cambricon", 0, "cambricon.txt");
  ASSERT_THAT(devices, SizeIs(2));
  expect_device(devices[0], 0, 0.76, 20101, 20638, 207, 58);
  expect_device(devices[1], 1, 0, 0, 20638, 67, 32);
}

TEST(Vendors, XpuSmiLinesAreReadByColumn) {
  const auto devices = readings("kunlunxin", 0, "kunlunxin.txt");
  ASSERT_THAT(devices, SizeIs(2));
  expect_device(devices[0], 0, 0.97, 30321, 32768, 143.5, 62);
  expect_device(devices[1], 1, 0, 15, 32768, 58, 38);
}

TEST(Vendors, MxSmiScreenIsReadInOldAndNewForm) {
  const auto devices = readings("metax", 0, "metax.txt");
  ASSERT_THAT(devices, SizeIs(3));
  expect_device(devices[0], 0, 0.91, 60858, 65536, 298, 65);
  expect_device(devices[1], 1, 0, 858, 65536, 48, 45);
  expect_device(devices[2], 2, 0.05, 810, 65536, 44, 31);
}

TEST(Vendors, MthreadsGmiIsReadInBothForms) {
  const auto queried = readings("mthreads", 0, "mthreads.txt");
  ASSERT_THAT(queried, SizeIs(2));
  expect_device(queried[0], 0, 0.88, 40321, 49152, 309.51, 71);
  expect_device(queried[1], 1, 0, 1, 49152, 104.33, 45);
  const auto shown = readings("mthreads", 1, "mthreads-screen.txt");
  ASSERT_THAT(shown, SizeIs(2));
  EXPECT_NEAR(at(shown[0], Column::util), 0.88, 1e-12);
  EXPECT_DOUBLE_EQ(at(shown[1], Column::mem_total_bytes), 81920 * kMiB);
  EXPECT_DOUBLE_EQ(at(shown[1], Column::temp_c), 45);
}

TEST(Vendors, HySmiAndDtkRocmSmiAreRead) {
  const auto devices = readings("dcu", 0, "dcu.txt");
  ASSERT_THAT(devices, SizeIs(2));
  EXPECT_NEAR(at(devices[0], Column::util), 0.342, 1e-12);
  EXPECT_DOUBLE_EQ(at(devices[0], Column::power_w), 259);
  EXPECT_DOUBLE_EQ(at(devices[0], Column::temp_c), 58);
  EXPECT_EQ(devices[1].index, 1);
  const auto older = readings("dcu", 2, "dcu-rocm-smi.txt");
  ASSERT_THAT(older, SizeIs(1));
  EXPECT_NEAR(at(older[0], Column::util), 0.05, 1e-12);
  EXPECT_DOUBLE_EQ(at(older[0], Column::power_w), 20);
}

TEST(Vendors, RocmSmiJsonIsRead) {
  const auto devices = readings("amd", 0, "amd.txt");
  ASSERT_THAT(devices, SizeIs(2));
  expect_device(devices[0], 0, 0.93, 29225381888 / kMiB, 68702699520 / kMiB, 219, 35);
  expect_device(devices[1], 1, 0, 297615360 / kMiB, 205822885888 / kMiB, 140, 41);
}

TEST(Vendors, PeaksArePerPrecisionAndDense) {
  const Vendor& nvidia = *shipped().find_vendor("nvidia");
  EXPECT_DOUBLE_EQ(nvidia.find_hardware("A100")->peak_flops.at("bf16"), 312e12);
  EXPECT_DOUBLE_EQ(nvidia.find_hardware("H100")->peak_flops.at("fp16"), 989.4e12);
  EXPECT_EQ(nvidia.find_hardware("H200")->memory_bytes, 141ULL << 30);
  EXPECT_THAT(nvidia.find_hardware("A100")->origin,
              ::testing::StartsWith("conf/vendors/nvidia.yaml:"));
  EXPECT_EQ(nvidia.find_hardware("A1000"), nullptr);
  EXPECT_THAT(shipped().find_vendor("metax")->find_hardware("C500")->peak_flops, IsEmpty());
}

TEST(Vendors, EveryHardwareOfFlagPerfIsListed) {
  const auto has = [](const char* vendor, const char* hardware) {
    return shipped().find_vendor(vendor)->find_hardware(hardware) != nullptr;
  };
  for (const char* name : {"A100", "A800", "H100", "H800"}) EXPECT_TRUE(has("nvidia", name));
  for (const char* name : {"R300", "R300p"}) EXPECT_TRUE(has("kunlunxin", name));
  for (const char* name : {"BI-V100", "BI-V150", "TG-V200"}) EXPECT_TRUE(has("iluvatar", name));
  for (const char* name : {"9100", "Atlas800TA2"}) EXPECT_TRUE(has("ascend", name));
  EXPECT_TRUE(has("metax", "C500"));
  EXPECT_TRUE(has("cambricon", "MLU"));
  EXPECT_TRUE(has("mthreads", "S4000"));
  EXPECT_TRUE(has("dcu", "K100"));
}

TEST(VendorJson, ExpandsBindirOnly) {
  const Json json = to_json(*shipped().find_vendor("nvidia"), {{"bindir", "/opt/a{b}/bin"}});
  EXPECT_EQ(json["samples"][0]["command"][0], "/opt/a{{b}}/bin/assay-nvml");
  EXPECT_EQ(json["samples"][0]["command"][2], "{interval_ms}");
  EXPECT_EQ(json["visible_devices"], "CUDA_VISIBLE_DEVICES");
  const DeviceSource source = telemetry::device_source_from_json(json["samples"][1], "vendor_data");
  EXPECT_EQ(source.vendor, "nvidia");
}

}  // namespace
}  // namespace assay::catalog
