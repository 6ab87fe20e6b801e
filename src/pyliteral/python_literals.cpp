#include "pyliteral/python_literals.h"

#include <algorithm>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/regular_file.h"
#include "core/text.h"
#include "pyliteral/python_expression.h"
#include "pyliteral/python_statements.h"

namespace assay::pyliteral {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxImportDepth = 16;
constexpr std::size_t kMaxDiagnostics = 200;

/// State shared while reading a file and its imports.
struct Session {
  fs::path folder;
  std::vector<std::string> active;  // modules being read, outermost first
  std::map<std::string, std::shared_ptr<const Names>> done;
  Budget budget;
};

class ModuleReader {
 public:
  ModuleReader(std::string file, Session& session) : file_(std::move(file)), session_(session) {}

  void read(std::string_view source) {
    const TokenStream stream = tokenize(source);
    for (const Diagnostic& problem : stream.problems) {
      add({problem.line, problem.column}, Severity::error, problem.message);
      module_.syntax_ok = false;
    }
    for (std::size_t i = 0; i < stream.lines.size();) i = line(stream.lines, i);
    std::ranges::stable_sort(module_.diagnostics, [](const Diagnostic& a, const Diagnostic& b) {
      return a.line < b.line;
    });
  }

  [[nodiscard]] Names& names() noexcept { return names_; }

  Module finish() {
    module_.file = file_;
    for (const std::string& name : order_) {
      const auto found = names_.find(name);
      if (found == names_.end() || found->second.imported) continue;
      Name& entry = found->second;
      if (entry.value) {
        module_.settings.push_back({name, std::move(*entry.value), entry.file, entry.place});
      } else {
        module_.not_literal.push_back({name, entry.why, entry.file, entry.place});
      }
    }
    if (dropped_ > 0)
      module_.diagnostics.push_back(
          {file_, 0, 0, Severity::warning, fmt::format("{} more remarks are not shown", dropped_)});
    return std::move(module_);
  }

 private:
  void add(Place place, Severity severity, std::string message) {
    if (module_.diagnostics.size() >= kMaxDiagnostics) {
      ++dropped_;
      return;
    }
    module_.diagnostics.push_back({file_, place.line, place.column, severity, std::move(message)});
  }

  void bind(const std::string& name, Name entry) {
    if (!names_.contains(name)) order_.push_back(name);
    names_[name] = std::move(entry);
  }

  void bind_unknown(const std::string& name, const std::string& why, Place place,
                    bool imported = false) {
    bind(name, {std::nullopt, why, place, file_, imported});
  }

  /// Reads the statement at `lines[i]` with any block it owns; returns the next line's index.
  std::size_t line(const std::vector<LogicalLine>& lines, std::size_t i) {
    const LogicalLine& current = lines[i];
    const Token& first = current.tokens.front();
    if (current.indent > 0 && !current.broken) {
      add(first.place, Severity::error, "unexpected indentation");
      module_.syntax_ok = false;
    }
    if (opens_block(current.tokens)) return block(lines, i);
    for (const auto statement : split_statements(current.tokens)) {
      if (current.broken) {
        taint_targets(statement, "a line with a syntax error");
      } else {
        simple_statement(statement);
      }
    }
    return i + 1;
  }

  std::size_t block(const std::vector<LogicalLine>& lines, std::size_t i) {
    std::size_t head = i;  // decorators are on lines of their own
    while (head + 1 < lines.size() && lines[head].tokens.front().is("@")) ++head;
    const LogicalLine& header = lines[head];
    const std::string what = block_name(header.tokens);
    std::size_t end = head + 1;
    while (end < lines.size() &&
           (lines[end].indent > header.indent ||
            (lines[end].indent == header.indent && continues_block(lines[end].tokens, what))))
      ++end;
    const Place place = header.tokens.front().place;
    if (is_main_guard(header.tokens)) {
      add(place, Severity::note,
          "the block under __name__ == \"__main__\" is not part of the "
          "settings");
      return end;
    }
    std::set<std::string> targets;
    for (std::size_t k = head; k < end;) k = collect_block(lines, k, end, targets);
    module_.complete = false;
    std::string message = fmt::format("{}: not read", what);
    const std::vector<std::string> list(targets.begin(), targets.end());
    if (!list.empty()) message += fmt::format("; it defines {}", ellipsize(join(list, ", "), 200));
    add(place, Severity::warning, message);
    for (const std::string& name : targets) bind_unknown(name, what, place);
    return end;
  }

