#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/version.h"
#include "emulator/emulator.h"
#include "emulator/streaming_server.h"

int main(int argc, char** argv) {
  CLI::App app("A cloud on this machine: IAM, OBS and ModelArts for tests and for learning",
               "assay-cloud-emulator");
  app.set_version_flag("--version", assay::version_string());
  std::string config;
  std::string root;
  std::string address = "127.0.0.1";
  int port = 0;
  int threads = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 4);
  app.add_option("--config", config, "JSON file: the account, and what to emulate")->required();
  app.add_option("--root", root, "folder for the objects")->required();
  app.add_option("--listen", address, "address to listen on")->capture_default_str();
  app.add_option("--port", port, "port; 0 = any that is free")->check(CLI::Range(0, 65535));
  app.add_option("--threads", threads, "threads that serve")->check(CLI::Range(1, 64));
  CLI11_PARSE(app, argc, argv);
  try {
    std::signal(SIGPIPE, SIG_IGN);
    assay::emulator::Settings settings = assay::emulator::settings_from_json(
        assay::parse_json(assay::read_file(config), config), config);
    settings.root = root;
    assay::emulator::Emulator emulator(std::move(settings));
    assay::emulator::HttpServer server(emulator, address, port);
    fmt::print("listening on http://{}:{}\n", address, server.port());
    std::fflush(stdout);
    server.run(threads);
    return 0;
  } catch (const assay::Error& e) {
    fmt::print(stderr, "error: {}\n", e.what());
    return assay::exit_code(e.kind());
  }
}
