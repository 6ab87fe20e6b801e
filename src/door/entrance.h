#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/files.h"
#include "core/process.h"
#include "engine/engine.h"
#include "entry/node_request.h"
#include "platform/platform.h"

namespace assay::door {

/// Why a person cannot enter; for people, who are not to blame for it.
struct Closed {
  entry::Obstacle obstacle = entry::Obstacle::failed;
  std::string words{};
  std::string detail{};
};

/// A stream into a job. Its other end is closed with this object.
struct Passage {
  UniqueFd stream{};              ///< a socket that does not block
  std::shared_ptr<void> agent{};  ///< that carries its bytes; none: the stream is the thing itself
  std::map<std::string, std::uint64_t> have{};  ///< of the agent's answer
};

/// Opens streams into running jobs: finds the rank in the journal of the job's run and has the
/// engine run the command. Thread-safe; blocks.
class Entrance {
 public:
  explicit Entrance(platform::Platform& platform);
  Entrance(const Entrance&) = delete;
  Entrance& operator=(const Entrance&) = delete;
  /// Ends all agents that it started.
  ~Entrance();

  /// Opens one beside a rank (nothing: the first running one), within `limit`. Throws Closed.
  [[nodiscard]] Passage open(jobs::JobId job, std::optional<int> rank, entry::NodeRequest request,
                             Nanoseconds limit);

 private:
  struct Agent;
  struct Leaving {
    Child child;
    std::int64_t kill_at_ns = 0;
  };
  /// What of the job's curves a service on the node of that rank does not have yet; at most every
  /// few seconds, and without `first` only where it has some. What cannot be brought is brought
  /// later: the service shows the job's own without them.
  void bring_curves(jobs::JobId job, const std::string& host, entry::NodeRequest request,
                    bool first) noexcept;
  [[nodiscard]] Passage start(const engine::Way& way, Nanoseconds limit);
  [[nodiscard]] Passage start_once(const engine::Way& way, Nanoseconds limit, bool last);
  void leave(Child child);
  void collect(const std::stop_token& stop);

  platform::Platform& platform_;
  std::mutex lock_;
  std::list<Leaving> leaving_;
  std::map<jobs::JobId, std::int64_t> curves_ns_;  ///< when they were brought last
  std::jthread collector_;                         // last: it ends before what it uses
};

/// The stream ended before an answer: the connection to the node failed.
struct WayLost : Error {
  WayLost();
};

/// Reads an agent's answer (entry/node_request.h) and what it hands over, and not a byte more.
/// Throws WayLost; Error of kind launch if the answer is invalid or does not come within `limit`.
struct Answered {
  entry::NodeAnswer answer{};
  UniqueFd passed{};
};
[[nodiscard]] Answered read_answer(int stream, Nanoseconds limit);

}  // namespace assay::door
