#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "automl/score.h"
#include "automl/space.h"
#include "automl/trial_status.h"
#include "core/any_fields.h"
#include "core/enum_names.h"

/// The events of an experiment's journal and their fields, which docs/automl.md describes. One list
/// of fields serves both directions, as in store/journal_records.h. A journal may come from
/// anywhere: read() gives missing or mistyped fields their defaults, and numbers may be nonsense.
namespace assay::automl::journal {

enum class Event : std::uint8_t {
  experiment,
  resume,
  worker,
  proposing,
  proposed,
  started,
  inherited,
  weights,
  epoch,
  ended,
  refused,
  clock,
  end,
};

constexpr auto enum_names(Event) {
  using enum Event;
  return std::to_array<EnumName<Event>>({{experiment, "experiment"},
                                         {resume, "resume"},
                                         {worker, "worker"},
                                         {proposing, "proposing"},
                                         {proposed, "proposed"},
                                         {started, "started"},
                                         {inherited, "inherited"},
                                         {weights, "weights"},
                                         {epoch, "epoch"},
                                         {ended, "ended"},
                                         {refused, "refused"},
                                         {clock, "clock"},
                                         {end, "end"}});
}

/// When it happened; every line has these.
struct Stamps {
  double at_s = 0;  ///< since the experiment began; goes on across a resume, without the pause
  std::optional<std::int64_t> wall_ns{};

  static void fields(auto& self, auto&& field) {
    field("at_s", self.at_s);
    field.optional("wall_ns", self.wall_ns);
  }
};

struct Experiment {
  static constexpr Event kEvent = Event::experiment;
  int version = 1;
  Json settings{};  ///< as ExperimentSettings writes them; null: none

  static void fields(auto& self, auto&& field) {
    field("version", self.version);
    field("settings", self.settings);
  }
};

/// An earlier coordinator ended; the ends of the attempts that it had under way follow.
struct Resume {
  static constexpr Event kEvent = Event::resume;
  static void fields(auto&, auto&&) {}
};

struct Worker {
  static constexpr Event kEvent = Event::worker;
  enum class Change : std::uint8_t { left, joined };
  friend constexpr auto enum_names(Change) {
    return std::to_array<EnumName<Change>>({{Change::left, "left"}, {Change::joined, "joined"}});
  }

  int rank = -1;
  Change what = Change::left;
  std::string host{};
  std::optional<std::string> device{};  ///< of one that joined
  std::optional<std::string> reason{};  ///< why it left

  static void fields(auto& self, auto&& field) {
    field("rank", self.rank);
    field("what", self.what);
    field("host", self.host);
    field.optional("device", self.device);
    field.optional("reason", self.reason);
  }
};

/// A proposal begins; after a crash it is made again with the same knowledge.
struct Proposing {
  static constexpr Event kEvent = Event::proposing;
  std::int64_t told = 0;  ///< results that are known to it

  static void fields(auto& self, auto&& field) { field("told", self.told); }
};

struct Prediction {
  double mean = 0;
  double deviation = 0;

  static void fields(auto& self, auto&& field) {
    field("mean", self.mean);
    field("deviation", self.deviation);
  }
};

/// The optional fields do not affect how an experiment continues.
struct Proposed {
  static constexpr Event kEvent = Event::proposed;
  std::int64_t trial = -1;
  std::int64_t parent = -1;
  Json operations = Json::array();  ///< list of Operation
  Json hyper{};                     ///< a Hyper; null: none
  Point point{};
  std::optional<Prediction> predicted{};  ///< accuracy
  std::int64_t parameters = 0;
  int layers = 0;
  SampleOperations per_sample{};
  std::int64_t told = 0;
  double search_s = 0;

  static void fields(auto& self, auto&& field) {
    field("trial", self.trial);
    field("parent", self.parent);
    field("operations", self.operations);
    field.optional("hyper", self.hyper);
    field("point", self.point);
    field.optional("predicted", self.predicted);
    field.optional("parameters", self.parameters);
    field.optional("layers", self.layers);
    field.optional("per_sample", self.per_sample);
    field("told", self.told);
    field.optional("search_s", self.search_s);
  }
};

struct Started {
  static constexpr Event kEvent = Event::started;
  std::int64_t trial = -1;
  int attempt = 1;
  int worker = -1;  ///< its rank, as everywhere here
  std::string host{};
  std::int64_t round = 0;
  std::optional<int> epochs{};  ///< at most

