#include <span>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/run_layout.h"
#include "evidence/key_store.h"
#include "report/read_result.h"
#include "tester/api_call.h"
#include "tester/board_pages.h"

namespace assay::tester {

namespace {

// Two results are parsed at a time; a larger one would hold up other requests for seconds.
constexpr std::uintmax_t kMaxCompared = 64U << 20;
constexpr std::size_t kMaxSigners = 5000;

std::string query_value(const http::Query& query, std::string_view name) {
  for (const auto& [key, value] : query)
    if (key == name) return value;
  return {};
}

}  // namespace

BoardView Api::board_of(const Call& call, bool chart) {
  BoardView view;
  view.query = parse_board_query(call.request.query);
  view.choices = records_.board_choices();
  view.currency = board_.prices.currency;
  for (const auto& [name, key] : evidence::KeyStore(board_.keys).trusted())
    if (view.signers.size() < kMaxSigners) view.signers.push_back({key, name});
  const BoardTerms terms{board_.prices.of(view.choices.hardware), view.signers};
  view.page = records_.board(view.query, terms);
  // The chart shows one kind of work: that of the first line with a place in it.
  for (const BoardLine& line : view.page.lines) {
    if (!chart || line.place == 0 || !line.entry.per.energy_j) continue;
    BoardQuery group;
    group.suite = line.entry.suite;
    group.case_name = line.entry.case_name;
    group.work = line.entry.work;
    group.hardware = view.query.hardware;
    group.signer = view.query.signer;
    group.verdict = "VALID";
    group.per_page = 500;
    view.group = records_.board(group, terms).lines;
    std::erase_if(view.group, [&](const BoardLine& other) {
      return !other.entry.per.energy_j || other.entry.metric.name != line.entry.metric.name ||
             other.entry.work != line.entry.work;
    });
    break;
  }
  return view;
}

std::optional<serve::HttpResponse> Api::leaderboard(const Call& call) {
  return json_response(board_json(board_of(call, false)));
}

std::optional<serve::HttpResponse> Api::page_of_leaderboard(const Call& call) {
  return board_page(board_of(call, true));
}

ComparedTests Api::compared(const Call& call) {
  const auto side = [&](const char* name) {
    const std::string id = query_value(call.query, name);
    if (id.empty())
      throw serve::Refusal(400, "bad_parameter", fmt::format("'{}' is missing", name),
                           "mark one run as A and one as B on the leaderboard");
    std::optional<TestRecord> test = is_test_id(id) ? records_.test(id) : std::nullopt;
    if (!test)
      throw serve::Refusal(404, "no_such_test", fmt::format("'{}': there is no such test", name));
    if (test->status != TestStatus::accepted)
      throw serve::Refusal(409, "not_accepted",
                           fmt::format("test {} is not accepted: its status is {}", test->id,
                                       to_text(test->status)));
    std::error_code ec;
    if (std::filesystem::file_size(uploads_.folder(id) / layout::kResult, ec) > kMaxCompared)
      throw serve::Refusal(413, "too_large", fmt::format("the result of test {} is too large", id),
                           "compare them with 'assay compare'");
    return *test;
  };
  ComparedTests out{.base = side("base"), .candidate = side("new")};
  // Keeps only one pair of large results in memory at a time.
  const std::scoped_lock lock(comparing_);
  const auto read = [&](const TestRecord& test) {
    judge::RunResult result = report::read_result(uploads_.folder(test.id) / layout::kResult);
    compare::Side one{.name = result.run_id};
    one.runs.push_back(std::move(result));
    return one;
  };
  out.base_side = read(out.base);
  out.new_side = read(out.candidate);
  out.changes = compare::compare_sides(out.base_side, std::span(&out.new_side, 1), {});
  return out;
}

std::optional<serve::HttpResponse> Api::compare_tests(const Call& call) {
  return json_response(comparison_json(compared(call)));
}

std::optional<serve::HttpResponse> Api::page_of_comparison(const Call& call) {
  return comparison_page(compared(call));
}

}  // namespace assay::tester
