#include "rest/schema.h"

#include "core/json_fields.h"
#include "core/text.h"
#include "jobs/cluster_answers.h"
#include "jobs/submission.h"

namespace assay::rest {

namespace {

Json array_of(Json items) {
  return {{"type", "array"}, {"items", std::move(items)}};
}

template <class T>
Json schema_of(const T& standard);

// Visits the fields as the reader does.
struct Describe {
  Json properties = Json::object();
  Json required = Json::array();

  template <class T>
  void operator()(const char* name, const T& value) {
    properties[name] = schema_of(value);
    required.push_back(name);
  }
  template <class T>
  void optional(const char* name, const T& value) {
    properties[name] = schema_of(value);
  }
};

template <class T>
Json schema_of(const T& standard) {
  using namespace json_fields_detail;
  if constexpr (std::is_same_v<T, jobs::WrittenDuration>) {
    return {{"type", {"string", "number"}}, {"description", "\"2h\", or a number of seconds"}};
  } else if constexpr (NamedEnum<T>) {
    Json names = Json::array();
    for (const T value : enum_values<T>()) names.push_back(to_text(value));
    return {{"enum", names}};
  } else if constexpr (kIsOptional<T>) {
    return schema_of(typename T::value_type{});
  } else if constexpr (kIsVector<T>) {
    return array_of(schema_of(typename T::value_type{}));
  } else if constexpr (kIsMap<T>) {
    return {{"type", "object"}, {"additionalProperties", schema_of(typename T::mapped_type{})}};
  } else if constexpr (Struct<T>) {
    Describe fields;
    T::fields(standard, fields);
    Json out = {
        {"type", "object"}, {"properties", fields.properties}, {"additionalProperties", false}};
    if (!fields.required.empty()) out["required"] = fields.required;
    return out;
  } else if constexpr (std::is_same_v<T, std::string>) {
    return {{"type", "string"}};
  } else if constexpr (std::is_same_v<T, bool>) {
    return {{"type", "boolean"}};
  } else if constexpr (std::is_integral_v<T>) {
    return {{"type", "integer"}};
  } else {
    static_assert(std::is_floating_point_v<T>);
    return {{"type", "number"}};
  }
}

Json reference(std::string_view name) {
  return {{"$ref", "#/components/schemas/" + std::string(name)}};
}

Json or_null(Json type) {
  if (type.contains("$ref")) return {{"anyOf", {std::move(type), {{"type", "null"}}}}};
  type["type"] = Json::array({type["type"], "null"});
  return type;
}

template <class T>
Json answer_type(const T& standard) {
  using namespace json_fields_detail;
  if constexpr (kIsOptional<T>)
    return or_null(answer_type(typename T::value_type{}));
  else if constexpr (kIsVector<T>)
    return array_of(answer_type(typename T::value_type{}));
  else if constexpr (Struct<T>)
    return reference(T::kSchema);
  else
    return schema_of(standard);
}

// An answer may get further fields, unlike what a client sends.
struct DescribeAnswer {
  Json properties = Json::object();
  Json required = Json::array();

