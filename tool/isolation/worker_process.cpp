#include "isolation/worker_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
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

// This process's own, without empty ones that have a default: as the library reads them, those are not set.
std::vector<std::string> environment_of(const WorkerCommand& command) {
  std::vector<std::string> variables;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    variables.emplace_back(*each);
  }
  for (const std::string& each : command.defaults) {
    const std::string name_and_equals = each.substr(0, each.find('=') + 1);
    std::erase(variables, name_and_equals);
    const bool set = std::any_of(variables.begin(), variables.end(),
                                 [&](const std::string& variable) { return variable.starts_with(name_and_equals); });
    if (!set) {
      variables.push_back(each);
    }
  }
  return variables;
}

// As exec() takes them: pointers into `texts`, and a null.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
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
  const std::vector<char*> argv = pointers_to(arguments);
  std::vector<std::string> variables = environment_of(command);
  const std::vector<char*> environment = pointers_to(variables);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, argv.front(), &actions, &attributes, argv.data(), environment.data());
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
