#pragma once

#include <cstdlib>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include "core/process.h"
#include "http/client.h"
#include "http/url.h"
#include "needs.h"
#include "oidc/oidc_settings.h"

namespace assay::testing {

/// tests/fakes/oidc_issuer.py, while this lives.
class OidcIssuer {
 public:
  /// Python with what it needs; empty: there is none.
  static std::string python() { return needs::python_with("jwt, cryptography"); }

  OidcIssuer() {
    SpawnOptions options;
    options.argv = {python(), ASSAY_SOURCE_DIR "/tests/fakes/oidc_issuer.py"};
    options.in = Stream::pipe();
    options.out = Stream::pipe();
    options.err = Stream::inherit();
    child_ = spawn(options);
    std::string line;
    for (char byte = 0; ::read(child_.out.get(), &byte, 1) == 1 && byte != '\n';) line += byte;
    url_ = "http://127.0.0.1:" + line;
  }

  [[nodiscard]] oidc::OidcSettings settings() const {
    oidc::OidcSettings out;
    out.issuer = url_;
    out.client_id = "assay";
    out.client_secret = "s3cret/with+signs";
    out.url = "http://localhost:8480";
    out.title = "Example";
    return out;
  }

  /// What a browser does that is sent there by `location` and signs in as `who`: the parameters of
  /// the address to which it is sent back. `more`: "wrong=nonce", "sign=EC".
  [[nodiscard]] static http::Query sign_in(const std::string& location, const std::string& who,
                                           const std::string& more = {}) {
    const http::Url to = http::parse_url(
        location + "&who=" + who + (more.empty() ? "" : "&" + more), "the location");
    http::Client browser;
    http::Request request;
    request.origin = to.origin;
    request.path = to.path;
    request.query = to.query;
    const std::string back = browser.send(request).header("location");
    return http::parse_query(
        std::string_view(back).substr(std::min(back.size(), back.find('?') + 1)));
  }

  [[nodiscard]] static std::string value_of(const http::Query& query, std::string_view name) {
    for (const auto& [key, value] : query)
      if (key == name) return value;
    return {};
  }

 private:
  Child child_;
  std::string url_;
};

}  // namespace assay::testing
