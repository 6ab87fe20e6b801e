// A file that one agent offers and another fetches, over real connections of this machine.

#include <future>
#include <thread>

#include <arpa/inet.h>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/connectivity.h"
#include "agent/file_fetch.h"
#include "agent/file_offer.h"
#include "core/files.h"
#include "core/secret_token.h"
#include "core/sha256.h"
#include "temporary_folder.h"

namespace assay::agent {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr std::uint64_t kPiece = 1 << 16;
constexpr const char* kToken = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

std::string content(std::size_t size) {
  std::string out(size, '\0');
  unsigned state = 7;
  for (char& c : out) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return out;
}

FileContent described(const std::string& text) {
  FileContent out{text.size(), kPiece, {}};
  for (std::size_t at = 0; at < text.size(); at += kPiece)
    out.pieces.push_back(sha256(std::string_view(text).substr(at, kPiece)));
  return out;
}

class SharedFile : public ::testing::Test {
 protected:
  SharedFile() : thread_([this] { loop_.run(); }) {}
  ~SharedFile() override {
    run_on_loop([this] { offer_.close(); });
    work_.reset();
    thread_.join();
  }
  template <class F>
  void run_on_loop(F what) {
    std::promise<void> done;
    asio::post(loop_, [&] {
      what();
      done.set_value();
    });
    done.get_future().wait();
  }
  FileOffered offer(const std::string& text, Nanoseconds limit = 60s) {
    write_file_atomic(folder_.path() / "from", text, /*sync=*/false);
    FileOffered out;
    run_on_loop([&] {
      out = offer_.offer({folder_.path() / "from", text.size(), "127.0.0.1", kToken, limit});
    });
    return out;
  }
  [[nodiscard]] FetchFileRequest request(const std::string& text, int port) const {
    return {target(), described(text), "127.0.0.1", port, kToken, 60s};
  }
  [[nodiscard]] std::filesystem::path target() const { return folder_.path() / "to/x.part"; }
  static FileFetched fetch(const FetchFileRequest& request) {
    return fetch_file(request, [](std::uint64_t) {});
  }

