#pragma once

#include <cctype>
#include <regex>
#include <set>
#include <string>
#include <string_view>

namespace assay::testing {

/// The English words in what somebody reads in Chinese: in a line with Chinese every word of two
/// letters or more that is neither a term nor one of `names`; in a line without, two that follow
/// each other. Names of things are none: what stands in quotes, paths, options, what has a digit, a
/// hyphen or a capital within, and what is in braces.
inline std::set<std::string> english_in(const std::string& text,
                                        const std::set<std::string>& names = {}) {
  static const std::set<std::string> kTerms{
      "Assay", "Epoch",  "Horovod", "Prometheus", "Python",  "Rank",     "Slurm",   "Token",
      "Trial", "Worker", "agent",   "assay",      "cgroup",  "copy",     "docker",  "endpoint",
      "epoch", "exec",   "gap",     "ipmitool",   "journal", "libtorch", "local",   "max",
      "min",   "ms",     "pid",     "podman",     "rank",    "root",     "scale",   "shell",
      "slurm", "srun",   "ssh",     "stderr",     "stdout",  "time",     "token",   "torchrun",
      "triad", "trial",  "worker",  "mpirun",     "slew",    "sudo",     "taskset", "write"};
  static const std::regex kQuoted("'[^'\n]*'|`[^`\n]*`|\\{[^}\n]*\\}");
  static const std::regex kToken("[A-Za-z0-9_./:+@%*=<>~$#^!&\\\\-]+");
  static const std::regex kWord("[A-Za-z][a-z]+");
  const auto is_chinese = [](char c) {
    return static_cast<unsigned char>(c) >= 0xe3 && static_cast<unsigned char>(c) <= 0xe9;
  };
  std::set<std::string> out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = std::regex_replace(text.substr(begin, end - begin), kQuoted, " 0 ");
    begin = end + 1;
    const bool chinese = std::any_of(line.begin(), line.end(), is_chinese);
    std::string before;
    for (std::sregex_iterator it(line.begin(), line.end(), kToken), none; it != none; ++it) {
      std::string word = it->str();
      while (!word.empty() && std::string_view(".:").find(word.back()) != std::string_view::npos)
        word.pop_back();
      const bool english =
          std::regex_match(word, kWord) && !kTerms.contains(word) && !names.contains(word);
      if (english && chinese) out.insert(word);
      if (english && !chinese && !before.empty()) out.insert(before + " " + word);
      before = english ? word : "";
    }
  }
  return out;
}

}  // namespace assay::testing
