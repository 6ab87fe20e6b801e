#pragma once

#include <string>
#include <vector>

#include "e2e/harness.h"

namespace assay::e2e {

/// An image that a test makes of busybox, for podman with a storage of the test's own: nobody else
/// sees it, and it goes with the folder.
class PodmanImage {
 public:
  /// Files go to `folder`. `commands` of busybox, and `folders` (empty ones), are in the image.
  PodmanImage(fs::path folder, const std::vector<std::string>& commands,
              const std::vector<std::string>& folders = {});

  /// Why there is none. Empty: it is there, and a container of it has run.
  [[nodiscard]] const std::string& missing() const { return missing_; }
  [[nodiscard]] CommandResult podman(const std::vector<std::string>& args) const;
  /// "container:" of a suite, with these mounts ("/a:/b:ro").
  [[nodiscard]] std::string container(const std::vector<std::string>& mounts = {}) const;

 private:
  [[nodiscard]] std::vector<std::string> options() const;

  fs::path folder_;
  std::string missing_;
};

}  // namespace assay::e2e
