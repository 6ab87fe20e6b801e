#include "e2e/cloud/listening_process.h"

#include <csignal>
#include <stdexcept>

#include <sys/wait.h>
#include <unistd.h>

#include "core/files.h"
#include "core/process.h"
#include "send_signal.h"

namespace assay::cloud {

ListeningProcess::ListeningProcess(const std::vector<std::string>& argv,
                                   const std::filesystem::path& errors) {
  Child child = spawn({.argv = argv,
                       .out = Stream::pipe(),
                       .err = Stream::overwrite(errors.string(), 0600),
                       .group = Group::shared});
  pid_ = child.release();
  std::string line;
  char c = 0;
  while (::read(child.out.get(), &c, 1) == 1 && c != '\n') line += c;
  const std::string mark = "listening on ";
  if (!line.starts_with(mark)) {
    kill();
    throw std::runtime_error("no " + argv.at(0) + ": " + line + read_file_or_empty(errors));
  }
  url_ = line.substr(mark.size());
}

int ListeningProcess::port() const {
  return std::stoi(url_.substr(url_.rfind(':') + 1));
}

void ListeningProcess::kill() {
  send_signal(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

int ListeningProcess::end() {
  int status = 0;
  send_signal(pid_, SIGTERM);
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return status;
}

ListeningProcess::~ListeningProcess() {
  if (pid_ > 0) (void)end();
}

}  // namespace assay::cloud
