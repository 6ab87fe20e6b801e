#include "automl/worker_protocol.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"

namespace assay::automl {

namespace {

constexpr std::int64_t kMaxInteger = std::int64_t{1} << 53;  // what JSON numbers hold exactly
constexpr int kMaxEpochs = 1'000'000;
constexpr double kMaxSeconds = 1e12;
constexpr std::size_t kMaxText = 64 << 10;

// The fields of every message, once for both directions: the key, the member and, for a number, its
// range. All of them are required.
template <class M, class Message>
concept Of = std::same_as<std::remove_const_t<M>, Message>;

void fields(Of<Hyper> auto& m, auto&& field) {
  field("batch_size", m.batch_size, 1, 1 << 24);
  field("learning_rate", m.learning_rate, 0, 1e6);
  field("weight_decay", m.weight_decay, 0, 10);
  field("label_smoothing", m.label_smoothing, 0, 0.999);
  field("kernel_size", m.kernel_size, 0, 99);
  field("dropout", m.dropout, 0, 0.99);
}
void fields(Of<Patience> auto& m, auto&& field) {
  field("epochs", m.epochs, 0, kMaxEpochs);
  field("min_delta", m.min_delta, 0, 1e6);
}
void fields(Of<Hello> auto& m, auto&& field) {
  field("protocol", m.protocol, 0, 1'000'000);
  field("token", m.token);
  field("rank", m.rank, 0, std::numeric_limits<int>::max());
  field("host", m.host);
  field("device", m.device);
}
void fields(Of<Inherited> auto& m, auto&& field) {
  field("trial", m.trial, 0, kMaxInteger);
  field("tensors", m.tensors, 0, kMaxInteger);
  field("of", m.of, 0, kMaxInteger);
  field("sha256", m.sha256);
}
void fields(Of<Alive> auto& m, auto&& field) {
  field("progress", m.progress, 0, kMaxInteger);
}
void fields(Of<Fetch> auto& m, auto&& field) {
  field("trial", m.trial, 0, kMaxInteger);
}
void fields(Of<Epoch> auto& m, auto&& field) {
  field("trial", m.trial, 0, kMaxInteger);
  field("epoch", m.epoch, 1, kMaxEpochs);
  field("accuracy", m.accuracy, 0, 1);
  field("loss", m.loss, 0, std::numeric_limits<double>::max());
  field("trained", m.trained, 0, kMaxInteger);
  field("validated", m.validated, 0, kMaxInteger);
  field("at_s", m.at_s, 0, kMaxSeconds);
}
void fields(Of<Weights> auto& m, auto&& field) {
  field("trial", m.trial, 0, kMaxInteger);
  field("bytes", m.bytes, 0, kMaxWeights);
}
void fields(Of<Done> auto& m, auto&& field) {
  field("trial", m.trial, 0, kMaxInteger);
  field.choice("status", m.ok, "ok", "failed");
  field("reason", m.reason);
  field("accuracy", m.accuracy, 0, 1);
  field("epochs", m.epochs, 0, kMaxEpochs);
  field("trained", m.trained, 0, kMaxInteger);
  field("validated", m.validated, 0, kMaxInteger);
  field("seconds", m.seconds, 0, kMaxSeconds);
  field("setup_s", m.setup_s, 0, kMaxSeconds);
  field("wait_s", m.wait_s, 0, kMaxSeconds);
}
void fields(Of<Parent> auto& m, auto&& field) {
  field("trial", m.trial, 0, kMaxInteger);
  field("graph", m.graph);
  field("operations", m.operations);
}
void fields(Of<Trial> auto& m, auto&& field) {
  field("trial", m.trial, 0, kMaxInteger);
  field("attempt", m.attempt, 1, 1'000'000);
  field("graph", m.graph);
  field("parent", m.parent);
  field("hyper", m.hyper);
  field("epochs", m.epochs, 1, kMaxEpochs);
  field("patience", m.patience);
  field("seed", m.seed, 0, kMaxInteger);
  field("keep_weights", m.keep_weights);
  field("data", m.data);
}
void fields(Of<Drop> auto& m, auto&& field) {
  field("trial", m.trial, 0, kMaxInteger);
}
void fields(Of<Refuse> auto& m, auto&& field) {
  field("reason", m.reason);
}
template <class M>
requires(std::is_empty_v<M>) void fields(M& /*message*/, auto&& /*field*/) {}

// The types in the order of the variants.
constexpr std::array<std::string_view, std::variant_size_v<WorkerMessage>> kWorkerTypes{
    "hello", "ready", "inherited", "fetch", "epoch", "weights", "done", "alive"};
constexpr std::array<std::string_view, std::variant_size_v<CoordinatorMessage>> kCoordinatorTypes{
    "trial", "weights", "drop", "stop", "refuse"};

// Writes a message as text: a Json of the whole would hold copies of a trial's graphs.
class FieldWriter {
 public:
  explicit FieldWriter(std::string& out) : out_(out) {}