  template <class T>
  void operator()(const char* name, const T& value) {
    properties[name] = answer_type(value);
    required.push_back(name);
  }
  template <class T>
  void optional(const char* name, const T& value) {
    properties[name] = answer_type(value);
  }
};

template <class... Answers>
void describe_answers(std::map<std::string, Json, std::less<>>& out) {
  const auto add = [&]<class T>(const T& standard) {
    DescribeAnswer fields;
    T::fields(standard, fields);
    out[T::kSchema] = {{"type", "object"},
                       {"properties", std::move(fields.properties)},
                       {"required", std::move(fields.required)}};
  };
  (add(Answers{}), ...);
}

// "int", "time~" (or null), "[text]", "#Job".
Json type_of(std::string_view word) {
  if (word.ends_with('~')) return or_null(type_of(word.substr(0, word.size() - 1)));
  if (word.starts_with('[')) return array_of(type_of(word.substr(1, word.size() - 2)));
  if (word.starts_with('#')) return reference(word.substr(1));
  if (word == "time") return {{"type", "string"}, {"format", "date-time"}};
  if (word == "int") return {{"type", "integer"}};
  if (word == "num") return {{"type", "number"}};
  if (word == "bool") return {{"type", "boolean"}};
  if (word == "counts")
    return {{"type", "object"}, {"additionalProperties", {{"type", "integer"}}}};
  if (word == "object") return {{"type", "object"}};
  return {{"type", "string"}};
}

// "id:int name?:text": a question mark where it may be missing.
Json object_of(std::string_view text) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const std::string_view field : split(text, ' ')) {
    if (field.empty()) continue;
    const auto colon = field.find(':');
    std::string_view name = field.substr(0, colon);
    if (name.ends_with('?'))
      name.remove_suffix(1);
    else
      required.push_back(std::string(name));
    properties[std::string(name)] = type_of(field.substr(colon + 1));
  }
  Json out = {{"type", "object"}, {"properties", properties}};
  if (!required.empty()) out["required"] = required;
  return out;
}

constexpr const char* kRow =
    "id:int name:text owner:text team:text queue:text priority:int state:text devices:int "
    "device_type:text verdict:text submitted:time started:time~ ended:time~ ran_s:num array:int~ "
    "array_index:int~ place:int~ estimated_start:time~ ";

}  // namespace

Json submission_schema() {
  Json out = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
              {"title", "A submission to the job platform"}};
  out.update(schema_of(jobs::Submission{}));
  return out;
}

