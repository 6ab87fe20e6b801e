#include "automl/gaussian_process.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "automl/distance.h"
#include "core/error.h"
#include "stats/descriptive.h"

namespace assay::automl {

namespace {

// Fitted values lie on these grids: the likelihood is flat between neighbors.
constexpr std::array length_factors{0.1, 0.2, 0.35, 0.6, 1.0, 1.8, 3.0, 6.0, 12.0};
constexpr std::array noises{1e-4, 1e-3, 1e-2, 5e-2, 0.2};

// Matérn 5/2: positive definite in every dimension, and smooth enough to see a trend between
// points.
double matern(double r) {
  const double x = std::sqrt(5.0) * r;
  return (1 + x + x * x / 3) * std::exp(-x);
}

// Four sums side by side: the compiler may not reorder one.
double sum_of_squares(const double* a, const double* b, std::size_t n) {
  std::array<double, 4> sums{};
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (std::size_t k = 0; k < 4; ++k) sums[k] += (a[i + k] - b[i + k]) * (a[i + k] - b[i + k]);
  }
  for (; i < n; ++i) sums[0] += (a[i] - b[i]) * (a[i] - b[i]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

double root_mean_square(const double* a, const double* b, std::size_t n) {
  return std::sqrt(sum_of_squares(a, b, n) / static_cast<double>(n));
}

Error not_definite(std::size_t points) {
  return {ErrorKind::internal,
          fmt::format("the covariance of {} architectures is not positive definite", points)};
}

}  // namespace

std::size_t GaussianProcess::add(const Descriptor& descriptor) {
  const auto [at, is_new] = by_hash_.try_emplace(descriptor.hash, points_.size());
  if (is_new) {
    points_.push_back({descriptor, 0, 0, Status::pending});
    values_changed_ = true;
  }
  return at->second;
}

std::optional<std::size_t> GaussianProcess::find(const Descriptor& descriptor) const {
  const auto found = by_hash_.find(descriptor.hash);
  if (found == by_hash_.end()) return std::nullopt;
  return found->second;
}

void GaussianProcess::measure(std::size_t point, double value) {
  if (!std::isfinite(value)) {
    throw Error(ErrorKind::round_failed, "a trial's value is not a finite number", "",
                "report the trial as failed");
  }
  Point& p = points_[point];
  measured_ += p.status == Status::measured ? 0 : 1;
  p.sum += value;
  ++p.count;
  p.status = Status::measured;
  values_changed_ = true;
}

void GaussianProcess::fail(std::size_t point) {
  Point& p = points_[point];
  if (p.status == Status::measured) return;
  p.status = Status::failed;
  values_changed_ = true;
}

double GaussianProcess::value(std::size_t point) const {
  const Point& p = points_[point];
  if (p.status == Status::measured) return p.sum / p.count;
  return p.status == Status::failed ? failed_value_ : pending_value_;
}

double GaussianProcess::best() const {
  double best = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (points_[i].status == Status::measured) best = std::max(best, value(i));
  }
  return best;
}

void GaussianProcess::embed(const Descriptor& descriptor, std::span<double> features) const {
  for (std::size_t l = 0; l < landmark_points_.size(); ++l) {
    features[l] = edit_distance(descriptor, points_[landmark_points_[l]].descriptor);
  }
}

double GaussianProcess::covariance(const double* a, const double* b) const noexcept {
  return matern(root_mean_square(a, b, landmark_points_.size()) / length_);
}

void GaussianProcess::choose_landmarks() {
  // Farthest first: every point of the history is near to one of them.
  const std::size_t count = std::min(kLandmarks, points_.size());
  std::vector<double> nearest(points_.size(), std::numeric_limits<double>::infinity());
  landmark_points_.assign(1, 0);
  while (landmark_points_.size() < count) {
    const Descriptor& last = points_[landmark_points_.back()].descriptor;
    std::size_t farthest = 0;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const Descriptor& d = points_[i].descriptor;
      if (nearest[i] > distance_bound(d, last)) {
        nearest[i] = std::min(nearest[i], edit_distance(d, last));
      }
      if (nearest[i] > nearest[farthest]) farthest = i;
    }
    landmark_points_.push_back(farthest);
  }
}

