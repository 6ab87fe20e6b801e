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

// The leaderboard: what the tester computed itself of every accepted run, a line for each case.

/// What one unit of the work of a case takes, so that energy and price can be told for it.
struct PerResult {
  std::string what;    ///< "sample", "token", "target" (reached), "run"; empty: there is none
  double seconds = 0;  ///< of wall clock
  std::optional<double> energy_j{};
  judge::Origin energy_origin = judge::Origin::measured;
};

/// One case of an accepted run.
struct BoardEntry {
  std::string suite;
  std::string case_name;  ///< without the number of rounds: judge::case_identity()
  std::string work;       ///< what makes it other work under the same name: "data cifar10"
  std::string model;
  std::string framework;
  std::string hardware;  ///< the kind of its nodes: judge::hardware_kind(), or "unknown"
  int nodes = 1;
  int procs = 1;    ///< of a node
  int devices = 0;  ///< that the case used on all nodes; 0: it ran on processors
  judge::Validity verdict = judge::Validity::incomplete;  ///< of the case, or the run's if worse
  bool relaxed = false;          ///< judged by wider rules than the tester's
  MetricInfo metric;             ///< the headline; without a name: there is none
  double value = 0;              ///< its median over rounds
  std::optional<double> half{};  ///< what stands after "±", in the unit of the metric
  report::Spread::Kind half_kind = report::Spread::Kind::rounds;
  int rounds = 0;
  PerResult per{};
};

/// What an accepted test adds to the board.
struct BoardRun {
  std::string run_id;
  std::string public_key;   ///< of who signed; empty: nobody
  std::string fingerprint;  ///< of that key
  std::string machine;      ///< for people
  std::vector<BoardEntry> entries;
};

/// From the tester's own result; a case that was skipped is left out. Pure. Texts are cut to 200
/// code points.
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

/// Which lines, and in which order. Empty texts select everything.
struct BoardQuery {
  std::string suite{};
  std::string case_name{};
  std::string work{};
  std::string hardware{};
  std::string verdict{};
  std::string signer{};  ///< a name, a fingerprint, "unknown" or "none"
  std::string text{};    ///< in any of the texts, whatever the case
  std::string test{};
  BoardSort sort = BoardSort::place;
  bool descending = false;
  std::int64_t page = 1;
  std::int64_t per_page = 25;
};

/// Money for an hour of a kind of hardware.
struct HourPrice {
  std::string hardware;
  double device = 0;  ///< for every device that a case used
  double node = 0;    ///< for every node
};

/// A key that the tester knows.
struct KnownSigner {
  std::string public_key;
  std::string name;
};

/// What the board takes from outside of the database: it may change at any time.
struct BoardTerms {
  std::vector<HourPrice> prices;
  std::vector<KnownSigner> signers;
};

struct BoardLine {
  BoardEntry entry;
  std::int64_t place = 0;  ///< among the VALID lines of the same work; 0: it has none
  std::string test;        ///< id
  std::string name;        ///< as the sender calls it
  std::string by;          ///< name of the token
  std::string run_id;
  std::string finished;  ///< ISO, UTC
  std::string machine;
  std::string fingerprint;        ///< empty: not signed
  std::string signer;             ///< the name that the tester knows the key by; empty: it does not
  std::optional<double> price{};  ///< for one result
  bool pareto = false;            ///< no VALID line of the same work is better in speed and energy
};

struct BoardPage {
  std::vector<BoardLine> lines;
  std::int64_t total = 0;
};

/// What the lines of the board can be filtered by.
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

/// Marks those of `points` that no other one beats: better or equal in both, and better in one.
struct ParetoPoint {
  double value = 0;
  double energy_j = 0;
};
[[nodiscard]] std::vector<bool> pareto_front(std::span<const ParetoPoint> points, Better better);

}  // namespace assay::tester