const std::map<std::string, Json, std::less<>>& schemas() {
  static const std::map<std::string, Json, std::less<>> all = [] {
    std::map<std::string, Json, std::less<>> out;
    const auto object = [&](const char* name, const std::string& fields) {
      out[name] = object_of(fields);
    };
    out["Any"] = {{"type", "object"}};
    out["Empty"] = {{"type", "object"}};
    out["Submission"] = schema_of(jobs::Submission{});
    out["NewJob"] = schema_of(jobs::Submission{});
    for (const char* key : {"team", "request_key", "code"})
      out["NewJob"]["properties"][key] = {{"type", "string"}};
    object("Problem", "path:text message:text");
    object("Error", "error:#ErrorBody");
    object("Changed", "error:#ErrorBody now?:object");
    object("ErrorBody", "code:text message:text advice?:text problems?:[#Problem]");
    object("SignIn", "name?:text password?:text link?:text by?:text");
    object("SignInPreview", "user:text");
    object("Session",
           "user:text full_name:text role:text teams:[text] language:text password_set:bool "
           "csrf:text expires:time~");
    object("SignInWays", "provider:text~");
    object("ArrayStanding", "count:int first:int last:int states:counts verdicts:counts");
    object("ArrayChange", "changed:int refused:int words:text next:int~");
    object("JobNumbers", "jobs:text");
    object("JobState", "id:int state:text");
    object("JobFailure", "id:int words:text");
    object("ManyChange",
           "changed:int refused:int words:text next:int~ jobs:[#JobState] failed:[#JobFailure]");
    object("JobRow", std::string(kRow) + "pending:text~ elements?:#ArrayStanding");
    object("JobPage", "jobs:[#JobRow] total:int");
    object("Submitted", "jobs:[#JobRow]");
    object("Pending", "kind:text words:text");
    object("NodeShare", "node:text devices:int");
    object("Preview",
           "problems:[#Problem] suite:text plan:text placement:[#NodeShare] time_s:num~ "
           "place:int~ estimated_start:time~ pending:#Pending~");
    object("Life",
           "attempt:int restarts:int retries:int cause:text message:text exit_code:int~ "
           "placement:[#NodeShare] ran_s:num not_before:time~");
    object("Attempt", "attempt:int run:bool started:time~ ended:time~");
    object("Job",
           std::string(kRow) +
               "pending:#Pending~ submission:#Submission life:#Life "
               "attempts:[#Attempt] may:[text] shared_with:[text] code:text logs_until:time~ "
               "kept_until:time~ logs_removed:time~ etag:text");
    object("Schedule",
           "name:text owner:text team:text cron:text paused:bool submission:#Submission code:text "
           "next:time~ last:time~ last_job:int~ last_error:text etag:text");
    object("Schedules", "schedules:[#Schedule]");
    object("NewSchedule", "name?:text cron?:text paused?:bool job?:#NewJob");
    object("JobChange", "priority?:int name?:text shared_with?:[text]");
    object("Endpoint", "name:text kind:text title?:text port?:int");
    object("Endpoints", "endpoints:[#Endpoint] running:bool sites:bool may_enter:bool");
    object("EndpointState", "name:text state:text words?:text detail?:text");
    object("OpenedEndpoint", "url:text");
    object("TimelineEvent", "at:time event:text from:text to:text attempt:int who:text words:text");
    object("Timeline", "events:[#TimelineEvent]");
    describe_answers<jobs::NodeUse, jobs::NodeAnswer, jobs::Readings, jobs::NodeReadings,
                     jobs::NodesAnswer, jobs::UsageAnswerRow, jobs::UsageAnswer>(out);
    object("OtherJob",
           "id:text name:text user:text queue:text state:text waiting:text nodes:int "
           "node_list:text submitted:time~ started:time~");
    object("Others", "jobs:[#OtherJob] trouble:text");
    object("Drain", "reason?:text");
    object("Queue",
           "name?:text priority?:int closed?:bool preempts?:bool approval?:bool "
           "partition?:text account?:text qos?:text etag?:text engine?:bool waiting?:int "
           "running?:int");
    object("Queues", "queues:[#Queue]");
    object("Team",
           "name?:text weight?:num quota?:counts user_quota?:counts members?:[text] etag?:text");
    object("Teams", "teams:[#Team]");
    object("Reservation", "name?:text nodes?:[text] from?:time to?:time teams?:[text] etag?:text");
    object("Reservations", "reservations:[#Reservation]");
    object("IdlePolicy", "warn_s?:int stop_s?:int etag?:text");
    object("RetentionPolicy", "logs_days?:int jobs_days?:int etag?:text");
    object("RetentionPreview",
           "jobs:[#RetainedJob] logs:[#RetainedJob] jobs_total:int logs_total:int whole:bool");
    object("RetainedJob", "id:int name:text owner:text ended:time");
    object("User",
           "name:text full_name:text role:text disabled:bool language:text password_set:bool "
           "teams:[text] made:time etag:text");
    object("Users", "users:[#User]");
    object("UserChange",
           "name?:text full_name?:text role?:text password?:text disabled?:bool language?:text");
    object("Token", "name:text made:time expires:time~ used:time~");
    object("Tokens", "tokens:[#Token]");
    object("TokenRequest", "name:text expires?:time");
    object("NewToken", "name:text token:text expires:time~");
    object("Template", "scope:text name:text content:object author:text changed:time etag:text");
    object("Templates", "templates:[#Template]");
    object("Secret", "scope:text name:text author:text changed:time usable:bool etag:text");
    object("Secrets", "secrets:[#Secret]");
    object("SecretValue", "name?:text value:text");
    object("PushedRun", "id:text name:text suite:text verdict:text finished:text machine:text");
    object("PushedRuns", "tests:[#PushedRun]");
    object("Deed", "number:int at:time who:text address:text deed:text subject:text status:int");
    object("Audit", "deeds:[#Deed]");
    object("CodeFile", "path:text size:int sha256:text executable?:bool");
    object("CodeLink", "path:text target:text");
    object("CodeManifest", "files:[#CodeFile] links?:[#CodeLink]");
    object("Announced", "code:text missing:[text] bundle:int");
    object("Received", "received:int complete:bool fits:bool");
    object("ReceivedBundle", "wrong:[text]");
    return out;
  }();
  return all;
}

}  // namespace assay::rest
