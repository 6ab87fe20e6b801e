#pragma once

#include <string>
#include <vector>

#include "rest/call.h"

namespace assay::rest {

/// The platform over HTTP: finds the route, checks who asks and what they may, has it answered.
/// Thread-safe; knows nothing of sockets.
class Rest {
 public:
  explicit Rest(Context& context) : context_(context) {}

  /// For HttpOptions::routes.
  [[nodiscard]] static std::vector<std::string> patterns();
  /// Whether a request belongs here; of the API, too, what nobody knows.
  [[nodiscard]] static bool takes(const serve::HttpRequest& request);

  /// Who is signed in by a session's cookie; empty: nobody.
  [[nodiscard]] std::string signed_in(const serve::HttpRequest& request);

  /// Whether it comes with a person's token that is good.
  [[nodiscard]] bool knows_token(const serve::HttpRequest& request);

  /// Answers once. `who` is set before that: for the log of requests.
  void handle(const serve::HttpRequest& request, std::string& who,
              const serve::HttpServer::Respond& respond);

 private:
  [[nodiscard]] serve::HttpResponse answer(Call& call);
  void check(Call& call);
  void record(const Call& call, int status);

  Context& context_;
};

}  // namespace assay::rest
