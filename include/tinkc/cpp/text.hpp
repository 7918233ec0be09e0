/* Tokenizers, chat templates and conversations: <tinkc/tokenizer.h>, <tinkc/chat.h>. A
 * library built without TINKC_TEXT does not have these functions. Thread: tokenizers and
 * templates are immutable, any number of threads may use them; other objects one at a
 * time. */
#ifndef TINKC_CPP_TEXT_HPP
#define TINKC_CPP_TEXT_HPP

#include <functional>

#include <tinkc/cpp/future.hpp>
#include <tinkc/cpp/values.hpp>

namespace tinkc
{

/* The ids of a text: a range of them. */
class encoding : public detail::handle<tinkc_encoding, tinkc_encoding_free>
{
  public:
    using handle::handle;
    /* Returns the ids, without a copy. */
    span<const std::int32_t> ids() const noexcept
    {
        std::size_t n = 0;
        const std::int32_t *ids = tinkc_encoding_ids(&n, c_);
        return {ids, n};
    }
    const std::int32_t *data() const noexcept { return ids().data(); }
    std::size_t size() const noexcept { return ids().size(); }
    const std::int32_t *begin() const noexcept { return ids().begin(); }
    const std::int32_t *end() const noexcept { return ids().end(); }
    std::int32_t operator[](std::size_t i) const noexcept { return ids()[i]; }
    /* Returns two numbers per id, the bytes [begin, end) of the text that it covers; nothing
     * unless options.offsets was set. */
    span<const std::size_t> offsets() const noexcept
    {
        std::size_t n = 0;
        const std::size_t *offsets = tinkc_encoding_offsets(&n, c_);
        return {offsets, 2 * n};
    }
};

/* Text to token ids and back. A copy is another reference to the same tokenizer. */
class tokenizer : public detail::handle<tinkc_tokenizer, tinkc_tokenizer_free>
{
  public:
    using handle::handle;

    /* Loads the tokenizer of a model's directory or file; `cached` shares one that was
     * loaded before. */
    template <template <class> class R = throwing>
    static R<tokenizer> load(cstring path)
    {
        return detail::own<R, tokenizer>([&](auto out, auto err) {
            return tinkc_tokenizer_load(out, path.c_str(), err);
        });
    }
    template <template <class> class R = throwing>
    static R<tokenizer> load_cached(cstring path)
    {
        return detail::own<R, tokenizer>([&](auto out, auto err) {
            return tinkc_tokenizer_load_cached(out, path.c_str(), err);
        });
    }
    /* Releases the tokenizers that load_cached keeps. */
    static void cache_clear() noexcept { tinkc_tokenizer_cache_clear(); }
    /* Loads it from the text of a tokenizer.json and, or NULL, a tokenizer_config.json. */
    template <template <class> class R = throwing>
    static R<tokenizer> from_json(cstring json, cstring config = nullptr)
    {
        return detail::own<R, tokenizer>([&](auto out, auto err) {
            return tinkc_tokenizer_from_json(out, json.c_str(), config.c_str(), err);
        });
    }
    /* Returns another reference to the same tokenizer. */
    tokenizer share() const noexcept { return tokenizer(tinkc_tokenizer_ref(c_)); }