  static void fields(auto& self, auto&& field) {
    field("trial", self.trial);
    field("attempt", self.attempt);
    field("worker", self.worker);
    field("host", self.host);
    field("round", self.round);
    field("epochs", self.epochs);
  }
};

struct Inherited {
  static constexpr Event kEvent = Event::inherited;
  std::int64_t trial = -1;
  int attempt = 1;
  int worker = -1;
  std::int64_t parent = -1;
  std::int64_t tensors = 0;
  std::int64_t of = 0;
  std::string sha256{};

  static void fields(auto& self, auto&& field) {
    field("trial", self.trial);
    field("attempt", self.attempt);
    field("worker", self.worker);
    field("parent", self.parent);
    field("tensors", self.tensors);
    field("of", self.of);
    field.optional("sha256", self.sha256);
  }
};

struct Weights {
  static constexpr Event kEvent = Event::weights;
  std::int64_t trial = -1;
  std::int64_t bytes = 0;
  bool kept = true;
  std::string reason{};
  std::optional<bool> displaced{};

  static void fields(auto& self, auto&& field) {
    field("trial", self.trial);
    field("bytes", self.bytes);
    field("kept", self.kept);
    field.optional("reason", self.reason);
    field.optional("displaced", self.displaced);
  }
};

struct Epoch {
  static constexpr Event kEvent = Event::epoch;
  std::int64_t trial = -1;
  int attempt = 1;
  std::optional<int> worker{};
  int epoch = 0;
  double accuracy = -1;
  double loss = -1;
  std::int64_t trained = 0;    ///< samples of this attempt so far
  std::int64_t validated = 0;  ///< the same
  double trial_s = 0;

  static void fields(auto& self, auto&& field) {
    field("trial", self.trial);
    field("attempt", self.attempt);
    field("worker", self.worker);
    field("epoch", self.epoch);
    field("accuracy", self.accuracy);
    field("loss", self.loss);
    field("trained", self.trained);
    field("validated", self.validated);
    field("trial_s", self.trial_s);
  }
};

/// The end of an attempt. Of one that was under way when the coordinator ended, less is known.
struct Ended {
  static constexpr Event kEvent = Event::ended;
  std::int64_t trial = -1;
  int attempt = 1;
  std::optional<int> worker{};
  std::optional<std::string> host{};
  std::optional<TrialStatus> status{};
  std::string reason{};
  bool final = false;  ///< the trial has its result
  std::optional<double> accuracy{};
  std::optional<int> epochs{};
  std::optional<std::int64_t> trained{};
  std::optional<std::int64_t> validated{};
  std::optional<double> seconds{};
  std::optional<double> setup_s{};  ///< if the worker reported it, as wait_s
  std::optional<double> wait_s{};

  /// Whether it counts as an attempt: one that the experiment or its coordinator ended does not.
  [[nodiscard]] bool counts() const { return status != TrialStatus::stopped && worker.has_value(); }

  static void fields(auto& self, auto&& field) {
    field("trial", self.trial);
    field("attempt", self.attempt);
    field.optional("worker", self.worker);
    field.optional("host", self.host);
    field("status", self.status);
    field("reason", self.reason);
    field("final", self.final);
    field.optional("accuracy", self.accuracy);
    field.optional("epochs", self.epochs);
    field.optional("trained", self.trained);
    field.optional("validated", self.validated);
    field.optional("seconds", self.seconds);
    field.optional("setup_s", self.setup_s);
    field.optional("wait_s", self.wait_s);
  }
};

/// A worker whose report cannot be.
struct Refused {
  static constexpr Event kEvent = Event::refused;
  int rank = -1;
  std::string host{};
  std::string reason{};

  static void fields(auto& self, auto&& field) {
    field("rank", self.rank);
    field("host", self.host);
    field("reason", self.reason);
  }
};

/// Nothing else happened for a while.
struct Clock {
  static constexpr Event kEvent = Event::clock;
  static void fields(auto&, auto&&) {}
};

struct End {
  static constexpr Event kEvent = Event::end;
  std::optional<ExperimentEnd> reason{};
  std::string detail{};

  static void fields(auto& self, auto&& field) {
    field("reason", self.reason);
    field("detail", self.detail);
  }
};

/// Nothing for a line that is not an event, or is another version's.
[[nodiscard]] std::optional<Event> event_of(const Json& line);

template <class T>
[[nodiscard]] T read(const Json& line) {
  return fields_from_any<T>(line);
}

/// The line of an event, without its wall time.
template <class T>
[[nodiscard]] Json line(double at_s, const T& event) {
  Json out{{"event", std::string(to_text(T::kEvent))}, {"at_s", at_s}};
  out.update(fields_to_json(event));
  return out;
}

}  // namespace assay::automl::journal
