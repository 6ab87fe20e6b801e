#include "train/models/mesh.h"

#include <numeric>
#include <set>

#include <fmt/format.h>

#include "core/error.h"
#include "core/parse_number.h"
#include "core/text.h"

namespace assay::train {

namespace {

[[noreturn]] void wrong_mesh(const std::string& what) {
  throw Error(ErrorKind::usage, what, "--mesh", "use data=8,tensor=4,pipeline=2,expert=1,zero=3");
}

std::string divisors_of(std::int64_t number) {
  std::string out;
  for (std::int64_t i = 1; i <= number && i <= 64; ++i)
    if (number % i == 0) out += (out.empty() ? "" : ", ") + std::to_string(i);
  return out;
}

// A quantity that a mesh divides along an axis.
struct Shared {
  std::int64_t number;
  const char* what;
};

// The advice fits all of them, not only the first that cannot be divided.
void require_division(std::initializer_list<Shared> all, std::int64_t by, const char* axis) {
  std::int64_t common = 0;
  for (const Shared& one : all) common = std::gcd(common, one.number);
  for (const auto& [number, what] : all)
    if (number % by != 0)
      throw Error(ErrorKind::config,
                  fmt::format("{} {} cannot be shared by {} ({})", number, what, by, axis), "mesh",
                  fmt::format("{} may be {}", axis, divisors_of(common)));
}

}  // namespace

std::string Mesh::text() const {
  return fmt::format("data {}{}, tensor {}, pipeline {}{}", data,
                     zero > 0 ? fmt::format(" (ZeRO {})", zero) : "", tensor, pipeline,
                     expert > 1 ? fmt::format(", expert {}", expert) : "");
}

MeshPlace place_in(const Mesh& mesh, std::int64_t rank) noexcept {
  return {rank / mesh.tensor % mesh.data, rank % mesh.tensor, rank / mesh.tensor / mesh.data};
}

Mesh parse_mesh(const std::string& text, std::int64_t devices) {
  Mesh mesh;
  mesh.data = 0;
  std::set<std::string> given;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos)
      wrong_mesh(fmt::format("'{}' has no '='", printable(part)));
    const std::string name(trim(part.substr(0, equals)));
    const auto value = parse_number<std::int64_t>(
        trim(part.substr(equals + 1)), name == "zero" ? 0 : 1, name == "zero" ? 3 : 1'000'000);
    if (!value) wrong_mesh(fmt::format("'{}' is not a size of a mesh", printable(part)));
    if (!given.insert(name).second) wrong_mesh(fmt::format("'{}' is given twice", printable(name)));
    if (name == "data")
      mesh.data = *value;
    else if (name == "tensor")
      mesh.tensor = *value;
    else if (name == "pipeline")
      mesh.pipeline = *value;
    else if (name == "expert")
      mesh.expert = *value;
    else if (name == "zero")
      mesh.zero = static_cast<int>(*value);
    else
      wrong_mesh(fmt::format("there is no '{}' in a mesh", printable(name)));
  }
  if (mesh.data == 0) {
    const std::int64_t rest = mesh.tensor * mesh.pipeline;
    if (devices % rest != 0)
      wrong_mesh(fmt::format("{} devices cannot be shared by tensor {} × pipeline {}", devices,
                             mesh.tensor, mesh.pipeline));
    mesh.data = devices / rest;
  }
  return mesh;
}

void require_mesh(const Mesh& mesh, const LlamaOptions& model, std::int64_t devices) {
  if (mesh.devices() != devices)
    throw Error(ErrorKind::config,
                fmt::format("data {} × tensor {} × pipeline {} are {} devices, not {}", mesh.data,
                            mesh.tensor, mesh.pipeline, mesh.devices(), devices),
                "mesh", "change --devices or --mesh");
  require_division({{model.heads, "heads"},
                    {model.kv_heads, "heads of keys and values"},
                    {model.inner, "inner columns"},
                    {model.vocabulary, "tokens of the vocabulary"}},
                   mesh.tensor, "tensor");
  require_division({{model.layers, "layers"}}, mesh.pipeline, "pipeline");
  if (mesh.expert == 1) return;
  if (model.experts == 0)
    throw Error(ErrorKind::config, "there are no experts to share out", "expert",
                "leave it out, or train a mixture of experts");
  require_division({{model.experts, "experts"}, {mesh.data, "devices with the same weights"}},
                   mesh.expert, "expert");
}

void require_sequence(const Mesh& mesh, std::int64_t sequence) {
  if (sequence % mesh.tensor == 0) return;
  throw Error(
      ErrorKind::config,
      fmt::format("{} tokens of a sequence cannot be shared by {} (tensor)", sequence, mesh.tensor),
      "mesh", fmt::format("use a sequence that is a multiple of {}", mesh.tensor));
}

}  // namespace assay::train