    /* Encodes a text; the default adds no special tokens. */
    template <template <class> class R = throwing>
    R<encoding> encode(std::string_view text, const encode_options &options = {}) const
    {
        return detail::own<R, encoding>([&](auto out, auto err) {
            return tinkc_tokenizer_encode(out, c_, bytes(text), text.size(), &options,
                                          err);
        });
    }
    /* Encodes many texts on several threads (0: one per processor). */
    template <template <class> class R = throwing>
    R<std::vector<encoding>> encode_all(span<const std::string_view> texts,
                                        const encode_options &options = {},
                                        std::size_t threads = 0) const
    {
        std::vector<const char *> starts;
        std::vector<std::size_t> lengths;
        for (std::string_view one : texts) {
            starts.push_back(bytes(one));
            lengths.push_back(one.size());
        }
        std::vector<tinkc_encoding *> out(texts.size());
        tinkc_text_batch batch = TINKC_TEXT_BATCH_INIT;
        batch.texts = starts.data();
        batch.lengths = lengths.data();
        batch.texts_n = texts.size();
        batch.threads = threads;
        batch.options = &options;
        tinkc_error *err = nullptr;
        tinkc_code code = tinkc_tokenizer_encode_batch(out.data(), c_, &batch, &err);
        return detail::finish<R>(
            code, err, [&] { return std::vector<encoding>(out.begin(), out.end()); });
    }
    /* Counts the ids of a text. */
    template <template <class> class R = throwing>
    R<std::size_t> count(std::string_view text, const encode_options &options = {}) const
    {
        std::size_t n = 0;
        tinkc_error *err = nullptr;
        tinkc_code code =
            tinkc_tokenizer_count(&n, c_, bytes(text), text.size(), &options, &err);
        return detail::finish<R>(code, err, [&] { return n; });
    }
    /* Makes a prompt of a text. */
    template <template <class> class R = throwing>
    R<model_input> input(cstring text) const
    {
        return detail::own<R, model_input>([&](auto out, auto err) {
            return tinkc_tokenizer_input(out, c_, text.c_str(), err);
        });
    }
    /* Decodes ids to UTF-8. */
    template <template <class> class R = throwing>
    R<std::string> decode(span<const std::int32_t> ids, bool skip_special = true) const
    {
        tinkc_decode what = TINKC_DECODE_INIT;
        what.ids = ids.data();
        what.ids_n = ids.size();
        what.skip_special = skip_special;
        return detail::text<R>([&](char **out, std::size_t *n, tinkc_error **err) {
            return tinkc_tokenizer_decode(out, n, c_, &what, err);
        });
    }
    /* Returns the largest id plus one. */
    std::size_t size() const noexcept { return tinkc_tokenizer_size(c_); }
    /* Returns the id of a token as the tokenizer's file spells it; -1: there is none. */
    std::int32_t id(cstring token) const noexcept
    {
        return tinkc_tokenizer_id(c_, token.c_str());
    }
    /* Returns the token as the file spells it; nothing for an unused id. */
    std::optional<std::string_view> token(std::int32_t id) const noexcept
    {
        std::size_t n = 0;
        const char *text = tinkc_tokenizer_token(&n, c_, id);
        return text != nullptr ? std::optional<std::string_view>({text, n})
                               : std::nullopt;
    }
    /* Returns whether decoding can leave the token out. */
    bool is_special(std::int32_t id) const noexcept
    {
        return tinkc_tokenizer_is_special(c_, id);
    }
    /* Returns the special token of a role ("eos_token"); NULL: there is none. */
    const char *special(cstring role) const noexcept
    {
        return tinkc_tokenizer_special(c_, role.c_str());
    }
    /* Returns the id that ends a text or an answer; -1: there is none. */
    std::int32_t end() const noexcept { return tinkc_tokenizer_end(c_); }
    /* Returns the source of a chat template (NULL: the default); NULL: there is none. */
    const char *chat_template_source(cstring name = nullptr) const noexcept
    {
        return tinkc_tokenizer_chat_template(c_, name.c_str());
    }

  private:
    /* An empty view may have no address, which the C functions refuse. */
    static const char *bytes(std::string_view text) noexcept
    {
        return text.data() != nullptr ? text.data() : "";
    }
};

/* Ids to text, piece by piece, for a sample in progress. */
class decoder : public detail::handle<tinkc_decoder, tinkc_decoder_free>
{
  public:
    using handle::handle;

