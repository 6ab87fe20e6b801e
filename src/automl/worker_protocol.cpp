#include "automl/worker_protocol.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"

namespace assay::automl {

namespace {

constexpr std::int64_t kMaxInteger = std::int64_t{1} << 53;  // what JSON numbers hold exactly
constexpr int kMaxEpochs = 1'000'000;
constexpr std::size_t kMaxText = 64 << 10;

// Reads the fields of one JSON object; every error names the field.
class Fields {
 public:
  Fields(const Json& json, std::string name, ErrorKind kind, const std::string& where)
      : json_(json), name_(std::move(name)), kind_(kind), where_(where) {
    if (!json.is_object()) fail("is not a JSON object");
  }

  // Everything that is there has been asked for.
  void only(std::initializer_list<std::string_view> known) const {
    for (const auto& item : json_.items())
      if (std::find(known.begin(), known.end(), item.key()) == known.end())
        fail(fmt::format("has an unknown field '{}'", ellipsize(printable(item.key()), 60)));
  }

  [[nodiscard]] const Json& at(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end()) fail(fmt::format("has no '{}'", key));
    return *found;
  }

  [[nodiscard]] std::int64_t integer(const char* key, std::int64_t least, std::int64_t most) const {
    const Json& value = at(key);
    // A number above INT64_MAX is unsigned in the JSON library and would wrap.
    const bool fits = value.is_number_integer() &&
                      (!value.is_number_unsigned() ||
                       value.get<std::uint64_t>() <= static_cast<std::uint64_t>(kMaxInteger));
    if (!fits || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most)
      fail(fmt::format("'{}' must be a whole number from {} to {}, not {}", key, least, most,
                       shown(value)));
    return value.get<std::int64_t>();
  }
  [[nodiscard]] int small(const char* key, int least, int most) const {
    return static_cast<int>(integer(key, least, most));
  }
  [[nodiscard]] double number(const char* key, double least, double most) const {
    const Json& value = at(key);
    const double number = value.is_number() ? value.get<double>() : std::nan("");
    if (!(number >= least && number <= most))
      fail(fmt::format("'{}' must be a number from {} to {}, not {}", key, least, most,
                       shown(value)));
    return number;
  }
  [[nodiscard]] std::string text(const char* key) const {
    const Json& value = at(key);
    if (!value.is_string() || value.get_ref<const std::string&>().size() > kMaxText)
      fail(fmt::format("'{}' must be a text of at most {} bytes", key, kMaxText));
    return value.get<std::string>();
  }
  [[nodiscard]] bool flag(const char* key) const {
    const Json& value = at(key);
    if (!value.is_boolean())
      fail(fmt::format("'{}' must be true or false, not {}", key, shown(value)));
    return value.get<bool>();
  }
  [[nodiscard]] std::int64_t trial(const char* key = "trial") const {
    return integer(key, 0, kMaxInteger);
  }
  [[nodiscard]] const Json& object(const char* key) const {
    const Json& value = at(key);
    if (!value.is_object())
      fail(fmt::format("'{}' must be a JSON object, not {}", key, shown(value)));
    return value;
  }
  [[nodiscard]] Fields inner(const char* key) const {
    return {at(key), fmt::format("{} '{}'", name_, key), kind_, where_};
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(kind_, fmt::format("{}: {}", name_, what), where_);
  }

 private:
  [[nodiscard]] static std::string shown(const Json& value) {
    return ellipsize(printable(dump_line(value)), 60);
  }

