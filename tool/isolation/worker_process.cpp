#include "isolation/worker_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>

#include "isolation/worker.h"

namespace flagos::diag {
namespace {

// The worker's ends of the pipes, above the three standard ones.
constexpr int kIn = 3;
constexpr int kOut = 4;
// The parent's ends are moved above those, so that dup2() in the child never meets one of them.
constexpr int kAboveWorkers = 10;

struct Pipe {
  int read = -1;
  int write = -1;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error(fmt::format("no pipe to a worker: {}", std::strerror(errno)));
  }
  Pipe moved{fcntl(ends[0], F_DUPFD_CLOEXEC, kAboveWorkers), fcntl(ends[1], F_DUPFD_CLOEXEC, kAboveWorkers)};
  const int error = errno;  // EINVAL: the limit is below kAboveWorkers
  close(ends[0]);
  close(ends[1]);
  if (moved.read < 0 || moved.write < 0) {
    throw std::runtime_error(
        fmt::format("no pipe to a worker: {}; see ulimit -n", std::strerror(error == EINVAL ? EMFILE : error)));
  }
  return moved;
}

std::vector<std::string> arguments_of(const WorkerCommand& command) {
  std::vector<std::string> arguments = command.program;
  arguments.insert(arguments.end(),
                   {kWorkerFlag, std::to_string(kIn), std::to_string(kOut), std::to_string(command.seed)});
  if (!command.trace.empty()) {
    arguments.push_back(command.trace);
  }
  return arguments;
}

pid_t spawn(const WorkerCommand& command, int in, int out) {
  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in, kIn);
  posix_spawn_file_actions_adddup2(&actions, out, kOut);
  if (command.show_messages) {
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  posix_spawnattr_t attributes{};
  posix_spawnattr_init(&attributes);
  // A group of its own: Ctrl-C at the terminal is the parent's to handle.
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::vector<std::string> arguments = arguments_of(command);
  std::vector<char*> argv;
  for (auto& argument : arguments) {
    argv.push_back(argument.data());
  }
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, argv.front(), &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    throw std::runtime_error(fmt::format("can't start a worker, {}: {}", arguments.front(), std::strerror(error)));
  }
  return pid;
}

std::string ending(int status) {
  if (WIFSIGNALED(status)) {
    const char* name = sigabbrev_np(WTERMSIG(status));
    return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", WTERMSIG(status));
  }
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

}  // namespace

WorkerProcess::WorkerProcess(const WorkerCommand& command) {
  const Pipe requests = make_pipe();
  const Pipe answers = make_pipe();
  to_worker_ = requests.write;
  from_worker_ = answers.read;
  lines_ = LineReader(from_worker_);
  std::signal(SIGPIPE, SIG_IGN);  // a dead worker is told by write()'s error
  try {
    pid_ = spawn(command, requests.read, answers.write);
  } catch (...) {
    close(to_worker_);
    close(from_worker_);
    close(requests.read);
    close(answers.write);
    throw;
  }
  close(requests.read);
  close(answers.write);
}

WorkerProcess::~WorkerProcess() {
  close(to_worker_);
  close(from_worker_);
  if (pid_ > 0) {
    kill();
    how_it_ended();
  }
}

void WorkerProcess::kill() const { ::kill(pid_, SIGKILL); }

std::string WorkerProcess::how_it_ended() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return ending(status);
}

}  // namespace flagos::diag
