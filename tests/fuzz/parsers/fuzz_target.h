// What a fuzz target is: one parser, fed with bytes. libFuzzer's entry point and the replay of seeds both call it.
#pragma once

#include <string>
#include <string_view>

namespace flagos::fuzz {

// Parses `input`; whether it was accepted. A refusal's text has been through require_clear(). Anything else that the
// parser does, another exception above all, ends the process.
bool accepts(std::string_view input);

// Ends the process unless `text`, of an error or a warning, names `subject`, is printable and is short.
void require_clear(std::string_view text, std::string_view subject);

}  // namespace flagos::fuzz