void GaussianProcess::append_rows() {
  const std::size_t dimensions = landmark_points_.size();
  std::vector<double> row;
  for (std::size_t i = features_.size() / dimensions; i < points_.size(); ++i) {
    features_.resize((i + 1) * dimensions);
    double* own = features_.data() + i * dimensions;
    embed(points_[i].descriptor, {own, dimensions});
    if (i >= exact_) continue;
    row.resize(i + 1);
    for (std::size_t j = 0; j < i; ++j) row[j] = covariance(own, &features_[j * dimensions]);
    row[i] = 1 + noise_;
    if (!factor_.append(row)) throw not_definite(i + 1);
  }
}

void GaussianProcess::rebuild() {
  factor_.clear();
  features_.clear();
  append_rows();
  values_changed_ = true;
}

void GaussianProcess::fit_hyperparameters() {
  std::vector<std::size_t> sample;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (points_[i].status == Status::measured) sample.push_back(i);
  }
  if (sample.size() > kFitSample) {
    std::vector<std::size_t> thinned;
    for (std::size_t k = 0; k < kFitSample; ++k) {
      thinned.push_back(sample[k * sample.size() / kFitSample]);
    }
    sample = std::move(thinned);
  }
  const std::size_t n = sample.size();
  const std::size_t dimensions = landmark_points_.size();
  std::vector<double> z(n * dimensions);
  std::vector<double> y(n);
  for (std::size_t i = 0; i < n; ++i) {
    embed(points_[sample[i]].descriptor, std::span(z).subspan(i * dimensions, dimensions));
    y[i] = value(sample[i]);
  }
  std::vector<double> distances;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      distances.push_back(root_mean_square(&z[i * dimensions], &z[j * dimensions], dimensions));
    }
  }
  const double typical = std::max(stats::median(distances).value_or(1), 1e-6);
  length_ = typical;
  noise_ = 1e-2;
  if (n < 4) return;
  const double mean = *stats::mean(y);
  for (double& v : y) v -= mean;
  double best = -std::numeric_limits<double>::infinity();
  Cholesky factor;
  std::vector<double> row;
  for (const double factor_of_length : length_factors) {
    for (const double noise : noises) {
      factor.clear();
      std::size_t at = 0;
      for (std::size_t i = 0; i < n; ++i) {
        row.resize(i + 1);
        for (std::size_t j = 0; j < i; ++j) {
          row[j] = matern(distances[at++] / (typical * factor_of_length));
        }
        row[i] = 1 + noise;
        if (!factor.append(row)) break;
      }
      if (factor.size() < n) continue;
      std::vector<double> solved = y;
      factor.solve(solved);
      double fit = 0;
      for (std::size_t i = 0; i < n; ++i) fit += y[i] * solved[i];
      // The signal's variance that fits best is put in, so that two parameters remain.
      const double variance = std::max(fit / static_cast<double>(n), 1e-300);
      const double likelihood =
          -0.5 * (static_cast<double>(n) * std::log(variance) + factor.log_determinant());
      if (likelihood > best) {
        best = likelihood;
        length_ = typical * factor_of_length;
        noise_ = noise;
      }
    }
  }
}

void GaussianProcess::refit() {
  choose_landmarks();
  fit_hyperparameters();
  rebuild();
  next_refit_ = points_.size() + std::max<std::size_t>(points_.size() / 2, 2);
}

void GaussianProcess::update_values() {
  std::vector<double> known;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (points_[i].status == Status::measured) known.push_back(value(i));
  }
  mean_ = *stats::mean(known);
  pending_value_ = *stats::median(known);
  failed_value_ = *std::min_element(known.begin(), known.end());
  weights_.resize(factor_.size());
  for (std::size_t i = 0; i < weights_.size(); ++i) weights_[i] = value(i) - mean_;
  const std::vector<double> y = weights_;
  factor_.solve(weights_);
  double fit = 0;
  for (std::size_t i = 0; i < y.size(); ++i) fit += y[i] * weights_[i];
  variance_ = std::max(fit / static_cast<double>(y.size()), 1e-12);
  values_changed_ = false;
}

void GaussianProcess::refresh() {
  const bool due = points_.size() >= next_refit_ && points_.size() <= kLastRefit;
  if (due || landmark_points_.empty()) refit();
  append_rows();
  if (values_changed_) update_values();
}

