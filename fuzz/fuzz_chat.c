/* A conversation as JSON, laid out for training by templates of several kinds: the parts
 * cover the text, in order, and name messages that exist.
 * Links: text */
#include "fuzz.h"
#include "text/chat/chat.h"

static const char *const sources[] = {
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}",
    "{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ m.content }}"
    "{% endgeneration %}{% else %}{{ m.content|trim }}{% endif %}{% endfor %}",
    "{{ messages|tojson }}{{ tools|default([])|tojson(indent=2) }}",
};

static void check(const tk_chat_layout *layout, size_t n_messages)
{
    size_t at = 0;
    for (size_t i = 0; i < layout->n; i++) {
        const tk_chat_part *part = &layout->parts[i];
        if (part->begin != at || part->end <= at || part->message < -1 ||
            part->message >= (int64_t)n_messages) {
            fuzz_fail("parts");
        }
        at = part->end;
    }
    if (at != layout->text.n) {
        fuzz_fail("parts do not cover the text");
    }
}

int fuzz_record(const uint8_t *data, size_t size)
{
    tk_chat chat;
    tk_chat_init(&chat);
    if (tk_chat_add_json(&chat, (tk_str){(const char *)data, size}, NULL) == TINKC_OK) {
        for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
            tk_chat_template *tpl = NULL;
            if (tk_chat_template_new(&tpl, tk_str_of(sources[i]), NULL) != TINKC_OK) {
                fuzz_fail("the template");
            }
            const tk_chat_how how = {.has_now = true};
            tk_chat_layout layout;
            if (tk_chat_lay_out(&layout, tpl, &chat, &how, (tk_chat_loss)(size % 3),
                                NULL) == TINKC_OK) {
                check(&layout, chat.n);
                tk_chat_layout_dispose(&layout);
            }
            tk_chat_template_free(tpl);
        }
    }
    tk_chat_dispose(&chat);
    return 0;
}