  /// Collects the names that a line of a block binds or may change; skips bodies of def and class.
  std::size_t collect_block(const std::vector<LogicalLine>& lines, std::size_t k, std::size_t end,
                            std::set<std::string>& targets) {
    const auto tokens = lines[k].tokens;
    const std::string what = opens_block(tokens) ? block_name(tokens) : "";
    const auto own = what.empty() ? std::set<std::string>{} : block_targets(tokens);
    targets.insert(own.begin(), own.end());
    std::size_t next = k + 1;
    if (what == "a function" || what == "a class") {
      while (next < end && lines[next].indent > lines[k].indent) ++next;
      return next;
    }
    const auto rest = what.empty() ? tokens : after_colon(tokens);
    for (const auto statement : split_statements(rest)) {
      for (const std::string& name : statement_targets(statement)) targets.insert(name);
      if (is_assignment(statement)) continue;
      for (const std::string& name : mentioned(statement)) targets.insert(name);
    }
    return next;
  }

  /// Names of containers in a statement, which may change them.
  [[nodiscard]] std::set<std::string> mentioned(std::span<const Token> statement) const {
    std::set<std::string> out;
    for (const Token& token : statement) {
      if (token.kind != Token::Kind::name) continue;
      const auto found = names_.find(token.text);
      if (found != names_.end() && found->second.value && found->second.value->is_container())
        out.insert(found->first);
    }
    return out;
  }

  void taint_targets(std::span<const Token> statement, const std::string& why) {
    for (const std::string& name : statement_targets(statement))
      bind_unknown(name, why, statement.front().place);
  }

  void simple_statement(std::span<const Token> statement) {
    const Token& first = statement.front();
    if (first.kind == Token::Kind::name) {
      if (first.text == "import" || first.text == "from") return import_statement(statement);
      if (first.text == "pass" || first.text == "global") return;
      if (first.text == "del") return delete_statement(statement);
      if (is_keyword(first.text) && !is_expression_keyword(first.text)) {
        module_.complete = false;
        add(first.place, Severity::warning,
            fmt::format("a statement that is not an assignment, {}: not read", first.text));
        return;
      }
    }
    if (is_assignment(statement)) return assignment(statement);
    if (is_annotation(statement)) return;
    bare_expression(statement);
  }

  void delete_statement(std::span<const Token> statement) {
    for (std::size_t i = 1; i < statement.size(); ++i) {
      const bool alone = i + 1 >= statement.size() || statement[i + 1].is(",");
      if (statement[i].kind == Token::Kind::name && alone) {
        names_.erase(std::string(statement[i].text));
        std::erase(order_, std::string(statement[i].text));
      } else if (!statement[i].is(",")) {
        module_.complete = false;
        add(statement[i].place, Severity::warning, "the deletion of a part of a value: not read");
        for (const std::string& name : mentioned(statement))
          bind_unknown(name, "changed by del", statement.front().place);
        return;
      }
    }
  }

  /// A docstring or a stray literal has no effect; a call may have one.
  void bare_expression(std::span<const Token> statement) {
    const Place place = statement.front().place;
    if (statement.size() == 1 && statement.front().is("...")) return;
    try {
      static_cast<void>(evaluate(statement, names_, session_.budget));
    } catch (const Fault& fault) {
      module_.complete = false;
      report(fault, "not read");
      for (const std::string& name : mentioned(statement))
        bind_unknown(name, fmt::format("changed by {}", fault.message), place);
    }
  }

  void report(const Fault& fault, std::string_view consequence) {
    if (fault.syntax) module_.syntax_ok = false;
    add(fault.place, fault.syntax ? Severity::error : Severity::warning,
        fmt::format("{}: {}", fault.message, consequence));
  }

  void assignment(std::span<const Token> statement) {
    const Assignment parts = split_assignment(statement);
    try {
      if (parts.value.empty())
        throw Fault{statement.back().place, "an assignment without a value", true};
      Evaluated evaluated = evaluate(parts.value, names_, session_.budget);
      for (const auto& [place, note] : evaluated.notes) add(place, Severity::note, note);
      if (!parts.augmented.empty()) {
        augmented(parts, evaluated);
      } else {
        for (const auto target : parts.targets) assign(target, evaluated);
      }
    } catch (const Fault& fault) {
      const auto targets = statement_targets(statement);
      const std::vector<std::string> list(targets.begin(), targets.end());
      report(fault, list.empty() ? "not read"
                                 : fmt::format("{} is not read", ellipsize(join(list, ", "), 200)));
      if (list.empty()) module_.complete = false;
      for (const std::string& name : list) bind_unknown(name, fault.message, parts.place);
    }
  }