  void operator()(const char* key, const auto& value, auto /*least*/, auto /*most*/) {
    put(key, dump_line(value));
  }
  void operator()(const char* key, const Json& value) { put(key, dump_line(value)); }
  void operator()(const char* key, const std::vector<Operation>& operations) {
    Json list = Json::array();
    for (const Operation& operation : operations) list.push_back(to_json(operation));
    put(key, dump_line(list));
  }
  template <class M>
  void operator()(const char* key, const M& message) requires requires {
    fields(message, *this);
  }
  { put(key, object(message)); }
  void operator()(const char* key, const std::optional<Parent>& parent) {
    put(key, parent ? object(*parent) : "null");
  }
  void choice(const char* key, bool value, const char* yes, const char* no) {
    (*this)(key, Json(value ? yes : no));
  }

 private:
  static std::string object(const auto& message) {
    std::string out;
    fields(message, FieldWriter(out));
    return "{" + out + "}";
  }
  void put(const char* key, const std::string& value) {
    out_ += fmt::format(R"({}"{}":{})", out_.empty() ? "" : ",", key, value);
  }

  std::string& out_;
};

// Reads the fields of one JSON object; every error names the field.
class FieldReader {
 public:
  FieldReader(const Json& json, std::string name, ErrorKind kind, const std::string& where)
      : json_(json), name_(std::move(name)), kind_(kind), where_(where) {
    if (!json.is_object()) fail("is not a JSON object");
  }

  template <class M>
  M read(std::string_view also_known = {}) {
    M message;
    fields(message, *this);
    for (const auto& item : json_.items())
      if (item.key() != also_known && std::ranges::find(known_, item.key()) == known_.end())
        fail(fmt::format("has an unknown field '{}'", ellipsize(printable(item.key()), 60)));
    if constexpr (std::same_as<M, Hyper>)
      if (const int size = message.kernel_size; size != 0 && (size < 3 || size % 2 == 0))
        fail(fmt::format("'kernel_size' must be 0 or an odd number from 3, not {}", size));
    return message;
  }

  void operator()(const char* key, std::integral auto& to, std::int64_t least, std::int64_t most) {
    const Json& value = at(key);
    // A number above INT64_MAX is unsigned in the JSON library and would wrap.
    const bool fits = value.is_number_integer() &&
                      (!value.is_number_unsigned() ||
                       value.get<std::uint64_t>() <= static_cast<std::uint64_t>(kMaxInteger));
    if (!fits || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most)
      fail(fmt::format("'{}' must be a whole number from {} to {}, not {}", key, least, most,
                       shown(value)));
    value.get_to(to);
  }
  void operator()(const char* key, double& to, double least, double most) {
    const Json& value = at(key);
    to = value.is_number() ? value.get<double>() : std::nan("");
    if (!(to >= least && to <= most))
      fail(fmt::format("'{}' must be a number from {} to {}, not {}", key, least, most,
                       shown(value)));
  }
  void operator()(const char* key, std::string& to) {
    const Json& value = at(key);
    if (!value.is_string() || value.get_ref<const std::string&>().size() > kMaxText)
      fail(fmt::format("'{}' must be a text of at most {} bytes", key, kMaxText));
    value.get_to(to);
  }
  void operator()(const char* key, bool& to) {
    const Json& value = at(key);
    if (!value.is_boolean())
      fail(fmt::format("'{}' must be true or false, not {}", key, shown(value)));
    value.get_to(to);
  }
  void choice(const char* key, bool& to, const char* yes, const char* no) {
    std::string text;
    (*this)(key, text);
    to = text == yes;
    if (!to && text != no)
      fail(fmt::format("'{}' must be {} or {}, not '{}'", key, yes, no,
                       ellipsize(printable(text), 60)));
  }
  void operator()(const char* key, Json& to) {
    to = at(key);
    if (!to.is_object()) fail(fmt::format("'{}' must be a JSON object, not {}", key, shown(to)));
  }
  void operator()(const char* key, std::vector<Operation>& to) {
    const Json& list = at(key);
    if (!list.is_array()) fail(fmt::format("'{}' must be a list", key));
    for (std::size_t i = 0; i < list.size(); ++i) {
      try {
        to.push_back(operation_from_json(list[i], {}));
      } catch (const Error& error) {
        fail(fmt::format("{}[{}]: {}", key, i, error.message()));
      }
    }
  }
  template <class M>
  void operator()(const char* key, M& to) requires requires {
    fields(to, *this);
  }
  { to = FieldReader(at(key), fmt::format("{} '{}'", name_, key), kind_, where_).read<M>(); }
  void operator()(const char* key, std::optional<Parent>& to) {
    if (!at(key).is_null()) (*this)(key, to.emplace());
  }

