#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "tester/records.h"

namespace assay::tester {

namespace {

// A bound value of a query; texts and numbers are in the order of the question marks.
using Bound = std::variant<std::string, double, std::int64_t>;

void bind_all(Statement& statement, const std::vector<Bound>& values) {
  int index = 0;
  for (const Bound& value : values) {
    ++index;
    if (const auto* text = std::get_if<std::string>(&value))
      statement.bind(index, *text);
    else if (const auto* real = std::get_if<double>(&value))
      statement.bind_real(index, *real);
    else
      statement.bind(index, std::get<std::int64_t>(value));
  }
}

// The query's tables of prices and signers, which come from outside the database.
std::string tables_of(const BoardTerms& terms, std::vector<Bound>& values) {
  std::string prices;
  for (const HourPrice& price : terms.prices) {
    prices += prices.empty() ? "VALUES (?, ?, ?)" : ", (?, ?, ?)";
    values.insert(values.end(), {price.hardware, price.device, price.node});
  }
  if (prices.empty()) prices = "SELECT NULL, NULL, NULL WHERE 0";
  std::string signers;
  for (const KnownSigner& signer : terms.signers) {
    signers += signers.empty() ? "VALUES (?, ?)" : ", (?, ?)";
    values.insert(values.end(), {signer.public_key, signer.name});
  }
  if (signers.empty()) signers = "SELECT NULL, NULL WHERE 0";
  // Lines of the same kind of work are ordered by place: by `ranked`, `unit` and `behind`.
  return fmt::format(
      "WITH price(hardware, device, node) AS ({}), signer(public_key, name) AS ({}), "
      "line AS (SELECT e.*, r.run_id, r.fingerprint, r.machine, t.name, t.token, t.seq, "
      "t.finished, coalesce(s.name, '') AS signer, "
      "(p.device * e.devices + p.node * e.nodes) * e.seconds / 3600 AS price, "
      "e.verdict = 'VALID' AND e.metric <> '' AND e.better <> 'neither' AS ranked, "
      "CASE e.better WHEN 'higher' THEN -e.value ELSE e.value END AS behind "
      "FROM entries e JOIN results r ON r.test_id = e.test_id AND r.listed = 1 "
      "JOIN tests t ON t.id = e.test_id "
      "LEFT JOIN price p ON p.hardware = e.hardware "
      "LEFT JOIN signer s ON s.public_key = r.public_key) ",
      prices, signers);
}

std::string filter_of(const BoardQuery& query, std::vector<Bound>& values) {
  std::string where = "WHERE 1";
  const auto equal = [&](const char* column, const std::string& value) {
    if (value.empty()) return;
    where += fmt::format(" AND {} = ?", column);
    values.emplace_back(value);
  };
  equal("suite", query.suite);
  equal("case_name", query.case_name);
  equal("work", query.work);
  equal("hardware", query.hardware);
  equal("verdict", query.verdict);
  equal("test_id", query.test);
  if (query.signer == "none") {
    where += " AND fingerprint = ''";
  } else if (query.signer == "unknown") {
    where += " AND fingerprint <> '' AND signer = ''";
  } else if (!query.signer.empty()) {
    where += " AND (signer = ? OR fingerprint = ?)";
    values.insert(values.end(), {query.signer, query.signer});
  }
  if (!query.text.empty()) {
    where +=
        " AND instr(lower(suite || char(10) || case_name || char(10) || work || char(10) || "
        "model || char(10) || framework || char(10) || hardware || char(10) || machine || char(10) "
        "|| name || char(10) || token || char(10) || run_id || char(10) || test_id || char(10) || "
        "signer || char(10) || fingerprint || char(10) || metric), lower(?)) > 0";
    values.emplace_back(query.text);
  }
  return where;
}

constexpr const char* kByPlace = "ranked DESC, unit, behind, seq DESC";

// Unknown values come last in either direction.
std::string order_of(const BoardQuery& query) {
  const char* way = query.descending ? " DESC" : "";
  const auto by = [&](const char* column) {
    return fmt::format("ORDER BY {0} IS NULL OR {0} = '', {0}{1}, suite, case_name, work, {2}",
                       column, way, kByPlace);
  };
  switch (query.sort) {
    case BoardSort::place:
      return fmt::format("ORDER BY suite{0}, case_name{0}, work{0}, metric, {1}", way, kByPlace);
    case BoardSort::value:
      return by("CASE WHEN metric <> '' THEN value END");
    case BoardSort::energy:
      return by("energy");
    case BoardSort::price:
      return by("price");
    case BoardSort::hardware:
      return by("hardware");
    case BoardSort::devices:
      return by("devices");
    case BoardSort::verdict:
      return by("verdict");
    case BoardSort::signer:
      return fmt::format(
          "ORDER BY signer = '', fingerprint = '', signer{0}, fingerprint{0}, seq "
          "DESC",
          way);
    case BoardSort::name:
      return by("name");
    case BoardSort::date:
      return by("seq");
  }
  return {};
}

constexpr const char* kLineColumns =
    "suite, case_name, work, model, framework, hardware, nodes, procs, devices, verdict, relaxed, "
    "metric, unit, better, value, half, half_kind, rounds, per, seconds, energy, energy_origin, "
    "ranked, test_id, name, token, run_id, finished, machine, fingerprint, signer, price";

BoardLine line_in(const Statement& row) {
  BoardLine line;
  BoardEntry& entry = line.entry;
  entry.suite = row.text(0);
  entry.case_name = row.text(1);
  entry.work = row.text(2);
  entry.model = row.text(3);
  entry.framework = row.text(4);
  entry.hardware = row.text(5);
  entry.nodes = static_cast<int>(row.number(6));
  entry.procs = static_cast<int>(row.number(7));
  entry.devices = static_cast<int>(row.number(8));
  entry.verdict = parse_enum<judge::Validity>(row.text(9)).value_or(judge::Validity::incomplete);
  entry.relaxed = row.number(10) != 0;
  entry.metric.name = row.text(11);
  entry.metric.unit = row.text(12);
  entry.metric.better = parse_enum<Better>(row.text(13)).value_or(Better::neither);
  entry.value = row.real(14);
  if (!row.is_null(15)) entry.half = row.real(15);
  entry.half_kind =
      parse_enum<report::Spread::Kind>(row.text(16)).value_or(report::Spread::Kind::rounds);
  entry.rounds = static_cast<int>(row.number(17));
  entry.per.what = row.text(18);
  entry.per.seconds = row.real(19);
  if (!row.is_null(20)) entry.per.energy_j = row.real(20);
  entry.per.energy_origin =
      parse_enum<judge::Origin>(row.text(21)).value_or(judge::Origin::claimed);
  line.place = row.number(22);  // nonzero if it has one; place_lines sets it
  line.test = row.text(23);
  line.name = row.text(24);
  line.by = row.text(25);
  line.run_id = row.text(26);
  line.finished = row.text(27);
  line.machine = row.text(28);
  line.fingerprint = row.text(29);
  line.signer = row.text(30);
  if (!row.is_null(31) && row.real(31) > 0) line.price = row.real(31);
  return line;
}

}  // namespace

// Lists only one test per run: the newest by whoever sent the run first (the key that signed it,
// else the token).
void Records::list_run(const std::string& run_id) {
  database_
      .prepare(
          "UPDATE results SET listed = (test_id = (SELECT r.test_id FROM results r JOIN tests t ON "
          "t.id = r.test_id WHERE r.run_id = ?1 AND r.owner = (SELECT f.owner FROM results f JOIN "
          "tests g ON g.id = f.test_id WHERE f.run_id = ?1 ORDER BY g.seq LIMIT 1) ORDER BY t.seq "
          "DESC LIMIT 1)) WHERE run_id = ?1")
      .bind(1, run_id)
      .run();
}

void Records::insert_board(const std::string& id, const std::string& token, const BoardRun& run) {
  const std::string run_id = run.run_id.empty() ? id : run.run_id;
  database_
      .prepare(
          "INSERT OR REPLACE INTO results (test_id, run_id, owner, listed, public_key, "
          "fingerprint, machine) VALUES (?1, ?2, ?3, 0, ?4, ?5, ?6)")
      .bind(1, id)
      .bind(2, run_id)
      .bind(3, run.public_key.empty() ? "token " + token : run.public_key)
      .bind(4, run.public_key)
      .bind(5, run.fingerprint)
      .bind(6, run.machine)
      .run();
  database_.prepare("DELETE FROM entries WHERE test_id = ?1").bind(1, id).run();
  Statement insert = database_.prepare(
      "INSERT INTO entries (test_id, n, suite, case_name, work, model, framework, hardware, nodes, "
      "procs, devices, verdict, relaxed, metric, unit, better, value, half, half_kind, rounds, "
      "per, seconds, energy, energy_origin) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, "
      "?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24)");
  std::int64_t n = 0;
  for (const BoardEntry& entry : run.entries) {
    insert.reset();
    insert.bind(1, id)
        .bind(2, n++)
        .bind(3, entry.suite)
        .bind(4, entry.case_name)
        .bind(5, entry.work)
        .bind(6, entry.model)
        .bind(7, entry.framework)
        .bind(8, entry.hardware)
        .bind(9, std::int64_t{entry.nodes})
        .bind(10, std::int64_t{entry.procs})
        .bind(11, std::int64_t{entry.devices})
        .bind(12, to_text(entry.verdict))
        .bind(13, std::int64_t{entry.relaxed ? 1 : 0})
        .bind(14, entry.metric.name)
        .bind(15, entry.metric.unit)
        .bind(16, to_text(entry.metric.better))
        .bind_real(17, entry.value)
        .bind(19, to_text(entry.half_kind))
        .bind(20, std::int64_t{entry.rounds})
        .bind(21, entry.per.what)
        .bind_real(22, entry.per.seconds)
        .bind(24, to_text(entry.per.energy_origin));
    if (entry.half) insert.bind_real(18, *entry.half);
    if (entry.per.energy_j) insert.bind_real(23, *entry.per.energy_j);
    insert.run();
  }
  list_run(run_id);
}

void Records::set_board(const std::string& id, const BoardRun& run) {
  const std::scoped_lock lock(lock_);
  Transaction transaction(database_);
  Statement known =
      database_.prepare("SELECT token FROM tests WHERE id = ?1 AND status = 'accepted'");
  if (!known.bind(1, id).step()) return;
  const std::string token = known.text(0);
  known.reset();
  insert_board(id, token, run);
  transaction.commit();
}

std::vector<std::string> Records::accepted_without_board() {
  const std::scoped_lock lock(lock_);
  std::vector<std::string> out;
  Statement rows = database_.prepare(
      "SELECT id FROM tests WHERE status = 'accepted' AND NOT EXISTS (SELECT 1 FROM results WHERE "
      "test_id = id) ORDER BY seq");
  while (rows.step()) out.push_back(rows.text(0));
  return out;
}

BoardPage Records::board(const BoardQuery& query, const BoardTerms& terms) {
  const std::scoped_lock lock(lock_);
  BoardPage out;
  std::vector<Bound> values;
  const std::string tables = tables_of(terms, values);
  const std::string filter = filter_of(query, values);
  values.emplace_back(query.per_page);
  values.emplace_back((query.page - 1) * query.per_page);
  Statement rows = database_.prepare(fmt::format("{}SELECT {} FROM line {} {} LIMIT ? OFFSET ?",
                                                 tables, kLineColumns, filter, order_of(query)));
  bind_all(rows, values);
  while (rows.step()) out.lines.push_back(line_in(rows));
  out.total = count_lines(query, terms);
  place_lines(out.lines);
  return out;
}

std::int64_t Records::count_lines(const BoardQuery& query, const BoardTerms& terms) {
  // Prices do not affect the selection, signers only if named; without them it is much faster.
  const bool by_signer = !query.signer.empty() || !query.text.empty();
  std::vector<Bound> values;
  const std::string tables =
      tables_of({{}, by_signer ? terms.signers : std::vector<KnownSigner>()}, values);
  const std::string filter = filter_of(query, values);
  Statement count =
      database_.prepare(fmt::format("{}SELECT count(*) FROM line {}", tables, filter));
  bind_all(count, values);
  return count.step() ? count.number(0) : 0;
}

namespace {

/// The VALID lines of one kind of work, regardless of filters.
class WorkGroup {
 public:
  void add(std::string test, std::string unit, Better better, double value,
           std::optional<double> energy) {
    ranked_[std::move(unit)].push_back(behind(better, value));
    if (!energy) return;
    tests_.push_back(std::move(test));
    points_.push_back({value, *energy});
  }