    /* Makes a decoder, which holds a reference to the tokenizer. */
    template <template <class> class R = throwing>
    static R<decoder> create(const tokenizer &tokens, bool skip_special = true)
    {
        return detail::own<R, decoder>([&](auto out, auto err) {
            return tinkc_decoder_new(out, tokens.c_ptr(), skip_special, err);
        });
    }
    /* Decodes more ids and returns the text that they complete, borrowed until the next
     * call. */
    template <template <class> class R = throwing>
    R<std::string_view> push(span<const std::int32_t> ids)
    {
        tinkc_error *err = nullptr;
        tinkc_code code = tinkc_decoder_push(c_, ids.data(), ids.size(), &err);
        return detail::finish<R>(code, err, [&] { return piece(); });
    }
    /* Ends the stream and returns what was held back. */
    template <template <class> class R = throwing>
    R<std::string_view> finish()
    {
        tinkc_error *err = nullptr;
        tinkc_code code = tinkc_decoder_finish(c_, &err);
        return detail::finish<R>(code, err, [&] { return piece(); });
    }

  private:
    std::string_view piece() const noexcept
    {
        std::size_t n = 0;
        const char *text = tinkc_decoder_text(&n, c_);
        return {text, n};
    }
};

/* The template that turns a conversation into text. */
class chat_template : public detail::handle<tinkc_chat_template, tinkc_chat_template_free>
{
  public:
    using handle::handle;

    /* Parses the source of a template; loads one from a file or directory; takes the one of
     * a tokenizer. `name` selects one of several; NULL: the default. */
    template <template <class> class R = throwing>
    static R<chat_template> parse(cstring source)
    {
        return detail::own<R, chat_template>([&](auto out, auto err) {
            return tinkc_chat_template_new(out, source.c_str(), err);
        });
    }
    template <template <class> class R = throwing>
    static R<chat_template> load(cstring path, cstring name = nullptr)
    {
        return detail::own<R, chat_template>([&](auto out, auto err) {
            return tinkc_chat_template_load(out, path.c_str(), name.c_str(), err);
        });
    }
    template <template <class> class R = throwing>
    static R<chat_template> of(const tokenizer &tokens, cstring name = nullptr)
    {
        return detail::own<R, chat_template>([&](auto out, auto err) {
            return tinkc_chat_template_of(out, tokens.c_ptr(), name.c_str(), err);
        });
    }
};

/* A rendered conversation: tokens with weights. */
class rendered : public detail::handle<tinkc_rendered, tinkc_rendered_free>
{
  public:
    using handle::handle;

    /* Return the text that was tokenized, its ids, and the weight of each; borrowed. */
    std::string_view text() const noexcept
    {
        std::size_t n = 0;
        const char *text = tinkc_rendered_text(&n, c_);
        return text != nullptr ? std::string_view(text, n) : std::string_view();
    }
    span<const std::int32_t> tokens() const noexcept
    {
        std::size_t n = 0;
        const std::int32_t *tokens = tinkc_rendered_tokens(&n, c_);
        return {tokens, tokens != nullptr ? n : 0};
    }
    span<const float> weights() const noexcept
    {
        std::size_t n = 0;
        const float *weights = tinkc_rendered_weights(&n, c_);
        return {weights, weights != nullptr ? n : 0};
    }
    /* Returns the number of parts, and one of them. */
    std::size_t part_count() const noexcept { return tinkc_rendered_part_count(c_); }
    std::optional<tinkc_chat_part> part(std::size_t i) const noexcept
    {
        tinkc_chat_part out = {};
        return tinkc_rendered_part(&out, c_, i) ? std::optional<tinkc_chat_part>(out)
                                                : std::nullopt;
    }
    /* Returns a warning about a common mistake; NULL past the last one. */
    const char *warning(std::size_t i) const noexcept
    {
        return tinkc_rendered_warning(c_, i);
    }
    /* Makes a datum for cross_entropy. */
    template <template <class> class R = throwing>
    R<datum> to_datum() const
    {
        return detail::own<R, datum>(
            [&](auto out, auto err) { return tinkc_rendered_datum(out, c_, err); });
    }
};

/* A conversation: messages, tools, variables. */
class chat : public detail::handle<tinkc_chat, tinkc_chat_free>
{
  public:
    using handle::handle;

