#include "automl/tpe.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "stats/normal.h"

namespace assay::automl {

namespace {

bool is_log(const Parameter& p) {
  return p.kind == Parameter::Kind::log_uniform;
}
double inward(const Parameter& p, double x) {
  return is_log(p) ? std::log(x) : x;
}
double outward(const Parameter& p, double x) {
  return is_log(p) ? std::exp(x) : x;
}

// A mixture of normal distributions cut off at the range: one at each observation, as wide as the
// gap to its neighbors, and one as wide as the range in its middle, so that nothing becomes
// impossible.
class Parzen {
 public:
  Parzen(const Parameter& parameter, std::vector<double> observed) : parameter_(parameter) {
    low_ = inward(parameter, parameter.low);
    high_ = inward(parameter, parameter.high);
    const double range = high_ - low_;
    const double middle = low_ + range / 2;
    for (double& x : observed) x = inward(parameter, x);
    observed.push_back(middle);
    std::sort(observed.begin(), observed.end());
    const auto n = static_cast<double>(observed.size());
    const double narrowest = range / std::min(100.0, 1 + n);
    for (std::size_t i = 0; i < observed.size(); ++i) {
      const double left = i > 0 ? observed[i] - observed[i - 1] : observed[i] - low_;
      const double right =
          i + 1 < observed.size() ? observed[i + 1] - observed[i] : high_ - observed[i];
      const double width = std::clamp(std::max(left, right), narrowest, range);
      parts_.push_back({observed[i], observed[i] == middle ? range : width, 0});
    }
    for (Part& part : parts_) {
      part.mass = stats::normal_cdf((high_ - part.center) / part.width) -
                  stats::normal_cdf((low_ - part.center) / part.width);
    }
  }

  double draw(Random& random) const {
    const Part& part = parts_[random.below(parts_.size())];
    for (int attempt = 0; attempt < 100; ++attempt) {
      const double x = part.center + part.width * random.normal();
      if (x >= low_ && x <= high_) return settle(parameter_, outward(parameter_, x));
    }
    return settle(parameter_, outward(parameter_, part.center));
  }

  /// The density at a settled value, up to a factor that is the same for every mixture.
  double log_density(double value) const {
    double sum = 0;
    if (parameter_.step > 0) {
      const double half = parameter_.step / 2;
      const double begin = inward(parameter_, std::max(value - half, parameter_.low));
      const double end = inward(parameter_, std::min(value + half, parameter_.high));
      for (const Part& p : parts_) {
        sum += (stats::normal_cdf((end - p.center) / p.width) -
                stats::normal_cdf((begin - p.center) / p.width)) /
               p.mass;
      }
    } else {
      const double x = inward(parameter_, value);
      for (const Part& p : parts_) {
        const double z = (x - p.center) / p.width;
        sum += std::exp(-0.5 * z * z) / (p.width * p.mass);
      }
    }
    return std::log(std::max(sum / static_cast<double>(parts_.size()), 1e-300));
  }

