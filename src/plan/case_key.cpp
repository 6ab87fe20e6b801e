#include "plan/case_key.h"

#include <algorithm>

#include "core/parse_number.h"
#include "core/run_layout.h"
#include "core/text.h"

namespace assay::plan {

namespace {

constexpr const char* kGrammar =
    "a case key is model:framework:hardware:nodes:procs:repeats, as in matmul:native:cpu:1:2:3";

int read_count(const config::Node& node, std::string_view field, const char* what, int max) {
  const auto value = parse_number<int>(field, 1, max);
  if (!value || field[0] == '0')
    node.fail(std::string(what) + " must be a whole number from 1 to " + std::to_string(max) +
                  ", got '" + printable(ellipsize(field, 40)) + "' in " + node.describe(),
              kGrammar);
  return *value;
}

std::string read_field(const config::Node& node, std::string_view field, const char* what) {
  if (field.empty())
    node.fail(std::string("the ") + what + " is empty in " + node.describe(), kGrammar);
  const auto bad = std::ranges::find_if(field, [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == '/' || c == '\x7f';
  });
  if (bad != field.end())
    node.fail(std::string("the ") + what + " in " + node.describe() +
                  " must not contain spaces, '/' or control characters",
              kGrammar);
  return std::string(field);
}

}  // namespace

std::string CaseKey::text() const {
  return model + ":" + framework + ":" + hardware + ":" + std::to_string(nodes) + ":" +
         std::to_string(procs) + ":" + std::to_string(repeats);
}

CaseKey parse_case_key(const config::Node& node) {
  const std::string text = node.nonempty_text();
  const auto fields = split(text, ':');
  if (fields.size() != 6)
    node.fail(
        "a case key has 6 fields, got " + std::to_string(fields.size()) + " in " + node.describe(),
        kGrammar);
  CaseKey key;
  key.model = read_field(node, fields[0], "model");
  key.framework = read_field(node, fields[1], "framework");
  key.hardware = read_field(node, fields[2], "hardware");
  key.nodes = read_count(node, fields[3], "nodes", kMaxNodes);
  key.procs = read_count(node, fields[4], "procs", kMaxProcs);
  key.repeats = read_count(node, fields[5], "repeats", kMaxRepeats);
  check_case_name(node, text);
  return key;
}

void check_case_name(const config::Node& node, const std::string& name) {
  const std::string advice = "the name of a case becomes a folder of the run directory";
  if (name.empty() || trim(name) != name)
    node.fail("a case name must not be empty, or begin or end with a space", advice);
  if (name.size() > kMaxNameBytes)
    node.fail("a case name has at most " + std::to_string(kMaxNameBytes) + " bytes, this one " +
                  std::to_string(name.size()),
              advice);
  if (name.find('/') != std::string::npos || name == "." || name == "..")
    node.fail("a case name must not contain '/' or be '.' or '..', got '" + printable(name) + "'",
              advice);
  if (printable(name) != name || name.find_first_of("\n\t") != std::string::npos)
    node.fail("a case name must not contain control characters", advice);
  if (name.starts_with("hook."))
    node.fail("the name of a case must not begin with 'hook.', got '" + printable(name) + "'",
              "folders of that name hold what hooks wrote");
  if (layout::is_taken(name))
    node.fail("a case cannot be named '" + name + "': the run directory has a file of that name",
              "choose another name");
}

std::string framework_family(std::string_view framework) {
  return std::string(framework.substr(0, framework.find('_')));
}

}  // namespace assay::plan
