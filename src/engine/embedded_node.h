#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "core/processors.h"

namespace assay::engine {

/// A machine of the embedded engine.
struct EmbeddedNode {
  std::string name{};
  std::string device_type = kProcessors;  ///< "H200"; "cpu": its processors are the devices
  int devices = 1;
  std::string vendor = kProcessors;  ///< of conf/vendors
  std::string visible_devices{};  ///< variable that says which devices a program sees; may be empty
  /// What device 0, 1, … is called in that variable; empty: by its number.
  std::vector<std::string> device_names{};
  bool remote = false;           ///< ssh reaches it; else it is this machine
  Json access = Json::object();  ///< how: address, user, port, identity, jump of a suite's host
};

}  // namespace assay::engine
