// Buckets, and requests for many objects at once.

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/parse_number.h"
#include "core/time.h"
#include "emulator/cloud_accounts.h"
#include "emulator/obs_store.h"
#include "emulator/xml_reply.h"

namespace assay::emulator {

namespace {

constexpr const char* kOwner = "emulated";
/// Clients request these before anything else; the emulator's buckets have none of them.
constexpr std::array<const char*, 7> kUnsetSettings{"policy",  "cors",       "lifecycle", "tagging",
                                                    "website", "encryption", "versioning"};

ServerResponse location() {
  pugi::xml_document document;
  document.append_child("LocationConstraint").text().set(kOwner);
  return xml_reply(document);
}

}  // namespace

ServerResponse ObsStore::list_buckets(const ServerRequest& request) const {
  if (request.method != "GET")
    return obs_error(405, "MethodNotAllowed", "The specified method is not allowed.");
  pugi::xml_document document;
  pugi::xml_node result = document.append_child("ListAllMyBucketsResult");
  pugi::xml_node owner = result.append_child("Owner");
  add_text(owner, "ID", kOwner);
  add_text(owner, "DisplayName", kOwner);
  pugi::xml_node all = result.append_child("Buckets");
  for (const auto& [name, objects] : buckets_) {
    pugi::xml_node bucket = all.append_child("Bucket");
    add_text(bucket, "Name", name);
    add_text(bucket, "CreationDate", iso_utc(started_ns_, true));
  }
  return xml_reply(document);
}

ServerResponse ObsStore::acl(const ServerRequest& request) const {
  if (request.method == "PUT") return {};  // ignored: everything belongs to its owner
  pugi::xml_document document;
  pugi::xml_node policy = document.append_child("AccessControlPolicy");
  add_text(policy.append_child("Owner"), "ID", kOwner);
  pugi::xml_node grant = policy.append_child("AccessControlList").append_child("Grant");
  pugi::xml_node grantee = grant.append_child("Grantee");
  grantee.append_attribute("xmlns:xsi") = "http://www.w3.org/2001/XMLSchema-instance";
  grantee.append_attribute("xsi:type") = "CanonicalUser";
  add_text(grantee, "ID", kOwner);
  add_text(grantee, "DisplayName", kOwner);
  add_text(grant, "Permission", "FULL_CONTROL");
  return xml_reply(document);
}

ServerResponse ObsStore::delete_many(const ServerRequest& request, Objects& objects) {
  pugi::xml_document asked;
  const bool parsed = asked.load_buffer(request.body.data(), request.body.size());
  const pugi::xml_node root = asked.child("Delete");
  if (!parsed || !root)
    return obs_error(400, "MalformedXML", "The XML you provided was not well-formed.");
  pugi::xml_document document;
  pugi::xml_node result = document.append_child("DeleteResult");
  for (const pugi::xml_node item : root.children("Object")) {
    const std::string key = item.child_value("Key");
    if (const auto at = objects.find(key); at != objects.end()) {
      forget(at->second.segments);
      objects.erase(at);
    }
    add_text(result.append_child("Deleted"), "Key", key);
  }
  return xml_reply(document);
}

ServerResponse ObsStore::bucket_operation(ServerRequest& request, const std::string& bucket) {
  const auto found = buckets_.find(bucket);
  if (request.method == "PUT") {
    if (found != buckets_.end())
      return obs_error(409, "BucketAlreadyOwnedByYou", "Your previous request succeeded.", bucket);
    buckets_[bucket];
    return {};
  }
  if (found == buckets_.end())
    return obs_error(404, "NoSuchBucket", "The specified bucket does not exist.", bucket);
  if (request.parameter("acl")) return acl(request);
  if (request.method == "POST" && request.parameter("delete"))
    return delete_many(request, found->second);
  if (request.method == "HEAD") return {};
  if (request.method == "GET" && request.parameter("location")) return location();
  for (const char* setting : kUnsetSettings)
    if (request.method == "GET" && request.parameter(setting))
      return obs_error(404, fmt::format("NoSuch{}Configuration", setting),
                       "The bucket has no such setting.", bucket);
  if (request.method == "GET") return list(request, bucket, found->second);
  if (request.method == "DELETE") {
    if (!found->second.empty())
      return obs_error(409, "BucketNotEmpty", "The bucket you tried to delete is not empty.");
    buckets_.erase(found);
    ServerResponse response;
    response.status = 204;
    return response;
  }
  return obs_error(405, "MethodNotAllowed", "The specified method is not allowed.", bucket);
}

ServerResponse ObsStore::list(const ServerRequest& request, const std::string& bucket,
                              const Objects& objects) const {
  const std::string prefix = request.parameter("prefix").value_or("");
  const std::string marker = request.parameter("marker").value_or("");
  const std::string delimiter = request.parameter("delimiter").value_or("");
  const int most = std::clamp(
      parse_number<int>(request.parameter("max-keys").value_or("")).value_or(1000), 1, 1000);
  const bool encoded = request.parameter("encoding-type") == "url";
  const auto text = [&](const std::string& key) {
    return encoded ? http::percent_encode(key, true) : key;
  };
  pugi::xml_document contents;
  std::string last;
  std::vector<std::string> groups;
  int count = 0;
  bool truncated = false;
  for (auto at = objects.lower_bound(prefix); at != objects.end() && at->first.starts_with(prefix);
       ++at) {
    const std::string& key = at->first;
    std::string group;
    if (!delimiter.empty())
      if (const std::size_t end = key.find(delimiter, prefix.size()); end != std::string::npos)
        group = key.substr(0, end + delimiter.size());
    if ((group.empty() ? key : group) <= marker) continue;
    if (!group.empty() && !groups.empty() && groups.back() == group) continue;
    if (count == most) {
      truncated = true;
      break;
    }
    ++count;
    last = group.empty() ? key : group;
    if (!group.empty()) {
      groups.push_back(group);
      continue;
    }
    pugi::xml_node item = contents.append_child("Contents");
    add_text(item, "Key", text(key));
    add_text(item, "LastModified", iso_utc(at->second.modified_ns, true));
    add_text(item, "ETag", '"' + at->second.etag + '"');
    add_text(item, "Size", std::to_string(at->second.size));
    add_text(item.append_child("Owner"), "ID", "emulated");
    add_text(item, "StorageClass", "STANDARD");
  }
  pugi::xml_document document;
  pugi::xml_node result = document.append_child("ListBucketResult");
  result.append_attribute("xmlns") = "http://obs.emulated.myhuaweicloud.com/doc/2015-06-30/";
  add_text(result, "Name", bucket);
  add_text(result, "Prefix", text(prefix));
  add_text(result, "Marker", text(marker));
  if (truncated) add_text(result, "NextMarker", text(last));
  add_text(result, "MaxKeys", std::to_string(most));
  if (encoded) add_text(result, "EncodingType", "url");
  if (!delimiter.empty()) add_text(result, "Delimiter", text(delimiter));
  add_text(result, "IsTruncated", truncated ? "true" : "false");
  for (const pugi::xml_node item : contents) result.append_copy(item);
  for (const auto& group : groups)
    add_text(result.append_child("CommonPrefixes"), "Prefix", text(group));
  return xml_reply(document);
}

}  // namespace assay::emulator
