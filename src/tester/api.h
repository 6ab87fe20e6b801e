#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/http_server.h"
#include "serve/rate_limit.h"
#include "tester/board_pages.h"
#include "tester/comparison_page.h"
#include "tester/judgements.h"
#include "tester/prices.h"
#include "tester/records.h"
#include "tester/uploads.h"

namespace assay::tester {

struct ApiLimits {
  std::size_t part_bytes = 8U << 20;
  std::uint64_t quota = std::uint64_t{100} << 30;  ///< for all tests in the data folder
  ManifestLimits manifest;
  double token_rate = 500;                     ///< requests per second and token
  double address_rate = 1000;                  ///< per second and address
  std::chrono::milliseconds patience{20'000};  ///< after this time, /finish answers 202
  std::chrono::hours keep_unfinished{7 * 24};  ///< before an unfinished upload is removed
  std::chrono::hours keep_empty{24};           ///< before an id without a manifest is removed
  std::int64_t open_tests = 1000;              ///< unfinished tests per token
};

/// The leaderboard's content in addition to the tests.
struct BoardOptions {
  std::filesystem::path keys;  ///< folder of the evidence::KeyStore with the known keys
  Prices prices{};
};

/// Calls a task later, as HttpServer::call_after.
using CallAfter = std::function<void(std::chrono::milliseconds, std::function<void()>)>;

/// Routes, permissions and limits. Thread-safe; independent of sockets.
class Api {
 public:
  Api(Records& records, Uploads& uploads, Judgements& judgements, ApiLimits limits,
      BoardOptions board, bool public_read, CallAfter call_after);

  /// For HttpOptions::routes; each request carries its matching route.
  [[nodiscard]] static std::vector<std::string> routes();

  /// Whether the peer asks too often; cheap enough for the I/O thread.
  [[nodiscard]] std::optional<serve::HttpResponse> turned_away(const serve::HttpRequest& request);

  /// Answers exactly once, perhaps later and from another thread. Sets `token_name` before.
  /// `reader` is a person who may read without a token; empty: nobody known.
  void handle(const serve::HttpRequest& request, std::string& token_name,
              const serve::HttpServer::Respond& respond, const std::string& reader = {});

  /// Removes uploads that were not finished in time.
  void expire();

 private:
  struct Call;
  /// Nothing if it answers later itself.
  using Handler = std::optional<serve::HttpResponse> (Api::*)(const Call& call);
  struct Route;
  static const std::vector<Route>& route_table();

  [[nodiscard]] std::string identify(const serve::HttpRequest& request);
  [[nodiscard]] std::optional<serve::HttpResponse> dispatch(const Call& call);
  // One handler per route; the table is in api.cpp.
  [[nodiscard]] std::optional<serve::HttpResponse> health(const Call& call);
  [[nodiscard]] std::optional<serve::HttpResponse> list(const Call& call);
  [[nodiscard]] std::optional<serve::HttpResponse> make_test(const Call& call);
  [[nodiscard]] std::optional<serve::HttpResponse> show_test(const Call& call);
  [[nodiscard]] std::optional<serve::HttpResponse> put_manifest(const Call& call);
  [[nodiscard]] std::optional<serve::HttpResponse> file_state(const Call& call);
  [[nodiscard]] std::optional<serve::HttpResponse> put_part(const Call& call);
  [[nodiscard]] std::optional<serve::HttpResponse> finish(const Call& call);
  [[nodiscard]] std::optional<serve::HttpResponse> result(const Call& call);
  [[nodiscard]] std::optional<serve::HttpResponse> make_challenge(const Call& call);
  [[nodiscard]] std::optional<serve::HttpResponse> show_challenge(const Call& call);
  [[nodiscard]] std::optional<serve::HttpResponse> page_of_tests(const Call& call);
  [[nodiscard]] std::optional<serve::HttpResponse> page_of_test(const Call& call);
  [[nodiscard]] std::optional<serve::HttpResponse> report(const Call& call);
  [[nodiscard]] std::optional<serve::HttpResponse> leaderboard(const Call& call);
  [[nodiscard]] std::optional<serve::HttpResponse> page_of_leaderboard(const Call& call);
  [[nodiscard]] std::optional<serve::HttpResponse> compare_tests(const Call& call);
  [[nodiscard]] std::optional<serve::HttpResponse> page_of_comparison(const Call& call);

  [[nodiscard]] BoardView board_of(const Call& call, bool chart);
  [[nodiscard]] ComparedTests compared(const Call& call);

  struct Part {
    TestRecord test;
    std::int64_t number = 0;
    ManifestFile file;
  };
  [[nodiscard]] Part part_of(const Call& call);
  [[nodiscard]] Json listed(const Call& call);
  [[nodiscard]] serve::HttpResponse file_of(const Call& call, std::string_view name,
                                            const std::string& type);
  [[nodiscard]] TestRecord test_of(const Call& call);
  [[nodiscard]] TestRecord own_test(const Call& call);

  Records& records_;
  Uploads& uploads_;
  Judgements& judgements_;
  ApiLimits limits_;
  BoardOptions board_;
  std::mutex comparing_;
  bool public_read_;
  CallAfter call_after_;
  serve::RateLimiter by_address_;
  serve::RateLimiter by_token_;
  serve::RateLimiter wrong_tokens_;
};

/// The record in the form of /api/v1/tests/{id}.
[[nodiscard]] Json to_json(const TestRecord& test);

/// "20261115-ab3dE9": eight digits, a dash, six letters or digits.
[[nodiscard]] bool is_test_id(std::string_view text);

}  // namespace assay::tester
