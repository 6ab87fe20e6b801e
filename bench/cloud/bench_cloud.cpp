// The cloud clients against curl, on loopback, with the emulator as the store. Both sides alternate
// in sending the same bytes to the same process; medians are compared.
//   bench_cloud [MiB of the large file = 1024] [rounds = 5] [small files = 5000] [transfers at once
//   = 8]

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>

#include "cloud/obs.h"
#include "cloud/sync.h"
#include "core/error.h"
#include "core/files.h"
#include "core/subprocess.h"
#include "core/time.h"
#include "e2e/cloud/emulator_process.h"

namespace {

namespace fs = std::filesystem;
using namespace assay;
using namespace assay::cloud;

double seconds_of(const std::function<void()>& f) {
  const std::int64_t start = mono_now_ns();
  f();
  return seconds(Nanoseconds(mono_now_ns() - start));
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double peak_mib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

/// CPU time used so far by this process, and by another one.
double own_cpu() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}
double cpu_of(pid_t process) {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

void curl(std::vector<std::string> args) {
  args.insert(args.begin(), {"curl", "-sSf", "--noproxy", "*"});
  CommandOptions options;
  options.timeout = std::chrono::minutes(5);
  const CommandResult result = run_command(args, options);
  if (!result.status.ok()) throw Error(ErrorKind::environment, "curl failed: " + result.err);
}

void fill(const fs::path& path, std::uint64_t bytes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::ofstream out(path, std::ios::binary);
  std::vector<std::uint64_t> block(1 << 13);
  while (bytes > 0) {
    for (auto& word : block) word = random();
    const std::uint64_t n = std::min<std::uint64_t>(bytes, block.size() * 8);
    out.write(reinterpret_cast<const char*>(block.data()), static_cast<std::streamsize>(n));
    bytes -= n;
  }
}

void compare(const std::string& what, const std::vector<double>& ours,
             const std::vector<double>& theirs, double target) {
  const double ratio = median(theirs) / median(ours);
  fmt::print("{:<44} assay {:7.3f} s   curl {:7.3f} s   {:5.2f} times (target {:.1f}) {}\n", what,
             median(ours), median(theirs), ratio, target, ratio >= target ? "ok" : "MISSED");
}

void large_file(ObsBucket& store, const fs::path& folder, std::uint64_t mib, int rounds) {
  const fs::path file = folder / "large.bin";
  const fs::path back = folder / "back.bin";
  fill(file, mib << 20, 1);
  std::vector<double> up_ours, up_theirs, down_ours, down_theirs;
  const double before = peak_mib();
  for (int i = 0; i < rounds; ++i) {
    const std::string put = store.signed_url("PUT", "theirs", 3600);
    const std::string get = store.signed_url("GET", "theirs", 3600);
    up_theirs.push_back(seconds_of([&] { curl({"-T", file.string(), put}); }));
    up_ours.push_back(seconds_of([&] { store.put_file("ours", file); }));
    down_theirs.push_back(seconds_of([&] { curl({"-o", back.string(), get}); }));
    fs::remove(back);
    down_ours.push_back(seconds_of([&] { store.get_file("ours", back); }));
    fs::remove(back);
  }
  compare(fmt::format("one file of {} MiB, up", mib), up_ours, up_theirs, 1.0);
  compare(fmt::format("one file of {} MiB, down", mib), down_ours, down_theirs, 1.0);
  fmt::print("memory: {:.0f} MiB more at the peak than before the large file\n",
             peak_mib() - before);
  store.remove("ours");
  store.remove("theirs");
  fs::remove(file);
}

void small_files(ObsBucket& store, pid_t emulator, const fs::path& folder, int count,
                 const std::string& note, int rounds) {
  const fs::path files = folder / "small";
  make_directories(files);
  std::string config;
  for (int i = 0; i < count; ++i) {
    const std::string name = fmt::format("file-{:05}", i);
    if (!fs::exists(files / name)) fill(files / name, 4096, static_cast<std::uint64_t>(i));
    config += fmt::format("{}upload-file = \"{}\"\nurl = \"{}\"\n", i > 0 ? "next\n-sSf\n" : "",
                          (files / name).string(), store.signed_url("PUT", "serial/" + name, 3600));
  }
  write_file_atomic(folder / "curl.conf", config, false);
  std::vector<double> ours, theirs, again, client_cpu, store_cpu;
  for (int i = 0; i < rounds; ++i) {
    // One process, one connection, one file after another.
    theirs.push_back(seconds_of([&] { curl({"-K", (folder / "curl.conf").string()}); }));
    const std::string prefix = fmt::format("ours-{}-{}/", note.size(), i);
    const double client_before = own_cpu();
    const double store_before = cpu_of(emulator);
    ours.push_back(seconds_of([&] { (void)sync_files(store, content_of(files).files, prefix); }));
    client_cpu.push_back(own_cpu() - client_before);
    store_cpu.push_back(cpu_of(emulator) - store_before);
    again.push_back(seconds_of([&] {
      if (sync_files(store, content_of(files).files, prefix).uploaded != 0)
        throw Error(ErrorKind::internal, "a second sync uploaded something");
    }));
  }
  compare(fmt::format("{} files of 4 KiB, up, {}", count, note), ours, theirs, 5.0);
  fmt::print("{:<44} assay {:7.0f} µs, the store {:.0f} µs\n", "  CPU time of a file",
             median(client_cpu) / count * 1e6, median(store_cpu) / count * 1e6);
  fmt::print("{:<44} assay {:7.3f} s, nothing uploaded\n", "  again, nothing changed",
             median(again));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int mib = argc > 1 ? std::atoi(argv[1]) : 1024;
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
    const int count = argc > 3 ? std::atoi(argv[3]) : 5000;
    const assay::testing::TemporaryFolder temporary;
    const EmulatorProcess emulator(
        temporary.path(),
        {{"access_key", "AKBENCH"}, {"secret_key", "bench-secret"}, {"buckets", {"bench"}}});
    http::ClientOptions direct;
    http::Client client(direct);
    FixedCredentials key({"AKBENCH", "bench-secret", ""});
    ObsOptions options;
    options.endpoint = emulator.url();
    if (argc > 4) options.parallel = std::atoi(argv[4]);
    ObsBucket store(client, key, options, "bench");
    large_file(store, temporary.path(), static_cast<std::uint64_t>(mib), rounds);
    small_files(store, emulator.pid(), temporary.path(), count, "no delay", rounds);
    // A cloud is a few milliseconds away.
    (void)emulator.control(client, "POST", "faults",
                           {{"kind", "delay"}, {"delay_ms", 5}, {"method", "PUT"}, {"count", -1}});
    options.parallel = 32;
    ObsBucket far(client, key, options, "bench");
    small_files(far, emulator.pid(), temporary.path(), count, "5 ms away", 1);
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "error: {}\n", e.what());
    return 1;
  }
}