    /* Makes an empty conversation. */
    template <template <class> class R = throwing>
    static R<chat> create()
    {
        return detail::own<R, chat>(tinkc_chat_new);
    }
    /* Appends a message. */
    template <template <class> class R = throwing>
    R<void> add(cstring role, cstring content)
    {
        return detail::check<R>([&](auto err) {
            return tinkc_chat_add(c_, role.c_str(), content.c_str(), err);
        });
    }
    /* Appends a message, an array of them, or an object with "messages". */
    template <template <class> class R = throwing>
    R<void> add_json(std::string_view json)
    {
        return detail::check<R>([&](auto err) {
            return tinkc_chat_add_json(c_, json.data(), json.size(), err);
        });
    }
    /* Sets a variable of the template to a JSON value, e.g. "tools". */
    template <template <class> class R = throwing>
    R<void> set(cstring name, cstring json)
    {
        return detail::check<R>([&](auto err) {
            return tinkc_chat_set(c_, name.c_str(), json.c_str(), err);
        });
    }
    /* Returns the number of messages. */
    std::size_t size() const noexcept { return tinkc_chat_count(c_); }
    /* Returns the content of a message, borrowed; nothing past the end, and for parts. */
    std::string_view content(std::size_t i) const noexcept
    {
        std::size_t n = 0;
        const char *text = tinkc_chat_content(&n, c_, i);
        return text != nullptr ? std::string_view(text, n) : std::string_view();
    }

    /* Renders it to text. */
    template <template <class> class R = throwing>
    R<std::string> render(const chat_template &tpl,
                          const chat_options &options = {}) const
    {
        return detail::text<R>([&](char **out, std::size_t *n, tinkc_error **err) {
            return tinkc_chat_render(out, n, tpl.c_ptr(), c_, &options, err);
        });
    }
    /* Makes what the model reads before it answers. `options` NULL: with the header of the
     * assistant's turn. */
    template <template <class> class R = throwing>
    R<model_input> prompt(const chat_template &tpl, const tokenizer &tokens,
                          const chat_options *options = nullptr) const
    {
        return detail::own<R, model_input>([&](auto out, auto err) {
            return tinkc_chat_prompt(out, tpl.c_ptr(), c_, tokens.c_ptr(), options, err);
        });
    }
    /* Appends to `prompt` what it lacks of the conversation, for the next turn. */
    template <template <class> class R = throwing>
    R<void> extend(model_input &prompt, const chat_template &tpl, const tokenizer &tokens,
                   const chat_options *options = nullptr) const
    {
        return detail::check<R>([&](auto err) {
            return tinkc_chat_continue(prompt.c_ptr(), tpl.c_ptr(), c_, tokens.c_ptr(),
                                       options, err);
        });
    }
    /* Tokenizes the whole conversation and gives each token its weight. */
    template <template <class> class R = throwing>
    R<rendered> tokens(const chat_template &tpl, const tokenizer &tokens,
                       const train_options &options = {}) const
    {
        return detail::own<R, rendered>([&](auto out, auto err) {
            return tinkc_chat_tokens(out, tpl.c_ptr(), c_, tokens.c_ptr(), &options, err);
        });
    }
    /* Makes the training example of the conversation. */
    template <template <class> class R = throwing>
    R<datum> to_datum(const chat_template &tpl, const tokenizer &tokens,
                      const train_options &options = {}) const
    {
        return detail::own<R, datum>([&](auto out, auto err) {
            return tinkc_chat_datum(out, tpl.c_ptr(), c_, tokens.c_ptr(), &options, err);
        });
    }
};

} // namespace tinkc

#endif
