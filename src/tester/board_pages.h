#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "http/url.h"
#include "serve/http_server.h"
#include "tester/board.h"

namespace assay::tester {

/// A query string in the form of HTML forms, where "+" is a space.
[[nodiscard]] http::Query form_query(std::string query);

/// Parses a query string, in which "+" is a space. Throws Refusal 400 for an invalid value; ignores
/// unknown keys.
[[nodiscard]] BoardQuery parse_board_query(const std::string& query);

/// The address of the same query with its sorting and page.
[[nodiscard]] std::string board_address(const BoardQuery& query);

/// The content of the leaderboard.
struct BoardView {
  BoardQuery query;
  BoardPage page;
  BoardChoices choices;
  std::vector<KnownSigner> signers{};
  std::string currency{};
  std::vector<BoardLine> group{};  ///< the VALID lines of one kind of work, for the chart
};

/// The answer of GET /api/v1/leaderboard (docs/tester.md).
[[nodiscard]] Json board_json(const BoardView& view);
[[nodiscard]] serve::HttpResponse board_page(const BoardView& view);

}  // namespace assay::tester
