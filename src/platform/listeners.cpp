#include "platform/listeners.h"

#include <exception>

namespace assay::platform {

std::shared_ptr<void> Listeners::add(Listener listener) {
  std::list<Listener> one;
  one.push_back(std::move(listener));
  const auto at = one.begin();
  {
    const std::scoped_lock lock(shared_->mutex);
    shared_->all.splice(shared_->all.end(), one);
  }
  // Without the lock: where there is no memory for the pointer, it calls its deleter.
  return {static_cast<void*>(&*at), [shared = shared_, at](void* /*listener*/) {
            std::list<Listener> gone;
            const std::scoped_lock lock(shared->mutex);
            gone.splice(gone.end(), shared->all, at);
          }};
}

void Listeners::tell(const JobEvent& event) {
  const std::scoped_lock lock(shared_->mutex);
  for (const Listener& listener : shared_->all) {
    try {
      listener(event);
    } catch (const std::exception&) {
      // There was no memory for it, say: the platform goes on without having told this one.
    }
  }
}

}  // namespace assay::platform