  const Json& json_;
  std::string name_;
  ErrorKind kind_;
  std::string where_;
};

Hyper read_hyper(const Fields& fields) {
  fields.only(
      {"batch_size", "learning_rate", "weight_decay", "label_smoothing", "kernel_size", "dropout"});
  Hyper hyper;
  hyper.batch_size = fields.integer("batch_size", 1, 1 << 24);
  hyper.learning_rate = fields.number("learning_rate", 0, 1e6);
  hyper.weight_decay = fields.number("weight_decay", 0, 10);
  hyper.label_smoothing = fields.number("label_smoothing", 0, 0.999);
  hyper.kernel_size = fields.small("kernel_size", 0, 99);
  if (hyper.kernel_size != 0 && (hyper.kernel_size < 3 || hyper.kernel_size % 2 == 0))
    fields.fail(
        fmt::format("'kernel_size' must be 0 or an odd number from 3, not {}", hyper.kernel_size));
  hyper.dropout = fields.number("dropout", 0, 0.99);
  return hyper;
}

Json parse_object(std::string_view line, const std::string& where) {
  Json json = parse_json_or_null(line);
  if (!json.is_object() || !json.contains("type") || !json["type"].is_string())
    throw Error(ErrorKind::round_failed,
                fmt::format("a line is not a message: {}", ellipsize(printable(line), 80)), where,
                "both sides have to be of the same version of Assay");
  return json;
}

[[noreturn]] void reject_type(const std::string& type, const std::string& where) {
  throw Error(ErrorKind::round_failed,
              fmt::format("a message of the unknown type '{}'", ellipsize(printable(type), 60)),
              where, "both sides have to be of the same version of Assay");
}

std::string finish(std::string line) {
  line += '\n';
  if (line.size() > kMaxLine)
    throw Error(ErrorKind::internal,
                fmt::format("a message of {} bytes is too long for one line", line.size()));
  return line;
}

Weights read_weights(const Fields& fields) {
  fields.only({"type", "trial", "bytes"});
  return {fields.trial(), fields.integer("bytes", 0, kMaxWeights)};
}

Trial read_trial(const Fields& fields) {
  fields.only({"type", "trial", "attempt", "graph", "parent", "hyper", "epochs", "patience", "seed",
               "keep_weights", "data"});
  Trial trial;
  trial.trial = fields.trial();
  trial.attempt = fields.small("attempt", 1, 1'000'000);
  trial.graph = fields.object("graph");
  if (!fields.at("parent").is_null()) {
    const Fields parent = fields.inner("parent");
    parent.only({"trial", "graph", "operations"});
    trial.parent.emplace();
    trial.parent->trial = parent.trial();
    trial.parent->graph = parent.object("graph");
    const Json& operations = parent.at("operations");
    if (!operations.is_array()) parent.fail("'operations' must be a list");
    for (std::size_t i = 0; i < operations.size(); ++i) {
      try {
        trial.parent->operations.push_back(operation_from_json(operations[i], {}));
      } catch (const Error& error) {
        parent.fail(fmt::format("operations[{}]: {}", i, error.message()));
      }
    }
  }
  trial.hyper = read_hyper(fields.inner("hyper"));
  trial.epochs = fields.small("epochs", 1, kMaxEpochs);
  const Fields patience = fields.inner("patience");
  patience.only({"epochs", "min_delta"});
  trial.patience.epochs = patience.small("epochs", 0, kMaxEpochs);
  trial.patience.min_delta = patience.number("min_delta", 0, 1e6);
  trial.seed = static_cast<std::uint64_t>(fields.integer("seed", 0, kMaxInteger));
  trial.keep_weights = fields.flag("keep_weights");
  trial.data = fields.object("data");
  return trial;
}

Epoch read_epoch(const Fields& fields) {
  fields.only({"type", "trial", "epoch", "accuracy", "loss", "trained", "validated", "at_s"});
  Epoch epoch;
  epoch.trial = fields.trial();
  epoch.epoch = fields.small("epoch", 1, kMaxEpochs);
  epoch.accuracy = fields.number("accuracy", 0, 1);
  epoch.loss = fields.number("loss", 0, std::numeric_limits<double>::max());
  epoch.trained = fields.integer("trained", 0, kMaxInteger);
  epoch.validated = fields.integer("validated", 0, kMaxInteger);
  epoch.at_s = fields.number("at_s", 0, 1e12);
  return epoch;
}

Done read_done(const Fields& fields) {
  fields.only({"type", "trial", "status", "reason", "accuracy", "epochs", "trained", "validated",
               "seconds", "setup_s", "wait_s"});
  Done done;
  done.trial = fields.trial();
  const std::string status = fields.text("status");
  if (status != "ok" && status != "failed")
    fields.fail(
        fmt::format("'status' must be ok or failed, not '{}'", ellipsize(printable(status), 60)));
  done.ok = status == "ok";
  done.reason = fields.text("reason");
  done.accuracy = fields.number("accuracy", 0, 1);
  done.epochs = fields.small("epochs", 0, kMaxEpochs);
  done.trained = fields.integer("trained", 0, kMaxInteger);
  done.validated = fields.integer("validated", 0, kMaxInteger);
  done.seconds = fields.number("seconds", 0, 1e12);
  done.setup_s = fields.number("setup_s", 0, 1e12);
  done.wait_s = fields.number("wait_s", 0, 1e12);
  return done;
}

Json json_of(const Hello& m) {
  return {{"type", "hello"}, {"protocol", m.protocol}, {"token", m.token},
          {"rank", m.rank},  {"host", m.host},         {"device", m.device}};
}
Json json_of(const Ready&) {
  return {{"type", "ready"}};
}
Json json_of(const Fetch& m) {
  return {{"type", "fetch"}, {"trial", m.trial}};
}
Json json_of(const Epoch& m) {
  return {{"type", "epoch"},          {"trial", m.trial}, {"epoch", m.epoch},
          {"accuracy", m.accuracy},   {"loss", m.loss},   {"trained", m.trained},
          {"validated", m.validated}, {"at_s", m.at_s}};
}
Json json_of(const Weights& m) {
  return {{"type", "weights"}, {"trial", m.trial}, {"bytes", m.bytes}};
}
Json json_of(const Done& m) {
  return {{"type", "done"},       {"trial", m.trial},         {"status", m.ok ? "ok" : "failed"},
          {"reason", m.reason},   {"accuracy", m.accuracy},   {"epochs", m.epochs},
          {"trained", m.trained}, {"validated", m.validated}, {"seconds", m.seconds},
          {"setup_s", m.setup_s}, {"wait_s", m.wait_s}};
}
Json json_of(const Alive&) {
  return {{"type", "alive"}};
}
// Written piece by piece: a Json of the whole would hold copies of both graphs.
std::string text_of(const Trial& m) {
  std::string parent = "null";
  if (m.parent) {
    Json operations = Json::array();
    for (const Operation& operation : m.parent->operations)
      operations.push_back(to_json(operation));
    parent = fmt::format(R"({{"trial":{},"graph":{},"operations":{}}})", m.parent->trial,
                         dump_line(m.parent->graph), dump_line(operations));
  }
  const Json patience{{"epochs", m.patience.epochs}, {"min_delta", m.patience.min_delta}};
  return fmt::format(
      R"({{"type":"trial","trial":{},"attempt":{},"graph":{},"parent":{},"hyper":{},"epochs":{},)"
      R"("patience":{},"seed":{},"keep_weights":{},"data":{}}})",
      m.trial, m.attempt, dump_line(m.graph), parent, dump_line(to_json(m.hyper)), m.epochs,
      dump_line(patience), m.seed, m.keep_weights, dump_line(m.data));
}
Json json_of(const Drop& m) {
  return {{"type", "drop"}, {"trial", m.trial}};
}
Json json_of(const Stop&) {
  return {{"type", "stop"}};
}
Json json_of(const Refuse& m) {
  return {{"type", "refuse"}, {"reason", m.reason}};
}

template <class Message>
std::string text_of(const Message& m) {
  return dump_line(json_of(m));
}

}  // namespace

