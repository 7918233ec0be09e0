/* Answers of every family, as their documents and templates have them, and what they are
 * taken apart into. Scripts: cafix.h. */
#ifndef SUPPORT_CA_ANSWERS_H
#define SUPPORT_CA_ANSWERS_H

#include "support/cafix.h"

#define S(token) CAFIX_S(token)

typedef struct answer {
    const char *format; /* a name, then '!' when the prompt ended inside reasoning */
    const char *script;
    const char *text, *reasoning, *calls;
    bool is_malformed;
} answer;

#define HERMES_F "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>"
#define DS(x)    "<｜tool▁" x "｜>"

static const answer rows[] = {
    /* Hermes, Qwen 2.5 and Qwen3 */
    {"hermes", "Hello, world!", "Hello, world!", "", "", false},
    {"hermes", " two\n", " two\n", "", "", false},
    {"hermes", HERMES_F, "", "", "f {\"a\": 1}\n", false},
    {"hermes", HERMES_F "\n" HERMES_F "\n", "", "", "f {\"a\": 1}\nf {\"a\": 1}\n",
     false},
    {"hermes", "I look.\n" HERMES_F S("<|im_end|>"), "I look.", "", "f {\"a\": 1}\n",
     false},
    {"hermes", "One\n" HERMES_F "\nTwo\n" HERMES_F, "One\nTwo", "",
     "f {\"a\": 1}\nf {\"a\": 1}\n", false},
    {"hermes", HERMES_F "\nDone.", "Done.", "", "f {\"a\": 1}\n", false},
    {"hermes",
     "<tool_call>{\"arguments\": {\"b\": [1,  {\"c\":\"}</tool_call>\"}]}, \"name\": "
     "\"g\\u0068\"}</tool_call>",
     "", "", "gh {\"b\": [1,  {\"c\":\"}</tool_call>\"}]}\n", false},
    {"hermes",
     S("<tool_call>") "\n{\"name\": \"f\", \"arguments\": {}}\n" S("</tool_call>"), "",
     "", "f {}\n", false},
    {"hermes", "<think>\nHm, ü.\n</think>\n\nYes.", "Yes.", "Hm, ü.", "", false},
    {"hermes", "<think>\n\n</think>\n\nYes.\n", "Yes.\n", "", "", false},
    {"hermes", "<think>\na\n</think>\n\n" HERMES_F, "", "a", "f {\"a\": 1}\n", false},
    {"hermes!", "a\n</think>\n\nb", "b", "a", "", false},
    {"hermes!", "<think>a</think>b", "b", "a", "", false},
    {"hermes!", "a is <tool_call> and\n</think>b", "b", "a is <tool_call> and", "",
     false},
    {"hermes!", "a\n" HERMES_F "\n</think>", "", "a", "f {\"a\": 1}\n", false},
    {"hermes!", "a\n\nb\n", "", "a\n\nb", "", false},
    {"hermes", "Say <think> or </think>.", "Say <think> or </think>.", "", "", false},
    {"hermes", "Say " S("<think>") "x" S("</think>") "y" S("</think>"), "Say y", "x", "",
     false},
    {"hermes", "<think>a</think>" HERMES_F "<think>b</think>", "", "a\nb",
     "f {\"a\": 1}\n", false},
    {"hermes", "a <tool_call>{\"name\": \"f\"}</tool_call> b",
     "a <tool_call>{\"name\": \"f\"}</tool_call> b", "", "", true},
    {"hermes", "a\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": tru",
     "a\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": tru", "", "", true},
    {"hermes", "<tool_call>{\"name\": \"f\", \"arguments\": {}}",
     "<tool_call>{\"name\": \"f\", \"arguments\": {}}", "", "", true},
    {"hermes", "<tool_call>{\"name\": \"f\", \"arguments\": \"{}\"}</tool_call>",
     "<tool_call>{\"name\": \"f\", \"arguments\": \"{}\"}</tool_call>", "", "", true},
    {"hermes", "<tool_call>{\"name\": \"\", \"arguments\": {}}</tool_call>",
     "<tool_call>{\"name\": \"\", \"arguments\": {}}</tool_call>", "", "", true},
    {"hermes", "<tool_call>{'name': 'f', 'arguments': {}}</tool_call>",
     "<tool_call>{'name': 'f', 'arguments': {}}</tool_call>", "", "", true},
    {"hermes", "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 01}}</tool_call>",
     "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 01}}</tool_call>", "", "",
     true},
    {"hermes", "<tool_call>\n" HERMES_F, "<tool_call>\n", "", "f {\"a\": 1}\n", true},
    {"hermes", "<tool_call>{\"name\": \"f\n" HERMES_F, "<tool_call>{\"name\": \"f", "",
     "f {\"a\": 1}\n", true},
    {"hermes", "<tool_call>{\"na" S("<|im_end|>") "me\"", "<tool_call>{\"name\"", "", "",
     true},
    {"hermes", "<tool_cal", "<tool_cal", "", "", false},
    {"hermes", "</tool_call>", "</tool_call>", "", "", false},
    {"none", HERMES_F, HERMES_F, "", "", false},
    {"hermes?", HERMES_F, HERMES_F, "", "", false},

    /* Qwen3-Coder */
    {"qwen-coder",
     "I do.\n<tool_call>\n<function=get_weather>\n<parameter=city>\nSan\nJosé\n</parameter>\n"
     "<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>",
     "I do.", "", "get_weather {\"city\":\"San\\nJosé\",\"days\":\"3\"}\n", false},
    {"qwen-coder", "<tool_call>\n<function=now>\n</function>\n</tool_call>", "", "",
     "now {}\n", false},
    {"qwen-coder",
     "<tool_call><function=f><parameter=a><b></parameter></function></tool_call>"
     "<tool_call><function=f><parameter=a>\n\n\n\n</parameter></function></tool_call>",
     "", "", "f {\"a\":\"<b>\"}\nf {\"a\":\"\\n\\n\"}\n", false},
    {"qwen-coder",
     "<tool_call>\n<function=f>\n<parameter=a>\n1\n</function>\n</tool_call>",
     "<tool_call>\n<function=f>\n<parameter=a>\n1\n</function>\n</tool_call>", "", "",
     true},
    {"qwen-coder", "<function=f></function>", "<function=f></function>", "", "", false},
    {"qwen-coder", HERMES_F, HERMES_F, "", "", true},

    /* Llama 3 */
    {"llama3", "{\"name\": \"f\", \"parameters\": {\"a\": \"x\"}}", "", "",
     "f {\"a\": \"x\"}\n", false},
    {"llama3",
     S("<|python_tag|>") "{\"name\": \"f\", \"parameters\": {}}" S("<|eom_id|>"), "", "",
     "f {}\n", false},
    {"llama3",
     "{\"type\": \"function\", \"name\": \"f\", \"arguments\": {}}; {\"name\": \"g\", "
     "\"parameters\": {}}\n{\"name\": \"h\", \"parameters\": {}}",
     "", "", "f {}\ng {}\nh {}\n", false},
    {"llama3", "I will call <|python_tag|>{\"name\": \"f\", \"parameters\": {}}",
     "I will call", "", "f {}\n", false},
    {"llama3", "{\"answer\": 3}", "{\"answer\": 3}", "", "", false},
    {"llama3", "{\"name\": \"Bob\"}; {", "{\"name\": \"Bob\"}; {", "", "", false},
    {"llama3", "{\"name\": \"f\", \"parameters\": {\"a\"",
     "{\"name\": \"f\", \"parameters\": {\"a\"", "", "", true},
    {"llama3", "See {\"name\": \"f\", \"parameters\": {}}",
     "See {\"name\": \"f\", \"parameters\": {}}", "", "", false},
    {"llama3", S("<|python_tag|>") "print(1)" S("<|eom_id|>"), "<|python_tag|>print(1)",
     "", "", true},
    {"llama3", "{\"name\": \"f\", \"parameters\": {}, \"arguments\": {}}",
     "{\"name\": \"f\", \"parameters\": {}, \"arguments\": {}}", "", "", true},
    {"llama3", "{}", "{}", "", "", false},

    {"llama3",
     S("<|python_start|>") "Hm." S(
         "<|python_end|>") "{\"name\": \"f\", \"parameters\": {}}",
     "Hm.", "", "f {}\n", false},
    {"llama3",
     "Hm.<|python_tag|>{\"name\": \"f\", \"parameters\": {}}{\"name\": \"g\", \"parameters\": {}}",
     "Hm.", "", "f {}\ng {}\n", false},

    /* Mistral */
    {"mistral",
     S("[TOOL_CALLS]") "[{\"name\": \"f\", \"arguments\": {\"a\": 1}, \"id\": \"abcdefghi\"}, "
                       "{\"arguments\": {}, \"name\": \"g\"}]" S("</s>"),
     "", "", "f {\"a\": 1} #abcdefghi\ng {}\n", false},
    {"mistral", "Text[TOOL_CALLS] [{\"name\": \"f\", \"arguments\": {}}]\n", "Text", "",
     "f {}\n", false},
    {"mistral",
     S("[TOOL_CALLS]") "f" S("[ARGS]") "{\"a\": \"[TOOL_CALLS]\"}" S(
         "[TOOL_CALLS]") "g-2" S("[CALL_ID]") "123456789" S("[ARGS]") "{}" S("</s>"),
     "", "", "f {\"a\": \"[TOOL_CALLS]\"}\ng-2 {} #123456789\n", false},
    {"mistral", "[TOOL_CALLS]f{\"a\": {}}", "", "", "f {\"a\": {}}\n", false},
    {"mistral", "[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {}}, {\"name\": \"g\"}]",
     "[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {}}, {\"name\": \"g\"}]", "", "",
     true},
    {"mistral", "[TOOL_CALLS][]", "[TOOL_CALLS][]", "", "", true},
    {"mistral", "[TOOL_CALLS]f[ARGS]", "[TOOL_CALLS]f[ARGS]", "", "", true},
    {"mistral", "[TOOL_CALLS]f g", "[TOOL_CALLS]f g", "", "", true},
    {"mistral", "[TOOL", "[TOOL", "", "", false},
    {"mistral", "[THINK]Hm.[/THINK]Yes.", "Yes.", "Hm.", "", false},
    {"mistral", S("[ARGS]") "x", "x", "", "", false},

    /* DeepSeek */
    {"deepseek",
     "Hi\n" DS("calls▁begin")
         DS("call▁begin") "function" DS("sep") "f\n```json\n{\"a\": \"`\"}\n```" DS(
             "call▁end") "\n" DS("call▁begin") "function" DS("sep") "g\n```json\n{}\n```" DS("call▁end")
             DS("calls▁end") S("<｜end▁of▁sentence｜>"),
     "Hi", "", "f {\"a\": \"`\"}\ng {}\n", false},
    {"deepseek!",
     "r</think>" S(DS("calls▁begin")) S(DS("call▁begin")) "f" S(DS("sep")) "{\"a\": 1}" S(
         DS("call▁end")) S(DS("call▁begin")) "g" S(DS("sep")) "{}" S(DS("call▁end"))
         S(DS("calls▁end")),
     "", "r", "f {\"a\": 1}\ng {}\n", false},
    {"deepseek", DS("calls▁begin") DS("call▁begin") "f" DS("sep") "{}" DS("call▁end"), "",
     "", "f {}\n", false},
    {"deepseek", DS("call▁begin") "f" DS("sep") "{}" DS("call▁end"),
     DS("call▁begin") "f" DS("sep") "{}" DS("call▁end"), "", "", true},
    {"deepseek",
     DS("calls▁begin") DS("call▁begin") "f" DS("sep") "{}" DS("call▁end")
         DS("call▁begin") "x",
     DS("call▁begin") "x", "", "f {}\n", true},
    {"deepseek", "<｜tool", "<｜tool", "", "", false},

    /* Kimi */
    {"kimi",
     "So.<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0"
     "<|tool_call_argument_begin|>{\"city\": \"Tokyo\"}<|tool_call_end|>"
     "<|tool_call_begin|>functions.now:1<|tool_call_argument_begin|><|tool_call_end|>"
     "<|tool_calls_section_end|>",
     "So.", "",
     "get_weather {\"city\": \"Tokyo\"} #functions.get_weather:0\nnow {} #functions.now:1\n",
     false},
    {"kimi",
     "<think>r</think>" S("<|tool_calls_section_begin|>")
         S("<|tool_call_begin|>") "f:12" S("<|tool_call_argument_begin|>") " {} " S(
             "<|tool_call_end|>") S("<|tool_calls_section_end|>") S("<|im_end|>"),
     "", "r", "f {} #f:12\n", false},
    {"kimi",
     "<|tool_calls_section_begin|><|tool_call_begin|>f<|tool_call_argument_begin|>{}"
     "<|tool_call_end|><|tool_calls_section_end|>",
     "<|tool_calls_section_begin|><|tool_call_begin|>f<|tool_call_argument_begin|>{}"
     "<|tool_call_end|><|tool_calls_section_end|>",
     "", "", true},

    /* DeepSeek V3.2 and V4 */
    {"dsml",
     "I look.\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"a\" "
     "string=\"true\">1 <b>\n</｜DSML｜parameter>\n<｜DSML｜parameter name=\"b\" string=\"false\">[1, "
     "{}]</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"g\">\n</｜DSML｜invoke>\n"
     "</｜DSML｜function_calls>" S("<｜end▁of▁sentence｜>"),
     "I look.", "", "f {\"a\":\"1 <b>\\n\",\"b\":[1,{}]}\ng {}\n", false},
    {"dsml!",
     "r</think><" S("｜DSML｜") "tool_calls>\n<" S("｜DSML｜") "invoke name=\"f\">\n</" S(
         "｜DSML｜") "invoke>\n</" S("｜DSML｜") "tool_calls>",
     "", "r", "f {}\n", false},
    {"dsml",
     "<｜DSML｜tool_calls><｜DSML｜invoke name=\"f\"><｜DSML｜parameter name=\"b\" string=\"false\">x"
     "</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜tool_calls>",
     "<｜DSML｜tool_calls><｜DSML｜invoke name=\"f\"><｜DSML｜parameter name=\"b\" string=\"false\">x"
     "</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜tool_calls>",
     "", "", true},
    {"dsml", "<｜DSML｜invoke name=\"f\">", "<｜DSML｜invoke name=\"f\">", "", "", true},

    /* GLM */
    {"glm",
     "\n<think>r</think>\nI do.\n<tool_call>f\n<arg_key>a</arg_key>\n<arg_value> 1 </arg_value>\n"
     "</tool_call>" S("<|observation|>"),
     "I do.", "r", "f {\"a\":\" 1 \"}\n", false},
    {"glm!",
     "r</think><tool_call>f<arg_key>a</arg_key><arg_value><x></arg_value></tool_call>"
     "<tool_call>g</tool_call>",
     "", "r", "f {\"a\":\"<x>\"}\ng {}\n", false},
    {"glm", "<tool_call>f<arg_key>a</arg_key></tool_call>",
     "<tool_call>f<arg_key>a</arg_key></tool_call>", "", "", true},
    {"glm", "<tool_call></tool_call>", "<tool_call></tool_call>", "", "", true},

    /* harmony */
    {"harmony", "<|channel|>final<|message|>Hello\n<|return|>", "Hello\n", "", "", false},
    {"harmony",
     S("<|channel|>") "analysis" S("<|message|>") " I think " S("<|end|>")
         S("<|start|>") "assistant" S("<|channel|>") "final" S("<|message|>") "Hi" S(
             "<|return|>"),
     "Hi", " I think ", "", false},
    {"harmony",
     "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>commentary "
     "to=functions.f <|constrain|>json<|message|>{\"a\": 1}<|call|>",
     "", "a", "f {\"a\": 1}\n", false},
    {"harmony",
     "<|channel|>analysis<|message|>a<|end|><|start|>assistant to=functions.f<|channel|>"
     "commentary json<|message|>{\"a\": 1}<|call|>",
     "", "a", "f {\"a\": 1}\n", false},
    {"harmony", " to=functions.f<|channel|>commentary <|constrain|>json<|message|>{}", "",
     "", "f {}\n", false},
    {"harmony",
     "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>commentary "
     "to=functions.f<|message|>{}<|call|>",
     "I look.", "", "f {}\n", false},
    {"harmony",
     "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>analysis<|message|>b"
     "<|start|>assistant<|channel|>final<|message|>c",
     "c", "a\nb", "", false},
    {"harmony!", "more<|end|><|start|>assistant<|channel|>final<|message|>c", "c", "more",
     "", false},
    {"harmony", "Just text", "Just text", "", "", false},
    {"harmony", "<|channel|>commentary to=python<|message|>1+1<|call|>",
     "<|channel|>commentary to=python<|message|>1+1", "", "", true},
    {"harmony", "<|channel|>commentary to=functions.f<|message|>{\"a\"",
     "<|channel|>commentary to=functions.f<|message|>{\"a\"", "", "", true},
    {"harmony?",
     "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>c",
     "c", "a", "", false},
    {"harmony", "to=be", "to=be", "", "", false},
    {"harmony", "<|channel|>what<|message|>x", "<|channel|>what<|message|>x", "", "",
     true},
};

#endif