 private:
  struct Part {
    double center = 0;
    double width = 0;
    double mass = 0;
  };
  const Parameter& parameter_;
  double low_ = 0;
  double high_ = 0;
  std::vector<Part> parts_;
};

// Counts with one added to each, as shares.
std::vector<double> shares(const Parameter& p, const std::vector<double>& observed) {
  std::vector<double> result(p.options.size(), 1);
  for (const double x : observed) result[static_cast<std::size_t>(x)] += 1;
  const double total = static_cast<double>(observed.size() + p.options.size());
  for (double& share : result) share /= total;
  return result;
}

}  // namespace

Tpe::Tpe(Space space, TpeOptions options) : space_(std::move(space)), options_(options) {
  if (options_.startup < 1 || options_.candidates < 1 ||
      !(options_.good_share > 0 && options_.good_share < 1)) {
    throw Error(ErrorKind::config,
                "startup and candidates must be at least 1, and good_share between 0 and 1", "",
                "correct the option");
  }
}

Tpe::Split Tpe::split() const {
  Split result;
  for (std::size_t i = 0; i < trials_.size(); ++i) {
    if (trials_[i].value) result.good.push_back(i);
    // What is under way counts among the rest, so that others go elsewhere.
    if (!trials_[i].value) result.rest.push_back(i);
  }
  std::stable_sort(result.good.begin(), result.good.end(), [&](std::size_t a, std::size_t b) {
    return *trials_[a].value < *trials_[b].value;
  });
  const auto finished = static_cast<double>(result.good.size());
  const auto keep =
      static_cast<std::size_t>(std::clamp(std::ceil(options_.good_share * finished), 1.0, 25.0));
  if (result.good.size() > keep) {
    const auto begin = result.good.begin() + static_cast<std::ptrdiff_t>(keep);
    result.rest.insert(result.rest.end(), begin, result.good.end());
    result.good.resize(keep);
  }
  return result;
}

double Tpe::draw(const Parameter& p, Random& random) const {
  if (p.kind == Parameter::Kind::choice) return static_cast<double>(random.below(p.options.size()));
  const double low = inward(p, p.low);
  const double high = inward(p, p.high);
  return settle(p, outward(p, low + (high - low) * random.uniform()));
}

double Tpe::pick(const Parameter& p, const Split& split, Random& random) const {
  const auto observed = [&](const std::vector<std::size_t>& ids) {
    std::vector<double> values;
    for (const std::size_t id : ids) {
      const auto found = trials_[id].point.find(p.name);
      if (found != trials_[id].point.end()) values.push_back(found->second);
    }
    return values;
  };
  const std::vector<double> good = observed(split.good);
  const std::vector<double> rest = observed(split.rest);
  if (p.kind == Parameter::Kind::choice) {
    // Drawn, not the best ratio of many: that would stay with an option that was lucky early.
    const std::vector<double> share = shares(p, good);
    double at = random.uniform();
    std::size_t option = 0;
    while (option + 1 < share.size() && at >= share[option]) at -= share[option++];
    return static_cast<double>(option);
  }
  double best = 0;
  double best_ratio = -std::numeric_limits<double>::infinity();
  const auto consider = [&](double value, double ratio) {
    if (ratio <= best_ratio) return;
    best_ratio = ratio;
    best = value;
  };
  const Parzen high(p, good);
  const Parzen low(p, rest);
  for (int i = 0; i < options_.candidates; ++i) {
    const double value = high.draw(random);
    consider(value, high.log_density(value) - low.log_density(value));
  }
  return best;
}

Tpe::Proposal Tpe::propose() {
  Random random(options_.seed, trials_.size());
  const auto finished = std::count_if(trials_.begin(), trials_.end(),
                                      [](const Trial& t) { return t.value.has_value(); });
  const bool informed = finished >= options_.startup;
  const Split parts = informed ? split() : Split{};
  Point point;
  for (const Parameter& p : space_.parameters()) {
    if (!space_.exists(p, point)) continue;
    point[p.name] = informed ? pick(p, parts, random) : draw(p, random);
  }
  trials_.push_back({point, std::nullopt, false});
  return {static_cast<std::int64_t>(trials_.size()) - 1, std::move(point)};
}

Tpe::Proposal Tpe::enqueue(Point point) {
  space_.check(point, "");
  trials_.push_back({point, std::nullopt, false});
  return {static_cast<std::int64_t>(trials_.size()) - 1, std::move(point)};
}

Tpe::Trial& Tpe::pending(std::int64_t id) {
  if (id < 0 || id >= static_cast<std::int64_t>(trials_.size())) {
    throw Error(ErrorKind::internal, fmt::format("trial {} was never proposed", id));
  }
  if (trials_[id].value || trials_[id].failed) {
    throw Error(ErrorKind::internal, fmt::format("trial {} already has a result", id));
  }
  return trials_[id];
}

void Tpe::tell(std::int64_t id, double value) {
  Trial& trial = pending(id);
  if (!std::isfinite(value)) {
    throw Error(ErrorKind::round_failed, fmt::format("trial {}: the value is not a number", id), "",
                "report the trial as failed");
  }
  trial.value = value;
}

void Tpe::tell_failed(std::int64_t id) {
  pending(id).failed = true;
}

std::optional<std::int64_t> Tpe::best() const {
  std::optional<std::int64_t> best;
  for (std::size_t i = 0; i < trials_.size(); ++i) {
    if (trials_[i].value && (!best || *trials_[i].value < *trials_[*best].value)) {
      best = static_cast<std::int64_t>(i);
    }
  }
  return best;
}

Json Tpe::save() const {
  Json trials = Json::array();
  for (const Trial& trial : trials_) {
    Json item;
    item["point"] = trial.point;
    if (trial.value) item["value"] = *trial.value;
    if (trial.failed) item["failed"] = true;
    trials.push_back(std::move(item));
  }
  Json json;
  json["trials"] = std::move(trials);
  return json;
}

Tpe Tpe::restore(Space space, TpeOptions options, const Json& json, const std::string& where) {
  Tpe tpe(std::move(space), options);
  const auto reject = [&](const std::string& message) {
    throw Error(ErrorKind::config, message, where, "the state is what Assay has written");
  };
  if (!json.is_object() || !json.contains("trials") || !json["trials"].is_array()) {
    reject("'trials' is missing");
  }
  const Json& trials = json["trials"];
  for (const Json& item : trials) {
    if (!item.is_object() || !item.contains("point") || !item["point"].is_object()) {
      reject("a trial has no 'point'");
    }
    Trial trial;
    const Json& point = item["point"];
    for (const auto& [name, value] : point.items()) {
      if (!value.is_number()) reject(fmt::format("'{}' is not a number", name));
      trial.point[name] = value.get<double>();
    }
    tpe.space_.check(trial.point, where);
    if (item.contains("value")) {
      if (!item["value"].is_number()) reject("'value' is not a number");
      trial.value = item["value"].get<double>();
    }
    trial.failed = item.contains("failed");
    tpe.trials_.push_back(std::move(trial));
  }
  return tpe;
}

}  // namespace assay::automl