  void finish(Better better) {
    for (auto& [unit, values] : ranked_) std::ranges::sort(values);
    front_ = pareto_front(points_, better);
  }

  /// One more than the number of better ones.
  [[nodiscard]] std::int64_t place_of(const BoardEntry& entry) const {
    const auto unit = ranked_.find(entry.metric.unit);
    if (unit == ranked_.end()) return 0;
    const auto first =
        std::ranges::lower_bound(unit->second, behind(entry.metric.better, entry.value));
    return 1 + (first - unit->second.begin());
  }

  [[nodiscard]] bool on_front(const BoardLine& line) const {
    for (std::size_t i = 0; i < tests_.size(); ++i)
      if (front_[i] && tests_[i] == line.test && points_[i].value == line.entry.value) return true;
    return false;
  }

 private:
  static double behind(Better better, double value) {
    return better == Better::higher ? -value : value;
  }

  std::map<std::string, std::vector<double>> ranked_;  // by unit
  std::vector<std::string> tests_;                     // in the order of their points
  std::vector<ParetoPoint> points_;
  std::vector<bool> front_;
};

}  // namespace

// Ranks each kind of work on the page as a whole.
void Records::place_lines(std::vector<BoardLine>& lines) {
  using Key = std::array<std::string, 4>;
  std::map<Key, std::vector<BoardLine*>> groups;
  for (BoardLine& line : lines)
    if (line.place > 0)
      groups[{line.entry.suite, line.entry.case_name, line.entry.work, line.entry.metric.name}]
          .push_back(&line);
  for (const auto& [key, members] : groups) {
    Statement rows = database_.prepare(
        "SELECT e.test_id, e.unit, e.better, e.value, e.energy FROM entries e JOIN results r ON "
        "r.test_id = e.test_id AND r.listed = 1 WHERE e.suite = ?1 AND e.case_name = ?2 AND "
        "e.work = ?3 AND e.metric = ?4 AND e.verdict = 'VALID' AND e.better <> 'neither'");
    for (int i = 0; i < 4; ++i) rows.bind(i + 1, key[static_cast<std::size_t>(i)]);
    WorkGroup group;
    while (rows.step())
      group.add(rows.text(0), rows.text(1),
                parse_enum<Better>(rows.text(2)).value_or(Better::neither), rows.real(3),
                rows.is_null(4) ? std::nullopt : std::optional(rows.real(4)));
    group.finish(members.front()->entry.metric.better);
    for (BoardLine* line : members) {
      line->place = group.place_of(line->entry);
      line->pareto = line->entry.per.energy_j && group.on_front(*line);
    }
  }
}

BoardChoices Records::board_choices() {
  constexpr std::size_t kMost = 500;
  const std::scoped_lock lock(lock_);
  BoardChoices out;
  // Counts all of them in one pass.
  Statement rows = database_.prepare(
      "SELECT suite, case_name, hardware, count(*) FROM entries e JOIN results r ON r.test_id = "
      "e.test_id AND r.listed = 1 GROUP BY suite, case_name, hardware ORDER BY 1, 2, 3");
  std::set<std::string> hardware;
  while (rows.step()) {
    hardware.insert(rows.text(2));
    const std::string suite = rows.text(0);
    if (out.suites.size() < kMost && (out.suites.empty() || out.suites.back() != suite))
      out.suites.push_back(suite);
    const std::string name = rows.text(1);
    const bool same =
        !out.cases.empty() && out.cases.back().suite == suite && out.cases.back().name == name;
    if (!same && out.cases.size() == kMost) continue;
    if (!same) out.cases.push_back({suite, name, 0});
    out.cases.back().lines += rows.number(3);
  }
  for (const std::string& one : hardware)
    if (out.hardware.size() < kMost) out.hardware.push_back(one);
  return out;
}

}  // namespace assay::tester
