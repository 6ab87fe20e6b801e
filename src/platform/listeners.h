#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>

#include "platform/platform.h"

namespace assay::platform {

/// Who is told of jobs that change. Thread-safe.
class Listeners {
 public:
  using Listener = std::function<void(const JobEvent&)>;

  /// Listens until what it returns goes. That waits for a call that is under way, and no call
  /// begins afterwards: what a listener uses may go next. It may outlive this object, but must not
  /// go within a call.
  [[nodiscard]] std::shared_ptr<void> add(Listener listener);
  /// Calls all of them, one after another. One that throws has not heard it; the others have.
  void tell(const JobEvent& event);

 private:
  struct Shared {
    std::mutex mutex;
    std::list<Listener> all;
  };
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

}  // namespace assay::platform
