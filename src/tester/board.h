#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/enum_names.h"
#include "core/metric.h"
#include "judge/result.h"
#include "report/present.h"

namespace assay::tester {

// The leaderboard: the tester's own results for every accepted run, one line per case.

/// The cost of one unit of a case's work, to express energy and price.
struct PerResult {
  std::string what;    ///< "sample", "token", "target" (reached), "run"; empty: none
  double seconds = 0;  ///< of wall clock
  std::optional<double> energy_j{};
  judge::Origin energy_origin = judge::Origin::measured;
};

/// A case of an accepted run.
struct BoardEntry {
  std::string suite;
  std::string case_name;  ///< without the number of rounds: judge::case_identity()
  std::string work;       ///< distinguishes other work under the same name: "data cifar10"
  std::string model;
  std::string framework;
  std::string hardware;  ///< its nodes' judge::hardware_kind(), or "unknown"
  int nodes = 1;
  int procs = 1;    ///< per node
  int devices = 0;  ///< used by the case on all nodes; 0: only processors
  judge::Validity verdict = judge::Validity::incomplete;  ///< the case's, or the run's if worse
  bool relaxed = false;                                   ///< judged by relaxed rules
  MetricInfo metric;             ///< the headline; without a name if there is none
  double value = 0;              ///< its median over rounds
  std::optional<double> half{};  ///< the value after "±", in the metric's unit
  report::Spread::Kind half_kind = report::Spread::Kind::rounds;
  int rounds = 0;
  PerResult per{};
};

/// An accepted test's contribution to the board.
struct BoardRun {
  std::string run_id;
  std::string public_key;   ///< the signer's; empty: unsigned
  std::string fingerprint;  ///< of that key
  std::string machine;      ///< for people
  std::vector<BoardEntry> entries;
};

/// Made from the tester's own result, without skipped cases. Pure. Texts are cut to 200 code
/// points.
[[nodiscard]] BoardRun board_run(const judge::RunResult& result);

enum class BoardSort {
  place,
  value,
  energy,
  price,
  hardware,
  devices,
  verdict,
  signer,
  name,
  date
};

constexpr auto enum_names(BoardSort /*sort*/) {
  using enum BoardSort;
  return std::to_array<EnumName<BoardSort>>({{place, "case"},
                                             {value, "value"},
                                             {energy, "energy"},
                                             {price, "price"},
                                             {hardware, "hardware"},
                                             {devices, "devices"},
                                             {verdict, "verdict"},
                                             {signer, "signer"},
                                             {name, "name"},
                                             {date, "date"}});
}

/// Which lines to show, in which order. Empty texts select everything.
struct BoardQuery {
  std::string suite{};
  std::string case_name{};
  std::string work{};
  std::string hardware{};
  std::string verdict{};
  std::string signer{};  ///< a name, a fingerprint, "unknown" or "none"
  std::string text{};    ///< part of any text, ignoring case
  std::string test{};
  BoardSort sort = BoardSort::place;
  bool descending = false;
  std::int64_t page = 1;
  std::int64_t per_page = 25;
};

/// The price per hour of a kind of hardware.
struct HourPrice {
  std::string hardware;
  double device = 0;  ///< per device used by a case
  double node = 0;    ///< per node
};

/// A key known to the tester.
struct KnownSigner {
  std::string public_key;
  std::string name;
};

/// The board's inputs from outside the database, which may change at any time.
struct BoardTerms {
  std::vector<HourPrice> prices;
  std::vector<KnownSigner> signers;
};

struct BoardLine {
  BoardEntry entry;
  std::int64_t place = 0;  ///< among the VALID lines of the same work; 0: none
  std::string test;        ///< id
  std::string name;        ///< given by the sender
  std::string by;          ///< the token's name
  std::string run_id;
  std::string finished;  ///< ISO, UTC
  std::string machine;
  std::string fingerprint;        ///< empty: not signed
  std::string signer;             ///< the tester's name for the key; empty if unknown
  std::optional<double> price{};  ///< per result
  bool pareto = false;            ///< no VALID line of the same work is better in speed and energy
};

struct BoardPage {
  std::vector<BoardLine> lines;
  std::int64_t total = 0;
};

/// The values by which the board can be filtered.
struct BoardChoices {
  struct Case {
    std::string suite;
    std::string name;
    std::int64_t lines = 0;
  };
  std::vector<Case> cases;
  std::vector<std::string> suites;
  std::vector<std::string> hardware;
};

/// Marks those of `points` that no other dominates: no worse in both values, better in one.
struct ParetoPoint {
  double value = 0;
  double energy_j = 0;
};
[[nodiscard]] std::vector<bool> pareto_front(std::span<const ParetoPoint> points, Better better);

}  // namespace assay::tester
