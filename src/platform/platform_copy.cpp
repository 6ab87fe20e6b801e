#include "platform/platform.h"
#include "platform/platform_state.h"

// The platform on a copy of another one's folder.

namespace assay::platform {

namespace {

jobs::Event event_in_copy(jobs::EventKind kind, const std::string& words) {
  jobs::Event event;
  event.kind = kind;
  event.detail = words;
  return event;
}

}  // namespace

Platform::Copied Platform::begin_as_copy(const CopyWords& words, jobs::WallTime at_ns, bool hold) {
  Copied out;
  const std::vector<jobs::ClusterNode> nodes = state_->engine->nodes();
  const std::lock_guard guard(state_->mutex);
  for (const jobs::ClusterNode& node : nodes) state_->device_types[node.name] = node.device_type;
  for (const jobs::Job& job : state_->store.holding_nodes()) {
    // Not recalled: whatever the folder of the attempt says is about processes of the original.
    jobs::Event event = event_in_copy(jobs::EventKind::engine_error, words.ran);
    event.attempt = job.life.attempt;
    event.at_ns = at_ns;
    if (state_->apply(job.id, event).taken) ++out.lost;
  }
  if (!hold) return out;
  for (const jobs::Job& job : state_->store.unfinished()) {
    // Of a start that was cut off before the folder was this server's own.
    bool held = job.life.state == jobs::State::paused && job.life.message.ends_with(words.waits);
    if (job.life.state == jobs::State::queued || job.life.state == jobs::State::unapproved)
      held = state_->apply(job.id, event_in_copy(jobs::EventKind::pause_asked, words.waits)).taken;
    if (held) out.paused.push_back(job.id);
  }
  return out;
}

}  // namespace assay::platform
