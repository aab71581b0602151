#include "recording/watched_program.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>

#include "cli/exit_code.h"

namespace flagos::diag {
namespace {

constexpr int kSignalled = 128;

volatile pid_t g_program = 0;

// A terminal sends Ctrl-C to the whole foreground group: the program has it already, and must not get it twice.
void pass_on(int signal, siginfo_t* info, void* /*context*/) {
  if (info->si_code <= 0 && g_program > 0) {
    kill(g_program, signal);
  }
}

// While it lives, signals for this process are the program's.
class PassedOn {
 public:
  PassedOn() {
    struct sigaction action {};
    action.sa_sigaction = &pass_on;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(SIGINT, &action, &interrupt_);
    sigaction(SIGTERM, &action, &terminate_);
  }
  ~PassedOn() {
    g_program = 0;
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGTERM, &terminate_, nullptr);
  }
  PassedOn(const PassedOn&) = delete;
  PassedOn& operator=(const PassedOn&) = delete;
  PassedOn(PassedOn&&) = delete;
  PassedOn& operator=(PassedOn&&) = delete;

 private:
  struct sigaction interrupt_ {};
  struct sigaction terminate_ {};
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) {
    all.push_back(text.data());
  }
  all.push_back(nullptr);
  return all;
}

std::vector<std::string> environment_with(const Variables& variables) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    bool replaced = false;
    for (const auto& [name, value] : variables) {
      replaced = replaced || text.starts_with(name + "=");
    }
    if (!replaced) {
      all.push_back(text);
    }
  }
  for (const auto& [name, value] : variables) {
    all.push_back(name + "=" + value);
  }
  return all;
}

}  // namespace

ProgramEnd run_program(const std::vector<std::string>& program, const Variables& variables) {
  std::vector<std::string> words = program;
  std::vector<std::string> environment = environment_with(variables);
  const PassedOn passed_on;
  pid_t pid = 0;
  const int error =
      posix_spawnp(&pid, words.front().c_str(), nullptr, nullptr, pointers(words).data(), pointers(environment).data());
  if (error != 0) {
    throw UsageError(fmt::format("can't run {}: {}.", program.front(), std::strerror(error)));
  }
  g_program = pid;
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) {
      throw std::runtime_error(fmt::format("lost {}: {}", program.front(), std::strerror(errno)));
    }
  }
  if (WIFSIGNALED(status)) {
    return {kSignalled + WTERMSIG(status), pid, WTERMSIG(status)};
  }
  return {WEXITSTATUS(status), pid, 0};
}

}  // namespace flagos::diag
