#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probe/device_state.h"

namespace assay::probe {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A device that nothing is wrong with.
DeviceState fit(int index = 0) {
  DeviceState d;
  d.index = index;
  d.name = "NVIDIA H200";
  d.uuid = "GPU-" + std::to_string(index);
  d.persistence = true;
  d.prohibited = false;
  d.ecc = d.ecc_pending = true;
  d.ecc_corrected = d.ecc_uncorrected = d.corrected_ever = d.uncorrected_ever = 0;
  d.rows_corrected = d.rows_uncorrected = 0;
  d.rows_pending = d.rows_failed = false;
  d.pcie_generation = d.pcie_generation_max = 5;
  d.pcie_width = d.pcie_width_max = 16;
  d.links = d.links_active = 18;
  d.clock_max_mhz = d.clock_set_mhz = d.clock_default_mhz = 1980;
  d.partitioned = d.partitioned_pending = false;
  d.power_limit_w = d.power_limit_default_w = 700;
  d.temp_c = 31;
  d.slowdown_c = 89;
  d.full_speed = true;
  d.processes.emplace();
  return d;
}

DeviceStates machine(std::vector<DeviceState> devices) {
  DeviceStates states;
  states.driver = "550.54.14";
  states.library = "12.550.54.14";
  states.runtime = "CUDA 12.4";
  states.devices = std::move(devices);
  return states;
}

Check check_of(const DeviceStates& states, const std::string& id) {
  for (const Check& check : check_device_states(states))
    if (check.id == id) return check;
  return {"absent", Level::fail, "absent", ""};
}

// The check of a device that is fit but for one change.
template <class Change>
Check changed(const std::string& id, Change change) {
  DeviceState device = fit();
  change(device);
  return check_of(machine({device}), id);
}

TEST(DeviceChecks, PassWhereNothingIsWrong) {
  std::vector<std::string> ids;
  for (const Check& check : check_device_states(machine({fit(0), fit(1)}))) {
    ids.push_back(check.id);
    EXPECT_EQ(check.level, Level::pass) << check.id << ": " << check.seen;
    EXPECT_NE(check.seen, "") << check.id;
    EXPECT_EQ(check.advice, "") << check.id;
  }
  EXPECT_THAT(ids, ElementsAre("device-state", "driver", "ecc", "remapped-rows", "pcie",
                               "device-links", "persistence", "device-clocks", "mig", "power-limit",
                               "device-heat", "device-users"));
}

TEST(DeviceChecks, NothingThatIsUnknownPasses) {
  DeviceState silent;
  for (const Check& check : check_device_states(machine({silent}))) {
    if (check.id == "driver" || check.id == "device-state") continue;
    EXPECT_EQ(check.level, Level::warn) << check.id << ": " << check.seen;
    EXPECT_THAT(check.seen, HasSubstr("unknown: not told")) << check.id;
    EXPECT_NE(check.advice, "") << check.id;
  }
  DeviceStates nameless = machine({fit()});
  nameless.driver = "";
  EXPECT_EQ(check_of(nameless, "driver").level, Level::warn);
}

TEST(DeviceChecks, SayWhyTheyDoNotKnow) {
  const Check check = changed("ecc", [](DeviceState& d) {
    d.ecc.reset();
    d.unknown["ecc"] = kNotInLibrary;
  });
  EXPECT_EQ(check.seen, "device 0: ECC unknown: the library is too old to tell");
  const Check counts = changed("ecc", [](DeviceState& d) {
    d.ecc_uncorrected.reset();
    d.unknown["ecc_uncorrected"] = "no permission";
  });
  EXPECT_EQ(counts.level, Level::warn);
  EXPECT_THAT(counts.seen, HasSubstr("uncorrected errors unknown: no permission"));
}

TEST(DeviceChecks, OfWhatADeviceMayLackPassWithAWord) {
  const auto without = [](const char* id, const char* key, auto member) {
    return changed(id, [&](DeviceState& d) {
      (d.*member).reset();
      d.unknown[key] = kNotSupported;
    });
  };
  for (const Check& check :
       {without("device-links", "links", &DeviceState::links),
        without("mig", "partitioned", &DeviceState::partitioned),
        without("device-clocks", "clock_set_mhz", &DeviceState::clock_set_mhz)}) {
    EXPECT_EQ(check.level, Level::pass) << check.id << ": " << check.seen;
    EXPECT_NE(check.seen, "") << check.id;
  }
  // Of what every device of a data center has, it is not.
  EXPECT_EQ(without("remapped-rows", "rows_failed", &DeviceState::rows_failed).level, Level::warn);
}

TEST(DeviceChecks, ADeviceThatDoesNotAnswerFails) {
  DeviceState lost;
  lost.index = 1;
  lost.error = "GPU is lost (15)";
  const DeviceStates states = machine({fit(0), lost});
  EXPECT_EQ(check_of(states, "device-state").level, Level::fail);
  EXPECT_THAT(check_of(states, "device-state").seen, HasSubstr("device 1: does not answer"));
  EXPECT_EQ(check_of(states, "ecc").level, Level::pass);
}

TEST(DeviceChecks, OfMemory) {
  EXPECT_EQ(changed("ecc", [](auto& d) { d.ecc = d.ecc_pending = false; }).level, Level::warn);
  EXPECT_EQ(changed("ecc", [](auto& d) { d.ecc_pending = false; }).level, Level::warn);
  EXPECT_EQ(changed("ecc", [](auto& d) { d.ecc_uncorrected = 1; }).level, Level::fail);
  EXPECT_EQ(changed("ecc", [](auto& d) { d.uncorrected_ever = 2; }).level, Level::warn);
  const Check corrected = changed("ecc", [](auto& d) { d.ecc_corrected = 3; });
  EXPECT_EQ(corrected.level, Level::pass);
  EXPECT_THAT(corrected.seen, HasSubstr("3 corrected errors"));
  EXPECT_EQ(changed("remapped-rows", [](auto& d) { d.rows_failed = true; }).level, Level::fail);
  EXPECT_EQ(changed("remapped-rows", [](auto& d) { d.rows_pending = true; }).level, Level::warn);
  EXPECT_EQ(changed("remapped-rows", [](auto& d) { d.rows_uncorrected = 1; }).seen, "1 row");
}

TEST(DeviceChecks, OfLinks) {
  EXPECT_EQ(changed("pcie", [](auto& d) { d.pcie_width = 8; }).level, Level::warn);
  EXPECT_EQ(changed("pcie", [](auto& d) { d.pcie_generation = 3; }).level, Level::warn);
  const Check resting = changed("pcie", [](auto& d) {
    d.pcie_generation = 1;
    d.full_speed = false;
  });
  EXPECT_EQ(resting.level, Level::pass);
  EXPECT_THAT(resting.seen, HasSubstr("generation 1 of 5"));
  EXPECT_THAT(resting.seen, HasSubstr("trains down"));
  EXPECT_EQ(changed("device-links", [](auto& d) { d.links_active = 17; }).level, Level::warn);
  EXPECT_EQ(changed("device-links", [](auto& d) { d.links_active = 0; }).level, Level::pass);
}

TEST(DeviceChecks, OfSettings) {
  EXPECT_EQ(changed("persistence", [](auto& d) { d.persistence = false; }).level, Level::warn);
  EXPECT_EQ(changed("device-clocks", [](auto& d) { d.clock_set_mhz = 1200; }).level, Level::warn);
  EXPECT_EQ(changed("mig", [](auto& d) { d.partitioned = true; }).level, Level::warn);
  EXPECT_EQ(changed("mig", [](auto& d) { d.partitioned_pending = true; }).level, Level::warn);
  const Check limit = changed("power-limit", [](auto& d) { d.power_limit_w = 500; });
  EXPECT_EQ(limit.level, Level::warn);
  EXPECT_EQ(limit.seen, "device 0: 500 W, 700 W by default");
  EXPECT_THAT(limit.advice, HasSubstr("nvidia-smi -pl 700"));
}

TEST(DeviceChecks, OfHeatAndUsers) {
  EXPECT_EQ(changed("device-heat", [](auto& d) { d.temp_c = 75; }).level, Level::warn);
  EXPECT_EQ(changed("device-heat", [](auto& d) { d.temp_c = 89; }).level, Level::fail);
  const auto untold = [](double celsius) {
    return changed("device-heat", [&](auto& d) {
      d.temp_c = celsius;
      d.slowdown_c.reset();
    });
  };
  EXPECT_EQ(untold(40).level, Level::pass);
  EXPECT_EQ(untold(80).level, Level::warn);
  const Check users = changed("device-users", [](auto& d) {
    d.processes = {{12, "/usr/bin/python3"}, {34, ""}};
  });
  EXPECT_EQ(users.level, Level::warn);
  EXPECT_EQ(users.seen, "device 0: used by 12 (/usr/bin/python3), 34");
  EXPECT_EQ(changed("device-users", [](auto& d) { d.prohibited = true; }).level, Level::fail);
}

TEST(DeviceChecks, NameTheDevicesThatSayTheSameTogether) {
  std::vector<DeviceState> devices;
  for (int i = 0; i < 8; ++i) devices.push_back(fit(i));
  for (const int i : {1, 3, 4, 5, 7}) devices[static_cast<std::size_t>(i)].persistence = false;
  EXPECT_EQ(check_of(machine(devices), "persistence").seen, "devices 1, 3–5, 7: off");
  for (DeviceState& device : devices) device.persistence = false;
  EXPECT_EQ(check_of(machine(devices), "persistence").seen, "all 8 devices: off");
}

TEST(DeviceChecks, AProblemIsAWarning) {
  DeviceStates states;
  states.problem = "assay-nvml ended with exit 3";
  const std::vector<Check> checks = check_device_states(states);
  ASSERT_EQ(checks.size(), 1U);
  EXPECT_EQ(checks[0].level, Level::warn);
  EXPECT_THAT(checks[0].seen, HasSubstr("exit 3"));
}

TEST(DeviceStates, AreReadAsTheyWereWritten) {
  DeviceState device = fit();
  device.processes = {{12, "python"}};
  device.unknown["firmware"] = "no permission";
  const Json json = fields_to_json(machine({device}));
  EXPECT_EQ(fields_to_json(device_states_from_text(dump_pretty(json))), json);
}

TEST(DeviceStates, ThatCannotBeReadHaveAProblem) {
  for (const char* text : {"", "[]", "nonsense", "{}", R"({"devices": []})", R"({"devices": {}})",
                           R"({"devices": [{}]})", R"({"devices": [{"index": "0"}]})",
                           R"({"devices": [{"index": 0, "ecc": 1}]})",
                           R"({"devices": [{"index": 0, "ecc_corrected": -1}]})",
                           R"({"devices": [{"index": 1e30}]})", R"({"devices": [{"index": 0}])"})
    EXPECT_NE(device_states_from_text(text).problem, "") << text;
}

TEST(DeviceStates, WithKeysOfALaterVersionAreRead) {
  const DeviceStates states =
      device_states_from_text(R"({"fans": 3, "devices": [{"index": 0, "fan_rpm": 1200}]})");
  EXPECT_EQ(states.problem, "");
  EXPECT_EQ(states.devices.size(), 1U);
}

template <class Change>
DeviceChanges after(Change change) {
  DeviceState device = fit();
  change(device);
  return compare_device_states(machine({fit()}), machine({device}));
}

TEST(DeviceChanges, AreNoneWhereNothingChanged) {
  const DeviceChanges changes = after([](DeviceState& d) {
    d.temp_c = 70;
    d.pcie_generation = 1;
    d.full_speed = false;
    d.processes = {{7, "x"}};
  });
  EXPECT_THAT(changes.errors, IsEmpty());
  EXPECT_THAT(changes.corrected, IsEmpty());
  EXPECT_THAT(changes.settings, IsEmpty());
  EXPECT_THAT(changes.links, IsEmpty());
}

TEST(DeviceChanges, OfErrorsAreWhatCameToThem) {
  EXPECT_THAT(after([](auto& d) { d.ecc_uncorrected = 2; }).errors,
              ElementsAre("device 0: 2 more uncorrected memory errors"));
  EXPECT_THAT(after([](auto& d) { d.rows_uncorrected = 1; }).errors,
              ElementsAre("device 0: 1 more remapped rows"));
  EXPECT_THAT(after([](auto& d) { d.rows_pending = true; }).errors,
              ElementsAre(HasSubstr("wait for a reset")));
  EXPECT_THAT(after([](auto& d) { d.rows_failed = true; }).errors,
              ElementsAre(HasSubstr("could not be remapped")));
  EXPECT_THAT(after([](auto& d) { d.ecc_corrected = 9; }).corrected,
              ElementsAre("device 0: 9 more corrected memory errors"));
}

TEST(DeviceChanges, ACountThatFellWasResetAndTheLifesCountTells) {
  DeviceState before = fit();
  before.ecc_uncorrected = 5;
  before.uncorrected_ever = 5;
  DeviceState reset = fit();
  reset.ecc_uncorrected = 0;
  reset.uncorrected_ever = 6;
  EXPECT_THAT(compare_device_states(machine({before}), machine({reset})).errors,
              ElementsAre("device 0: 1 more uncorrected memory errors"));
}

TEST(DeviceChanges, OfSettingsAndLinks) {
  EXPECT_THAT(after([](auto& d) { d.power_limit_w = 500; }).settings,
              ElementsAre("device 0: power limit 700 W before, 500 W after"));
  EXPECT_THAT(after([](auto& d) { d.partitioned = true; }).settings,
              ElementsAre("device 0: MIG off before, on after"));
  EXPECT_THAT(after([](auto& d) { d.links_active = 16; }).links,
              ElementsAre("device 0: active links to other devices 18 before, 16 after"));
  EXPECT_THAT(after([](auto& d) { d.pcie_width = 8; }).links,
              ElementsAre("device 0: PCIe lanes 16 before, 8 after"));
  DeviceStates updated = machine({fit()});
  updated.driver = "560.1";
  EXPECT_THAT(compare_device_states(machine({fit()}), updated).settings,
              Contains("driver 550.54.14 before, 560.1 after"));
}

TEST(DeviceChanges, DevicesAreKnownByTheirIdentity) {
  DeviceState other = fit(0);
  other.uuid = "GPU-other";
  const DeviceChanges swapped = compare_device_states(machine({fit(0)}), machine({other}));
  EXPECT_THAT(swapped.errors, ElementsAre("device 0: gone"));
  EXPECT_THAT(swapped.settings, ElementsAre("device 0: was not there before"));
  // Another order of the same devices is no change.
  DeviceState first = fit(0);
  DeviceState second = fit(1);
  std::swap(first.uuid, second.uuid);
  EXPECT_THAT(compare_device_states(machine({fit(0), fit(1)}), machine({first, second})).errors,
              IsEmpty());
}

TEST(DeviceChanges, WhatOneReadingLacksIsNotCompared) {
  EXPECT_THAT(after([](auto& d) { d.power_limit_w.reset(); }).settings, IsEmpty());
  DeviceStates none;
  none.problem = "the driver hangs";
  EXPECT_THAT(compare_device_states(machine({fit()}), none).errors, IsEmpty());
}

}  // namespace
}  // namespace assay::probe