  void assign(std::span<const Token> target, const Evaluated& evaluated) {
    const Token& first = target.front();
    if (target.size() == 1 && first.kind == Token::Kind::name) {
      if (is_keyword(first.text))
        throw Fault{first.place, fmt::format("an assignment to {}", first.text), true};
      const std::string name(first.text);
      shared_.erase(name);
      if (!evaluated.containers.empty() && evaluated.value.is_container()) {
        shared_.insert(evaluated.containers.begin(), evaluated.containers.end());
        shared_.insert(name);
      }
      charge(session_.budget, weight(evaluated.value), first.place);
      bind(name, {evaluated.value, {}, first.place, file_});
      return;
    }
    if (const auto key = subscript_of(target)) {
      Name& entry = container_name(first);
      const Evaluated index = evaluate(*key, names_, session_.budget);
      in_place(std::string(first.text), first.place);
      charge(session_.budget, 1 + entry.value->entries.size() / 8, first.place);
      set_item(*entry.value, index.value, evaluated.value, first.place);
      if (evaluated.value.is_container() && !evaluated.containers.empty()) {
        shared_.insert(evaluated.containers.begin(), evaluated.containers.end());
        shared_.insert(std::string(first.text));
      }
      return;
    }
    if (const auto parts = unpacking(target)) {
      const bool sequence =
          evaluated.value.kind == Value::Kind::tuple || evaluated.value.kind == Value::Kind::list;
      if (!sequence || evaluated.value.items.size() != parts->size())
        throw Fault{first.place,
                    fmt::format("{} names for {} values", parts->size(),
                                sequence ? evaluated.value.items.size() : std::size_t{1}),
                    sequence};
      for (std::size_t i = 0; i < parts->size(); ++i)
        assign((*parts)[i], {evaluated.value.items[i], evaluated.containers, {}});
      return;
    }
    throw Fault{first.place, "an assignment to something that is not a name"};
  }

  Name& container_name(const Token& token) {
    const auto found = names_.find(token.text);
    if (found == names_.end() || !found->second.value)
      throw Fault{token.place,
                  fmt::format("an item of {}, which is not a literal", printable(token.text))};
    return found->second;
  }

  void augmented(const Assignment& parts, const Evaluated& evaluated) {
    const auto target = parts.targets.front();
    const Token& first = target.front();
    if (target.size() != 1 || first.kind != Token::Kind::name)
      throw Fault{first.place, "an augmented assignment to something that is not a name"};
    Name& entry = container_name(first);
    if (entry.value->is_container()) in_place(std::string(first.text), first.place);
    Value result =
        binary(parts.augmented, *entry.value, evaluated.value, first.place, session_.budget);
    entry.value = std::move(result);
    entry.place = first.place;
    entry.file = file_;
  }

  /// Names hold copies here, so a container that another name refers to cannot be changed in place:
  /// the others' values are then unknown.
  void in_place(const std::string& name, Place place) {
    if (!shared_.contains(name)) return;
    const std::set<std::string> affected = std::exchange(shared_, {});
    for (const std::string& other : affected)
      bind_unknown(other, "changed through another name", place);
    throw Fault{place, fmt::format("a change of {}, which other names share", printable(name))};
  }

  void import_statement(std::span<const Token> statement);
  void import_from(const ImportStatement& statement);
  void merge(const Names& from, const ImportStatement& statement);
  std::shared_ptr<const Names> load(const std::string& module, Place place);