void GaussianProcess::predict_from_all(std::span<const Descriptor* const> descriptors,
                                       std::span<Prediction> result) const {
  constexpr std::size_t batch = Cholesky::kBatch;
  const std::size_t n = points_.size();
  const std::size_t dimensions = landmark_points_.size();
  std::vector<double> features(dimensions);
  std::vector<double> columns(n * batch);
  for (std::size_t begin = 0; begin < descriptors.size(); begin += batch) {
    const std::size_t count = std::min(batch, descriptors.size() - begin);
    std::fill(columns.begin(), columns.end(), 0.0);
    for (std::size_t b = 0; b < count; ++b) {
      embed(*descriptors[begin + b], features);
      double sum = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const double k = covariance(features.data(), &features_[i * dimensions]);
        columns[i * batch + b] = k;
        sum += k * weights_[i];
      }
      result[begin + b].mean = mean_ + sum;
    }
    factor_.solve_lower(columns);
    for (std::size_t b = 0; b < count; ++b) {
      double explained = 0;
      for (std::size_t i = 0; i < n; ++i) {
        explained += columns[i * batch + b] * columns[i * batch + b];
      }
      result[begin + b].deviation = std::sqrt(variance_ * std::max(1 - explained, 0.0));
    }
  }
}

struct GaussianProcess::Neighborhood {
  std::vector<double> features, row, covariances, solved;
  std::vector<std::pair<double, std::size_t>> near;  // squared distance, point
  Cholesky factor;
};

Prediction GaussianProcess::predict_from_nearest(const Descriptor& descriptor,
                                                 Neighborhood& memory) const {
  const std::size_t dimensions = landmark_points_.size();
  memory.features.resize(dimensions);
  embed(descriptor, memory.features);
  auto& near = memory.near;
  near.resize(points_.size());
  for (std::size_t i = 0; i < near.size(); ++i) {
    near[i] = {sum_of_squares(memory.features.data(), &features_[i * dimensions], dimensions), i};
  }
  const std::size_t count = std::min(kNeighbors, near.size());
  // Sorted, so that the result does not depend on how they were selected.
  std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(count), near.end());
  const auto at = [&](std::size_t i) { return &features_[near[i].second * dimensions]; };
  memory.factor.clear();
  memory.covariances.resize(count);
  memory.solved.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    memory.row.resize(i + 1);
    for (std::size_t j = 0; j < i; ++j) memory.row[j] = covariance(at(i), at(j));
    memory.row[i] = 1 + noise_;
    if (!memory.factor.append(memory.row)) throw not_definite(count);
    memory.solved[i] = memory.covariances[i] = covariance(memory.features.data(), at(i));
  }
  memory.factor.solve(memory.solved);
  double mean = mean_;
  double explained = 0;
  for (std::size_t i = 0; i < count; ++i) {
    mean += memory.solved[i] * (value(near[i].second) - mean_);
    explained += memory.solved[i] * memory.covariances[i];
  }
  return {mean, std::sqrt(variance_ * std::max(1 - explained, 0.0))};
}

std::vector<Prediction> GaussianProcess::predict(std::span<const Descriptor* const> descriptors) {
  std::vector<Prediction> result(descriptors.size(), Prediction{0, 1});
  if (measured_ == 0) return result;
  refresh();
  if (points_.size() <= exact_) {
    predict_from_all(descriptors, result);
    return result;
  }
  Neighborhood memory;
  for (std::size_t i = 0; i < descriptors.size(); ++i) {
    result[i] = predict_from_nearest(*descriptors[i], memory);
  }
  return result;
}

Json GaussianProcess::save() const {
  Json json;
  json["landmarks"] = landmark_points_;
  json["length"] = length_;
  json["noise"] = noise_;
  json["next_refit"] = next_refit_;
  return json;
}

void GaussianProcess::restore(const Json& json, const std::string& where) {
  const auto reject = [&](const char* what) {
    throw Error(ErrorKind::config, fmt::format("'{}' is missing or wrong", what), where,
                "the state of a search is what Assay has written");
  };
  const auto number = [&](const char* key) {
    if (!json.is_object() || !json.contains(key) || !json[key].is_number() || !(json[key] > 0)) {
      reject(key);
    }
    return json[key];
  };
  const double length = number("length").get<double>();
  const double noise = number("noise").get<double>();
  const auto next = number("next_refit").get<std::size_t>();
  if (!json.contains("landmarks") || !json["landmarks"].is_array()) reject("landmarks");
  std::vector<std::size_t> chosen;
  const Json& list = json["landmarks"];
  for (const Json& item : list) {
    if (!item.is_number_unsigned() || item.get<std::size_t>() >= points_.size()) {
      reject("landmarks");
    }
    chosen.push_back(item.get<std::size_t>());
  }
  landmark_points_ = std::move(chosen);
  length_ = length;
  noise_ = noise;
  next_refit_ = next;
  factor_.clear();
  features_.clear();
  values_changed_ = true;
}

}  // namespace assay::automl
