#pragma once

#include <optional>
#include <string>
#include <vector>

namespace assay::plan {

/// The devices of one vendor on the machine that plans, as far as a suite depends on them.
struct Devices {
  std::string vendor;    ///< "nvidia"
  std::string hardware;  ///< their type in the vendor's file; the vendor's name where it has none
  std::string name;      ///< as their driver calls them: "NVIDIA H200"; empty: it does not say
  int count = 0;         ///< that can be used, one rank each
  /// What the user lets programs see (CUDA_VISIBLE_DEVICES); the ranks see the same. Empty: all.
  std::string visible;
  /// Of matrix products that the built-in workloads can do on them.
  std::vector<std::string> precisions;

  /// "8 × NVIDIA H200".
  [[nodiscard]] std::string text() const;
};

/// What came of looking for the devices of one vendor, of which the machine has a sign.
struct DeviceSearch {
  Devices devices;
  std::string problem;             ///< why they cannot be used; empty: they can
  std::string advice;              ///< what to do about it
  std::vector<std::string> notes;  ///< what else a user should know before a measurement
};

/// The suite of a command that names none.
struct SuiteChoice {
  std::string suite;               ///< of conf/suites
  std::optional<Devices> devices;  ///< that it uses; nothing: the CPU
  std::vector<std::string> lines;  ///< why it was chosen, and what was not: a sentence each
};

/// gpu-quick where there are devices that can be used, else quick. Pure.
[[nodiscard]] SuiteChoice choose_suite(const std::vector<DeviceSearch>& searches);

/// Why a suite that needs devices cannot run: a clause for each vendor of which there was a sign.
[[nodiscard]] std::string why_none(const std::vector<DeviceSearch>& searches);

/// Of the searches the one with most devices that can be used; nullptr: none has any.
[[nodiscard]] const DeviceSearch* best_search(const std::vector<DeviceSearch>& searches);

}  // namespace assay::plan
