#include "cloud/obs_authorizer.h"

#include "cloud/service_error.h"
#include "cloud/signature.h"
#include "core/digest.h"
#include "core/time.h"
#include "http/date.h"

namespace assay::cloud {

void ObsAuthorizer::authorize(http::Request& request) {
  used_ = credentials_.get();
  client_.hide(used_.secret_key);
  client_.hide(used_.security_token);
  if (options_.signing == ObsSigning::aws_v4)
    sign_v4(request);
  else
    sign_obs(request);
}

void ObsAuthorizer::sign_obs(http::Request& request) const {
  request.set_header("Date", http::http_date(wall_now_ns()));
  if (!used_.security_token.empty())
    request.set_header("x-obs-security-token", used_.security_token);
  const Signable parts{request.method, request.path, request.query, request.headers, {}};
  request.set_header("Authorization",
                     "OBS " + used_.access_key + ":" +
                         obs_signature(obs_string_to_sign(parts, bucket_, key_), used_.secret_key));
}

void ObsAuthorizer::sign_v4(http::Request& request) const {
  const auto* text = std::get_if<std::string>(&request.body);
  const std::string hash =
      text != nullptr ? to_hex(digest(Hash::sha256, *text)) : "UNSIGNED-PAYLOAD";
  request.set_header("x-amz-date", compact_utc(wall_now_ns()));
  request.set_header("x-amz-content-sha256", hash);
  if (!used_.security_token.empty())
    request.set_header("x-amz-security-token", used_.security_token);
  Signable parts{request.method, request.path, request.query, request.headers, hash};
  parts.headers.emplace_back("host", request.host());
  request.set_header("Authorization", v4_authorization(parts, used_, options_.region));
}

bool ObsAuthorizer::renew(const http::Response& refusal) {
  const std::string code = read_refusal(refusal).code;
  const bool stale = code == "ExpiredToken" || code == "InvalidToken" ||
                     code == "InvalidSecurity" || code == "TokenRefreshRequired" ||
                     (code == "InvalidAccessKeyId" && !used_.security_token.empty());
  return stale && credentials_.renew(used_);
}

}  // namespace assay::cloud
