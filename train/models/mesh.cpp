#include "train/models/mesh.h"

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

void require_division(std::int64_t number, std::int64_t by, const char* what, const char* axis) {
  if (number % by != 0)
    throw Error(ErrorKind::config,
                fmt::format("{} {} cannot be shared by {} ({})", number, what, by, axis), "mesh",
                fmt::format("{} may be {}", axis, divisors_of(number)));
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
  for (const std::string_view part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos)
      wrong_mesh(fmt::format("'{}' has no '='", printable(part)));
    const std::string name(trim(part.substr(0, equals)));
    const auto value = parse_number<std::int64_t>(
        trim(part.substr(equals + 1)), name == "zero" ? 0 : 1, name == "zero" ? 3 : 1'000'000);
    if (!value) wrong_mesh(fmt::format("'{}' is not a size of a mesh", printable(part)));
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
  require_division(model.heads, mesh.tensor, "heads", "tensor");
  require_division(model.kv_heads, mesh.tensor, "heads of keys and values", "tensor");
  require_division(model.inner, mesh.tensor, "inner columns", "tensor");
  require_division(model.vocabulary, mesh.tensor, "tokens of the vocabulary", "tensor");
  require_division(model.layers, mesh.pipeline, "layers", "pipeline");
  if (mesh.expert == 1) return;
  if (model.experts == 0)
    throw Error(ErrorKind::config, "there are no experts to share out", "expert",
                "leave it out, or train a mixture of experts");
  require_division(model.experts, mesh.expert, "experts", "expert");
  require_division(mesh.data, mesh.expert, "devices with the same weights", "expert");
}

void require_sequence(const Mesh& mesh, std::int64_t sequence) {
  require_division(sequence, mesh.tensor, "tokens of a sequence", "tensor");
}

}  // namespace assay::train
