#include "automl/planner.h"

#include <algorithm>

#include <fmt/format.h>

#include "automl/experiment_events.h"
#include "automl/trained_graph.h"
#include "automl/trial_status.h"
#include "core/error.h"
#include "core/json_error.h"

namespace assay::automl {

namespace {

SearchOptions search_options(const ExperimentSettings& settings) {
  SearchOptions options;
  options.seed = settings.seed;
  options.candidates = settings.candidates;
  options.limits = settings.limits;
  return options;
}

// The settings' own hyper-parameters as a point, as near as the space has one.
Point point_of(const Space& space, const Hyper& hyper) {
  const Json values = to_json(hyper);
  Point point;
  for (const Parameter& p : space.parameters()) {
    if (!space.exists(p, point)) continue;
    if (p.kind == Parameter::Kind::choice) {
      const auto at = std::ranges::find(p.options, values[p.name]);
      point[p.name] = at == p.options.end() ? 0 : static_cast<double>(at - p.options.begin());
    } else {
      point[p.name] = settle(p, values[p.name].get<double>());
    }
  }
  return point;
}

}  // namespace

Planner::Planner(const ExperimentSettings& settings)
    : settings_(settings), search_(search_options(settings), {settings.start_graph("automl")}) {
  if (settings.space.is_null()) return;
  space_.emplace(Space::parse(settings.space, "automl: space"));
  TpeOptions options;
  options.seed = settings.seed;
  tpe_.emplace(*space_, options);
}

Planned Planner::plan(Proposal proposal, Point point) const {
  Planned planned{std::move(proposal), std::move(point), settings_.hyper, {}, results_, 0};
  if (space_) planned.hyper = settings_.at(*space_, planned.point);
  planned.per_sample = count_operations(trained_graph(
      planned.proposal.graph, planned.hyper.kernel_size, planned.hyper.dropout, "automl"));
  return planned;
}

Planned Planner::propose() {
  if (!begun_.empty()) {
    learn_until(begun_.front());
    begun_.pop_front();
  }
  Proposal proposal = search_.propose();
  Point point;
  if (tpe_)
    point = tpe_->trials().empty() ? tpe_->enqueue(point_of(*space_, settings_.hyper)).point
                                   : tpe_->propose().point;
  Planned planned = plan(std::move(proposal), std::move(point));
  if (begun_.empty()) learn_until(told());
  return planned;
}

void Planner::tell(std::int64_t trial, double accuracy) {
  take({trial, accuracy});
}

void Planner::tell_failed(std::int64_t trial, const std::string& reason) {
  take({trial, {}, reason});
}

void Planner::take(Result result) {
  later_.push_back(std::move(result));
  if (begun_.empty()) learn_until(told());
}

void Planner::learn_until(std::int64_t known) {
  for (; results_ < known && !later_.empty(); later_.pop_front()) learn(later_.front());
}

void Planner::learn(const Result& result) {
  if (result.accuracy) {
    search_.tell(result.trial, *result.accuracy);
    if (tpe_) tpe_->tell(result.trial, 1 - *result.accuracy);
  } else {
    search_.tell_failed(result.trial, result.reason);
    if (tpe_) tpe_->tell_failed(result.trial);
  }
  ++results_;
}

std::vector<Planned> Planner::replay(const std::vector<Json>& events, const std::string& where) {
  std::vector<Planned> all;
  try {
    for (const Json& event : events) {
      if (journal::event_of(event) != journal::Event::ended) continue;
      auto ended = journal::read<journal::Ended>(event);
      if (!ended.final) continue;
      const bool ok = ended.status == TrialStatus::ok;
      if (!ended.status || (ok && !ended.accuracy))
        throw Error(ErrorKind::config,
                    fmt::format("the end of trial {} lacks what came of it", ended.trial));
      later_.push_back({ended.trial, ok ? ended.accuracy : std::nullopt, std::move(ended.reason)});
    }
    for (const Json& event : events) {
      const auto kind = journal::event_of(event);
      if (kind == journal::Event::proposing)
        begun_.push_back(fields_from_json<journal::Proposing>(event, where).told);
      if (kind != journal::Event::proposed) continue;
      auto proposed = fields_from_json<journal::Proposed>(event, where);
      if (proposed.trial != static_cast<std::int64_t>(all.size()))
        throw Error(ErrorKind::config, fmt::format("trial {} is missing", all.size()));
      if (!begun_.empty()) begun_.pop_front();
      learn_until(proposed.told);
      std::vector<Operation> operations;
      for (const Json& operation : proposed.operations)
        operations.push_back(operation_from_json(operation, where));
      Proposal proposal = search_.adopt(proposed.parent, std::move(operations));
      Point point = std::move(proposed.point);
      if (tpe_) point = tpe_->enqueue(std::move(point)).point;
      all.push_back(plan(std::move(proposal), std::move(point)));
    }
    if (begun_.empty()) learn_until(told());
  } catch (const Json::exception& error) {
    throw Error(ErrorKind::config, "the journal does not fit: " + plain_error(error), where,
                "it was damaged or changed; start a new experiment");
  } catch (const Error& error) {
    throw Error(ErrorKind::config, "the journal does not fit: " + error.message(), where,
                "it was damaged or changed; start a new experiment");
  }
  return all;
}

}  // namespace assay::automl
