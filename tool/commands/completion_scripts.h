// The completion scripts, and what they are put together with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/interface.h"

namespace flagos::diag {

// Note [Operators in completions]
// There are thousands of operators, and which depends on the torch that runs. So a script asks the program for their
// names, once in a shell: `completion --operators` takes the time of loading torch.

std::string bash_script(const Interface& interface);
std::string zsh_script(const Interface& interface);
std::string fish_script(const Interface& interface);

// Replaces each `mark` in `text`.
void replace_marks(std::string& text, std::string_view mark, const std::string& with);

// `text` in single quotes, as all three shells read them.
std::string in_quotes(const std::string& text);

// "FP-CONJ" and so on.
std::vector<std::string> reason_codes();

std::vector<std::string> command_names(const Interface& interface);

}  // namespace flagos::diag