Hyper hyper_from_json(const Json& json, const std::string& where) {
  return read_hyper(Fields(json, "hyper-parameters", ErrorKind::config, where));
}

Json to_json(const Hyper& hyper) {
  return {{"batch_size", hyper.batch_size},     {"learning_rate", hyper.learning_rate},
          {"weight_decay", hyper.weight_decay}, {"label_smoothing", hyper.label_smoothing},
          {"kernel_size", hyper.kernel_size},   {"dropout", hyper.dropout}};
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
  return finish(std::visit([](const auto& m) { return text_of(m); }, message));
}
std::string encode(const CoordinatorMessage& message) {
  return finish(std::visit([](const auto& m) { return text_of(m); }, message));
}

WorkerMessage decode_worker_message(std::string_view line, const std::string& where) {
  const Json json = parse_object(line, where);
  const std::string type = json["type"];
  const Fields fields(json, type, ErrorKind::round_failed, where);
  if (type == "hello") {
    fields.only({"type", "protocol", "token", "rank", "host", "device"});
    return Hello{fields.small("protocol", 0, 1'000'000), fields.text("token"),
                 fields.small("rank", 0, std::numeric_limits<int>::max()), fields.text("host"),
                 fields.text("device")};
  }
  if (type == "ready" || type == "alive") {
    fields.only({"type"});
    if (type == "ready") return Ready{};
    return Alive{};
  }
  if (type == "fetch") {
    fields.only({"type", "trial"});
    return Fetch{fields.trial()};
  }
  if (type == "epoch") return read_epoch(fields);
  if (type == "weights") return read_weights(fields);
  if (type == "done") return read_done(fields);
  reject_type(type, where);
}

CoordinatorMessage decode_coordinator_message(std::string_view line, const std::string& where) {
  const Json json = parse_object(line, where);
  const std::string type = json["type"];
  const Fields fields(json, type, ErrorKind::round_failed, where);
  if (type == "trial") return read_trial(fields);
  if (type == "weights") return read_weights(fields);
  if (type == "drop") {
    fields.only({"type", "trial"});
    return Drop{fields.trial()};
  }
  if (type == "stop") {
    fields.only({"type"});
    return Stop{};
  }
  if (type == "refuse") {
    fields.only({"type", "reason"});
    return Refuse{fields.text("reason")};
  }
  reject_type(type, where);
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
