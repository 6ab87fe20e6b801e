#include "plan/launcher_options.h"

#include <concepts>
#include <type_traits>

#include "core/error.h"
#include "core/text.h"

namespace assay::plan {

namespace {

/// Calls `f` with default options of every launcher.
template <class F>
void for_each_launcher(F&& f) {
  const auto call = [&]<class... T>(std::type_identity<std::variant<T...>> /*all*/) {
    (f(T{}), ...);
  };
  call(std::type_identity<LauncherOptions>{});
}

template <class T>
concept ReadsOptions = requires(const config::Node& node) {
  T::read(node);
};

}  // namespace

const std::vector<LauncherInfo>& launcher_catalog() {
  static const std::vector<LauncherInfo> catalog = [] {
    std::vector<LauncherInfo> out;
    for_each_launcher([&]<class T>(const T& /*launcher*/) {
      out.push_back({T::kName, T::kDescription, T::keys()});
    });
    return out;
  }();
  return catalog;
}

std::vector<std::string> launcher_names() {
  std::vector<std::string> names;
  for (const LauncherInfo& info : launcher_catalog()) names.push_back(info.name);
  return names;
}

std::string launcher_name(const LauncherOptions& options) {
  return std::visit([]<class T>(const T&) { return std::string(T::kName); }, options);
}

LauncherTraits traits_of(const LauncherOptions& options) {
  return std::visit([](const auto& launcher) { return launcher.traits(); }, options);
}

SshAccess common_access(const LauncherOptions& options) {
  return std::visit(
      []<class T>([[maybe_unused]] const T& launcher) -> SshAccess {
        if constexpr (std::derived_from<T, SshAccess>)
          return launcher;
        else
          return {};
      },
      options);
}

std::map<std::string, std::string> node_variables(const LauncherOptions& options,
                                                  const CasePlan& plan) {
  return std::visit(
      [&]([[maybe_unused]] const auto& launcher) -> std::map<std::string, std::string> {
        if constexpr (requires { launcher.node_variables(plan); })
          return launcher.node_variables(plan);
        else
          return {};
      },
      options);
}

std::optional<ResultFiles> result_files(const LauncherOptions& options) {
  return std::visit(
      []([[maybe_unused]] const auto& launcher) -> std::optional<ResultFiles> {
        if constexpr (requires { launcher.result_files(); })
          return launcher.result_files();
        else
          return std::nullopt;
      },
      options);
}

Json to_json(const LauncherOptions& options) {
  return std::visit([](const auto& launcher) { return fields_to_json(launcher); }, options);
}

LauncherOptions launcher_options_from_json(const std::string& launcher, const Json& json,
                                           const std::string& where) {
  std::optional<LauncherOptions> found;
  for_each_launcher([&]<class T>(const T& /*launcher*/) {
    if (launcher == T::kName) found = fields_from_json<T>(json, where);
  });
  if (!found)
    throw Error(ErrorKind::config,
                "there is no launcher '" + printable(launcher) + "'" +
                    did_you_mean(launcher, launcher_names()),
                where, "launchers: " + join(launcher_names(), ", "));
  return *found;
}

LauncherOptions read_launcher_options(const std::string& name, const config::Mapping& cluster,
                                      const config::Node& node) {
  LauncherOptions chosen;
  for_each_launcher([&]<class T>(const T& none) {
    T options = none;
    if constexpr (ReadsOptions<T>) {
      const config::Node* own = cluster.find(T::kName);
      if (own != nullptr) options = T::read(*own);
      if constexpr (requires { T::kExample; }) {
        if (own == nullptr && name == T::kName)
          node.fail("the launcher '" + name + "' needs '" + name + "'", T::kExample);
      }
    }
    if (name == T::kName) chosen = std::move(options);
  });
  return chosen;
}

}  // namespace assay::plan
