#include "cloud/service_error.h"

#include <array>

#include <fmt/format.h>

#include "cloud/service_xml.h"
#include "core/json.h"
#include "core/text.h"
#include "core/units.h"

namespace assay::cloud {

namespace {

std::string json_text(const Json& json, const char* key) {
  const auto at = json.find(key);
  if (at == json.end()) return {};
  if (at->is_string()) return at->get<std::string>();
  return at->is_number() ? at->dump() : std::string();
}

std::string first_of(const Json& json, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (std::string text = json_text(json, key); !text.empty()) return text;
  return {};
}

constexpr std::string_view kCheckKey =
    "check the access key and its secret: both must belong together and be enabled";

/// Advice by prefix of the code; more specific ones come first.
constexpr std::array<std::pair<std::string_view, std::string_view>, 29> kAdvice = {{
    {"InvalidAccessKeyId", "this access key is not known there: check it, and the region"},
    {"SignatureDoesNotMatch", kCheckKey},
    {"RequestTimeTooSkewed", "set this machine's clock (NTP): the service allows 15 minutes"},
    {"ExpiredToken", "write new temporary keys into the file of credentials; it is read again"},
    {"InvalidSecurity", "the security token does not belong to the access key, or has expired"},
    {"AccessDenied", "ask for permission on the bucket, or check that the key is the right one"},
    {"NoSuchBucket", "check the bucket's name and region, or make the bucket"},
    {"NoSuchKey", "check the object's name; names are case-sensitive"},
    {"NoSuchUpload", "the upload was ended meanwhile: start it again"},
    {"VirtualHostDomainRequired",
     "this endpoint wants the bucket in the host's name: leave out path_style, and give a name "
     "instead of an address"},
    {"PreconditionFailed", "the object was changed meanwhile: try again"},
    {"BadDigest", "the data was changed on its way: try again"},
    {"SlowDown", "use fewer transfers at once: transfer.parallel, or --parallel"},
    {"InvalidBucketName", "3 to 63 lower-case letters, digits, '-' and '.'"},
    {"APIGW.0301", kCheckKey},
    {"APIGW.0101", "check the endpoint and the region: this interface is not there"},
    {"ModelArts.0103", "choose another job_name"},
    {"ModelArts.0112", "the token is not valid: check user, password, domain and project"},
    {"ModelArts.2751", "choose another job name"},
    {"ModelArts.2757", "check the code folder: /bucket/folder/, and that code was uploaded"},
    {"ModelArts.2758", "the boot file must lie in the code folder"},
    {"ModelArts.2763", "'assay cloud flavors SUITE' lists those that this project has"},
    {"ModelArts.2775", "check the job's id"},
    {"ModelArts.2780", "'assay cloud engines SUITE' lists those that this region has"},
    {"ModelArts.2784", "the token is not valid: check user, password, domain and project"},
    {"ModelArts.2785", "ask for permission to use ModelArts, and authorize it to use OBS"},
    {"ModelArts.2786", "the project id does not belong to this account or region"},
    {"ModelArts.2791", "an OBS folder is written /bucket/folder/ with the last slash"},
    {"ModelArts.2796", "only a job that is created, pending or running can be stopped"},
}};

std::string advice_for(const Refusal& refusal, int status) {
  for (const auto& [code, advice] : kAdvice)
    if (refusal.code == code) return std::string(advice);
  if (status >= 300 && status < 400)
    return "redirects are not followed: write the address and region that it names";
  if (!refusal.understood)
    return "the endpoint does not answer like the service: check it, and the proxy";
  if (status == 401) return "check the credentials";
  if (http::turned_away(status) || status == 503) return "the service is busy: try again later";
  if (status >= 500) return "the service failed: try again later";
  return {};
}

/// "; this machine's clock is 20 min 00 s behind the server's", if that may be the cause.
std::string clock_words(const http::Response& response) {
  constexpr Nanoseconds worth = std::chrono::minutes(5);
  if (!response.clock_offset || (response.status != 401 && response.status != 403)) return {};
  const Nanoseconds offset = *response.clock_offset;
  if (offset < worth && offset > -worth) return {};
  return fmt::format("; this machine's clock is {} {} the server's",
                     format_duration(offset < Nanoseconds(0) ? -offset : offset),
                     offset > Nanoseconds(0) ? "behind" : "ahead of");
}

}  // namespace

Refusal read_refusal(const http::Response& response) {
  Refusal refusal;
  refusal.request_id = response.header("x-obs-request-id");
  if (refusal.request_id.empty()) refusal.request_id = response.header("x-request-id");
  if (response.status >= 300 && response.status < 400)
    refusal.elsewhere = response.header("location");
  const std::string_view body = trim(response.body);
  if (body.empty()) {  // HEAD and some 4xx
    refusal.understood = true;
    refusal.code = response.header("x-obs-error-code");
    refusal.message = response.header("x-obs-error-message");
  } else if (body.front() == '<') {
    pugi::xml_document document;
    if (load_xml(document, body) && document.child("Error")) {
      const pugi::xml_node error = document.child("Error");
      refusal.understood = true;
      refusal.code = error.child_value("Code");
      refusal.message = error.child_value("Message");
      if (const char* endpoint = error.child_value("Endpoint"); *endpoint != '\0')
        refusal.elsewhere = endpoint;
      if (refusal.request_id.empty()) refusal.request_id = error.child_value("RequestId");
    }
  } else if (const Json json = parse_json_or_null(body); json.is_object()) {
    const auto inner = json.find("error");
    const Json& error = inner != json.end() && inner->is_object() ? *inner : json;
    refusal.code = first_of(error, {"error_code", "code", "title"});
    refusal.message = first_of(error, {"error_msg", "error_message", "message"});
    refusal.understood = !refusal.code.empty() || !refusal.message.empty();
  }
  return refusal;
}

ServiceError service_error(const http::Client& client, const http::Response& response,
                           const std::string& what, const std::string& host) {
  const Refusal refusal = read_refusal(response);
  std::string message = fmt::format("{} was refused: {}", what, response.status);
  if (!refusal.code.empty()) message += " " + refusal.code;
  if (!refusal.message.empty()) message += ": " + refusal.message;
  if (!refusal.understood) message += ": " + ellipsize(printable(trim(response.body)), 120);
  if (!refusal.request_id.empty()) message += fmt::format(" (request {})", refusal.request_id);
  if (!refusal.elsewhere.empty()) message += "; it is at " + refusal.elsewhere;
  if (const std::string region = response.header("x-amz-bucket-region");
      !refusal.elsewhere.empty() && !region.empty())
    message += ", in the region " + region;
  message += clock_words(response);
  std::string advice = advice_for(refusal, response.status);
  if (!clock_words(response).empty()) advice = "set this machine's clock (NTP)";
  return {response.status,
          refusal.code,
          ErrorKind::environment,
          client.redact(printable(message)),
          host,
          advice};
}

http::ExchangeError unexpected_answer(const http::Client& client, const http::Response& response,
                                      const std::string& what, const std::string& host) {
  return http::ExchangeError(
      client.redact(fmt::format("{} got an answer that is not the service's: {}", what,
                                ellipsize(printable(trim(response.body)), 120))),
      host, "check the endpoint, and that no proxy answers in its place");
}

}  // namespace assay::cloud