  std::string file_;
  Session& session_;
  Names names_;
  std::vector<std::string> order_;
  std::set<std::string> shared_;  // names that may share a container with another
  Module module_;
  std::size_t dropped_ = 0;
};

void ModuleReader::import_statement(std::span<const Token> tokens) {
  const ImportStatement statement = parse_import(tokens);
  if (statement.malformed) {
    module_.syntax_ok = false;
    add(statement.place, Severity::error, "an import statement that Python does not accept");
    return;
  }
  if (statement.from) return import_from(statement);
  add(statement.place, Severity::note,
      fmt::format("import of {}: ignored", join(statement.modules, ", ")));
  for (const auto& [name, as] : statement.names)
    bind_unknown(as, "a module", statement.place, true);
}

void ModuleReader::import_from(const ImportStatement& statement) {
  const std::string& module = statement.modules.front();
  if (module == "__future__") return;
  if (const auto loaded = load(module, statement.place)) {
    try {
      return merge(*loaded, statement);
    } catch (const Fault& fault) {
      module_.complete = false;
      return report(fault, "not read");
    }
  }
  if (statement.star) {
    module_.complete = false;
    add(statement.place, Severity::warning,
        fmt::format("everything from {}, which is not a file beside this one: not read", module));
    return;
  }
  std::vector<std::string> names;
  for (const auto& [name, as] : statement.names) {
    names.push_back(name);
    bind_unknown(as, fmt::format("imported from {}", module), statement.place, true);
  }
  add(statement.place, Severity::note,
      fmt::format("import of {} from {}: ignored", ellipsize(join(names, ", "), 200), module));
}

void ModuleReader::merge(const Names& from, const ImportStatement& statement) {
  const std::string& module = statement.modules.front();
  if (statement.star) {
    module_.star_imports.push_back(module);
    for (const auto& [name, entry] : from) {
      if (name.starts_with('_')) continue;
      charge(session_.budget, entry.value ? weight(*entry.value) : 1, statement.place);
      bind(name, entry);
    }
    return;
  }
  for (const auto& [name, as] : statement.names) {
    const auto found = from.find(name);
    if (found == from.end()) {
      module_.syntax_ok = false;
      add(statement.place, Severity::error,
          fmt::format("{} does not define {}", module, printable(name)));
      bind_unknown(as, fmt::format("missing in {}", module), statement.place);
      continue;
    }
    charge(session_.budget, found->second.value ? weight(*found->second.value) : 1,
           statement.place);
    bind(as, found->second);
  }
}

std::shared_ptr<const Names> ModuleReader::load(const std::string& module, Place place) {
  if (session_.folder.empty() || module.empty() || module.starts_with('.')) return nullptr;
  if (const auto found = session_.done.find(module); found != session_.done.end())
    return found->second;
  fs::path path = session_.folder;
  for (const auto part : split(module, '.')) path /= std::string(part);
  path += ".py";
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return nullptr;
  if (std::ranges::find(session_.active, module) != session_.active.end() ||
      session_.active.size() >= kMaxImportDepth || fs::file_size(path, ignored) > kMaxPythonFile) {
    module_.complete = false;
    add(place, Severity::warning,
        fmt::format("import of {}: it imports itself, or too many others, or is too large",
                    module));
    return nullptr;
  }
  const std::string source = read_plain_file_or_empty(path);
  session_.active.push_back(module);
  const fs::path shown = fs::path(file_).parent_path() / path.lexically_relative(session_.folder);
  ModuleReader reader(shown.string(), session_);
  reader.read(source);
  session_.active.pop_back();
  for (Diagnostic& diagnostic : reader.module_.diagnostics) {
    if (module_.diagnostics.size() >= kMaxDiagnostics) break;
    module_.diagnostics.push_back(std::move(diagnostic));
  }
  module_.syntax_ok = module_.syntax_ok && reader.module_.syntax_ok;
  module_.complete = module_.complete && reader.module_.complete;
  auto names = std::make_shared<const Names>(std::move(reader.names_));
  session_.done[module] = names;
  return names;
}

Module parse(std::string_view source, const std::string& file, const fs::path& folder,
             const std::string& module_name) {
  if (source.size() > kMaxPythonFile)
    throw Error(ErrorKind::config,
                fmt::format("the file has {} bytes; a file of settings has at most {}",
                            source.size(), kMaxPythonFile),
                file);
  Session session;
  session.folder = folder;
  session.active.push_back(module_name);
  ModuleReader reader(file, session);
  reader.read(source);
  return reader.finish();
}

}  // namespace

const Setting* Module::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find(settings, name, &Setting::name);
  return found == settings.end() ? nullptr : &*found;
}

Module parse_python(std::string_view source, const std::string& file, const fs::path& folder) {
  return parse(source, file, folder, fs::path(file).stem().string());
}

Module parse_python_file(const fs::path& path, const std::string& shown) {
  const std::string file = shown.empty() ? path.string() : shown;
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (!error && size > kMaxPythonFile)
    throw Error(ErrorKind::config,
                fmt::format("the file has {} bytes; a file of settings has at most {}", size,
                            kMaxPythonFile),
                file);
  return parse(read_plain_file(path), file, path.parent_path(), path.stem().string());
}

}  // namespace assay::pyliteral