  const testing::TemporaryFolder folder_;
  asio::io_context loop_;
  asio::executor_work_guard<asio::io_context::executor_type> work_{loop_.get_executor()};
  FileOffer offer_{loop_};
  std::thread thread_;
};

TEST_F(SharedFile, ComesWholeAndIsCheckedPieceByPiece) {
  for (const std::size_t size : {std::size_t(0), std::size_t(1), std::size_t(kPiece),
                                 std::size_t(kPiece * 5), std::size_t(kPiece * 5 + 17)}) {
    std::filesystem::remove(target());
    const std::string text = content(size);
    const FileOffered offered = offer(text);
    ASSERT_EQ(offered.problem, "");
    const FileFetched fetched = fetch(request(text, offered.port));
    EXPECT_EQ(fetched.fault, FetchFault::none) << fetched.problem;
    EXPECT_EQ(fetched.have, size);
    EXPECT_EQ(fetched.moved, size);
    EXPECT_EQ(read_file(target()), text);
  }
}

TEST_F(SharedFile, IsOfferedStillAfterAMomentWithoutDescriptors) {
  const std::string text = content(kPiece);
  const FileOffered offered = offer(text);
  const UniqueFd stranger(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none_left = before;
  none_left.rlim_cur = static_cast<rlim_t>(stranger.get()) + 1;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none_left), 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(offered.port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(stranger.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
            0);
  ::poll(nullptr, 0, 300);  // accept fails meanwhile, more than once
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  const FileFetched fetched = fetch(request(text, offered.port));
  EXPECT_EQ(fetched.fault, FetchFault::none) << fetched.problem;
  EXPECT_EQ(read_file(target()), text);
}

TEST_F(SharedFile, GoesOnAfterWhatIsThereAndRight) {
  const std::string text = content(kPiece * 4 + 5);
  const FileOffered offered = offer(text);
  std::filesystem::create_directories(target().parent_path());
  std::string left = text.substr(0, kPiece * 3 + 100);
  left[kPiece * 2 + 1] = static_cast<char>(left[kPiece * 2 + 1] + 1);  // the third piece is damaged
  write_file_atomic(target(), left, /*sync=*/false);
  const FileFetched fetched = fetch(request(text, offered.port));
  EXPECT_EQ(fetched.fault, FetchFault::none) << fetched.problem;
  EXPECT_EQ(fetched.moved, text.size() - kPiece * 2);
  EXPECT_EQ(read_file(target()), text);
  // What is whole needs no connection.
  const FileFetched again = fetch(request(text, 1));
  EXPECT_EQ(again.fault, FetchFault::none) << again.problem;
  EXPECT_EQ(again.moved, 0u);
}

TEST_F(SharedFile, DamagedBytesAreNotWrittenAndWhatCameBeforeStays) {
  const std::string text = content(kPiece * 4);
  std::string other = text;
  other[kPiece * 2] = static_cast<char>(other[kPiece * 2] ^ 1);
  const FileOffered offered = offer(other);
  const FileFetched fetched = fetch(request(text, offered.port));
  EXPECT_EQ(fetched.fault, FetchFault::damaged);
  EXPECT_THAT(fetched.problem, HasSubstr("another hash"));
  EXPECT_EQ(fetched.have, kPiece * 2);
  EXPECT_EQ(read_file(target()), text.substr(0, kPiece * 2));
}

TEST_F(SharedFile, WithoutTheTokenThereIsNoByte) {
  const std::string text = content(100);
  const FileOffered offered = offer(text);
  for (const std::string& greeting :
       {"ASSAY-FILE " + std::string(64, '0') + " 0\n", std::string("ASSAY-FILE  0\n"),
        std::string("GET / HTTP/1.1\r\n\r\n"), std::string(1000, 'x'),
        "ASSAY-FILE " + std::string(kToken) + " 101\n",
        "ASSAY-FILE " + std::string(kToken) + " -1\n"}) {
    const Connection stranger = connect_one("127.0.0.1", offered.port, 3s);
    ASSERT_EQ(stranger.problem, "");
    (void)::send(stranger.socket.get(), greeting.data(), greeting.size(), MSG_NOSIGNAL);
    pollfd ready{stranger.socket.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&ready, 1, 20'000), 1) << greeting;
    char byte = 0;
    EXPECT_LE(::recv(stranger.socket.get(), &byte, 1, 0), 0) << greeting;
  }
  FetchFileRequest wrong = request(text, offered.port);
  wrong.token = make_token();
  EXPECT_EQ(fetch(wrong).fault, FetchFault::broken);
}

TEST_F(SharedFile, StrangersThatSayNothingAreDismissedAndTheOthersServed) {
  const std::string text = content(kPiece * 3);
  const FileOffered offered = offer(text);
  std::vector<Connection> silent;
  for (std::size_t i = 0; i < FileOffer::kConnections; ++i)
    silent.push_back(connect_one("127.0.0.1", offered.port, 3s));
  // Turned away as long as the strangers are there, which is not for long.
  FileFetched fetched;
  for (int attempt = 0; attempt < 200; ++attempt) {
    fetched = fetch(request(text, offered.port));
    if (fetched.fault == FetchFault::none) break;
    EXPECT_EQ(fetched.fault, FetchFault::broken) << fetched.problem;
    std::this_thread::sleep_for(100ms);
  }
  EXPECT_EQ(fetched.fault, FetchFault::none) << fetched.problem;
}

TEST_F(SharedFile, AFileThatIsNotWholeIsNotOffered) {
  const std::string text = content(100);
  write_file_atomic(folder_.path() / "from", text, /*sync=*/false);
  FileOffered offered;
  run_on_loop([&] {
    offered = offer_.offer({folder_.path() / "from", 101, "127.0.0.1", kToken, 60s});
  });
  EXPECT_THAT(offered.problem, HasSubstr("not whole"));
  run_on_loop([&] {
    offered = offer_.offer({folder_.path() / "none", 101, "127.0.0.1", kToken, 60s});
  });
  EXPECT_THAT(offered.problem, HasSubstr("none"));
  run_on_loop([&] {
    offered = offer_.offer({folder_.path() / "from", 100, "203.0.113.9", kToken, 60s});
  });
  EXPECT_THAT(offered.problem, HasSubstr("cannot listen on 203.0.113.9"));
}

TEST_F(SharedFile, ThePortIsClosedWhenTheOfferIsOver) {
  const std::string text = content(100);
  const FileOffered offered = offer(text, 1ms);
  FileFetched fetched;
  for (int attempt = 0; attempt < 200 && fetched.problem != "refused"; ++attempt) {
    std::filesystem::remove(target());
    fetched = fetch(request(text, offered.port));
  }
  EXPECT_EQ(fetched.fault, FetchFault::unreachable);
}

TEST_F(SharedFile, ASourceThatDripsOrStandsStillIsGivenUpInTime) {
  Listening listening = listen_on(0);
  const std::string text = content(kPiece * 4);
  FetchFileRequest wanted = request(text, listening.port);
  wanted.limit = 1500ms;
  const FileFetched fetched = fetch(wanted);
  EXPECT_EQ(fetched.fault, FetchFault::slow);
  EXPECT_THAT(fetched.problem, HasSubstr("not there within"));
}

TEST_F(SharedFile, WhatSomebodyElseReceivesIsLeftToThem) {
  const std::string text = content(100);
  const FileOffered offered = offer(text);
  std::filesystem::create_directories(target().parent_path());
  const UniqueFd other(::open(target().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::flock(other.get(), LOCK_EX), 0);
  const FileFetched fetched = fetch(request(text, offered.port));
  EXPECT_EQ(fetched.fault, FetchFault::own);
  EXPECT_EQ(read_file(target()), "");
}

TEST_F(SharedFile, PiecesThatDoNotMakeUpTheFileAreRefused) {
  FetchFileRequest wanted = request(content(100), 1);
  wanted.content.pieces.push_back(wanted.content.pieces[0]);
  EXPECT_EQ(fetch(wanted).fault, FetchFault::own);
  wanted.content.piece_bytes = 0;
  EXPECT_EQ(fetch(wanted).fault, FetchFault::own);
  wanted.content.piece_bytes = std::uint64_t(1) << 60;
  EXPECT_EQ(fetch(wanted).fault, FetchFault::own);
}

}  // namespace
}  // namespace assay::agent