 private:
  const Json& at(const char* key) {
    known_.emplace_back(key);
    const auto found = json_.find(key);
    if (found == json_.end()) fail(fmt::format("has no '{}'", key));
    return *found;
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(kind_, fmt::format("{}: {}", name_, what), where_);
  }
  [[nodiscard]] static std::string shown(const Json& value) {
    return ellipsize(printable(dump_line(value)), 60);
  }

  const Json& json_;
  std::string name_;
  ErrorKind kind_;
  std::string where_;
  std::vector<std::string_view> known_;
};

template <class Message>
std::string encode_as(const Message& message, const auto& types) {
  std::string line = fmt::format(R"("type":"{}")", types[message.index()]);
  std::visit([&](const auto& m) { fields(m, FieldWriter(line)); }, message);
  line = "{" + line + "}\n";
  if (line.size() > kMaxLine)
    throw Error(ErrorKind::internal,
                fmt::format("a message of {} bytes is too long for one line", line.size()));
  return line;
}

template <class Message>
Message decode_as(std::string_view line, const auto& types, const std::string& where) {
  const std::string advice = "both sides have to be of the same version of Assay";
  const Json json = parse_json_or_null(line);
  if (!json.is_object() || !json.contains("type") || !json["type"].is_string())
    throw Error(ErrorKind::round_failed,
                fmt::format("a line is not a message: {}", ellipsize(printable(line), 80)), where,
                advice);
  const std::string type = json["type"];
  std::optional<Message> out;
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    const auto read = [&]<class M>(std::type_identity<M>) {
      out = FieldReader(json, type, ErrorKind::round_failed, where).read<M>("type");
    };
    ((type == types[i] ? read(std::type_identity<std::variant_alternative_t<i, Message>>())
                       : void()),
     ...);
  }
  (std::make_index_sequence<std::variant_size_v<Message>>());
  if (!out)
    throw Error(ErrorKind::round_failed,
                fmt::format("a message of the unknown type '{}'", ellipsize(printable(type), 60)),
                where, advice);
  return std::move(*out);
}

}  // namespace

Hyper hyper_from_json(const Json& json, const std::string& where) {
  return FieldReader(json, "hyper-parameters", ErrorKind::config, where).read<Hyper>();
}

Json to_json(const Hyper& hyper) {
  Json out = Json::object();
  fields(hyper, [&](const char* key, auto value, auto...) { out[key] = value; });
  return out;
}

Patience patience_of_round(int round) {
  return {std::min(6 + 2 * std::min(round, 7), 20), 0.001};
}

bool EarlyStop::tell(double loss) {
  if (!best_ || loss + patience_.min_delta < *best_) {
    best_ = loss;
    waited_ = 0;
    return false;
  }
  return ++waited_ >= patience_.epochs && patience_.epochs > 0;
}

std::string encode(const WorkerMessage& message) {
  return encode_as(message, kWorkerTypes);
}
std::string encode(const CoordinatorMessage& message) {
  return encode_as(message, kCoordinatorTypes);
}

WorkerMessage decode_worker_message(std::string_view line, const std::string& where) {
  return decode_as<WorkerMessage>(line, kWorkerTypes, where);
}

CoordinatorMessage decode_coordinator_message(std::string_view line, const std::string& where) {
  return decode_as<CoordinatorMessage>(line, kCoordinatorTypes, where);
}

void Framing::feed(std::string_view bytes) {
  if (begin_ > 0) {
    pending_.erase(0, begin_);
    scanned_ -= begin_;
    begin_ = 0;
  }
  pending_ += bytes;
}

std::optional<std::string> Framing::line(const std::string& where) {
  scanned_ = std::max(scanned_, begin_);
  const std::size_t end = pending_.find('\n', scanned_);
  const std::size_t length = (end == std::string::npos ? pending_.size() : end + 1) - begin_;
  if (length > kMaxLine)
    throw Error(ErrorKind::round_failed, fmt::format("a line is longer than {} bytes", kMaxLine),
                where);
  if (end == std::string::npos) {
    scanned_ = pending_.size();
    return std::nullopt;
  }
  std::string line = pending_.substr(begin_, length - 1);
  begin_ = end + 1;
  return line;
}

std::optional<std::string> Framing::raw(std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  if (pending_.size() - begin_ < size) return std::nullopt;
  std::string taken = pending_.substr(begin_, size);
  begin_ += size;
  scanned_ = begin_;
  return taken;
}

}  // namespace assay::automl
