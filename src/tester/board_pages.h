#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "http/url.h"
#include "serve/http_server.h"
#include "tester/board.h"

namespace assay::tester {

/// What a query string asks for; a "+" is a space, as forms write it. Throws Refusal 400 for a
/// value that is not possible; keys that are not known are left alone.
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
