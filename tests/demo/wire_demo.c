/* `make demo` until there is a server: shows a conversation with the Tinker API byte by
 * byte. The other side is the scripted peer of the tests, which follows the protocol and
 * makes its numbers up; this program says so. Exits non-zero when a step fails. */
#include <stdio.h>
#include <string.h>

#include "support/fakeapi_tinker.h"
#include "support/fakeapi_tinker_talk.h"

#define SHOWN_TEXT_BYTES  36
#define SHOWN_PROTO_BYTES 12

static const char *kind_of(const char *content_type)
{
    bool is_proto = strcmp(content_type, "application/x-protobuf") == 0;
    return is_proto ? "protobuf" : "JSON";
}

static void show_bytes(const char *content_type, tk_str bytes)
{
    bool is_text = strcmp(kind_of(content_type), "JSON") == 0;
    size_t most = is_text ? SHOWN_TEXT_BYTES : SHOWN_PROTO_BYTES;
    size_t n = TK_MIN(bytes.n, most);
    for (size_t i = 0; i < n; i++) {
        printf(is_text ? "%c" : "%02x ", (unsigned char)bytes.p[i]);
    }
    puts(bytes.n > n ? "..." : "");
}

static void show_exchange(void *user, const fakeapi_tinker_exchange *x)
{
    (void)user;
    printf("     > POST %-32s %5zu bytes %-8s  ", x->path, x->sent.n,
           kind_of(x->sent_type));
    show_bytes(x->sent_type, x->sent);
    if (x->outcome != HTTPGET_OK) {
        puts("     < connection reset: the peer did the work, and the answer is lost;\n"
             "       the same bytes go out again, on a new connection");
        return;
    }
    printf("     < %d, %.2f ms %24s %5zu bytes %-8s  ", x->status, x->seconds * 1e3, "",
           x->answered.n, kind_of(x->answered_type));
    show_bytes(x->answered_type, x->answered);
}

/* What a step's answer means, in words. */
static void show_meaning(const fakeapi_tinker_talk *talk, const char *step)
{
    if (strcmp(step, "forward_backward") == 0) {
        const tk_fwdbwd_output *losses = &talk->losses;
        const tk_tensor *first = &losses->loss_fn_outputs[0].items[0].tensor;
        printf("     = %zu datums of %zu tokens: %zu bytes as protobuf, %zu as JSON\n",
               losses->loss_fn_outputs_n, first->n, talk->request_bytes,
               talk->as_json_bytes);
        printf("     = log probabilities of the targets: %.3f %.3f %.3f ...; %.*s %.1f\n",
               (double)((const float *)first->data)[0],
               (double)((const float *)first->data)[1],
               (double)((const float *)first->data)[2],
               TK_STR_ARG(losses->metrics.items[0].name), losses->metrics.items[0].v);
    } else if (strcmp(step, "save_weights_for_sampler") == 0) {
        printf("     = " TK_STR_FMT "\n", TK_STR_ARG(talk->checkpoint));
    } else if (strcmp(step, "asample") == 0) {
        const tk_sequence *sequence = &talk->sample.sequences[0];
        printf("     = prompt 1000 1001 1002, sampled:");
        for (size_t i = 0; i < sequence->tokens.n; i++) {
            printf(" %d", sequence->tokens.p[i]);
        }
        puts("");
    }
}

static size_t count_applied(fakeapi *api, const fakeapi_tinker_op *work)
{
    size_t n = 0;
    fakeapi_tinker_op op;
    for (size_t i = 0; fakeapi_tinker_op_at(api, work->model_id, i, &op); i++) {
        n += op.seq_id == work->seq_id && strcmp(op.kind, work->kind) == 0;
    }
    return n;
}

/* False when the peer did something twice. */
static bool show_log(fakeapi *api)
{
    bool is_once = true;
    puts("\nWhat the peer did, in its own order:\n");
    printf("     %-26s %6s %6s %8s\n", "work", "seq_id", "sent", "applied");
    fakeapi_tinker_op op;
    for (size_t i = 0; fakeapi_tinker_op_at(api, NULL, i, &op); i++) {
        size_t applied = count_applied(api, &op);
        is_once = is_once && applied == 1;
        printf("     %-26s %6lld %6zu %8zu\n", op.kind, (long long)op.seq_id,
               op.resent + 1, applied);
    }
    puts(
        "\n     optim_step was sent twice; its (model, seq_id) tells that it is the same.");
    return is_once;
}

static bool converse(fakeapi *api, fakeapi_tinker_talk *talk)
{
    for (size_t i = 0; i < fakeapi_tinker_steps_n; i++) {
        const fakeapi_tinker_step *step = &fakeapi_tinker_steps[i];
        printf("\n %zu. %s: %s\n", i + 1, step->name, step->about);
        if (strcmp(step->name, "optim_step") == 0) {
            fakeapi_reply(api, "POST", "*/optim_step", &fakeapi_fail(FAKEAPI_RESET));
        }
        if (step->take(talk) != TINKC_OK) {
            fprintf(stderr, "failed: %s\n", talk->err.message);
            return false;
        }
        show_meaning(talk, step->name);
    }
    return true;
}

int main(void)
{
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, &(fakeapi_tinker_options){.strict = true});
    puts(
        "tinkc, the wire: a training loop as the Tinker API sees it.\n\n"
        "The other side is a SCRIPTED PEER, not a model: it follows the protocol and makes\n"
        "its numbers up by rule (a log probability is -2 / (1 + steps taken), a sampled\n"
        "token is the one before it plus 1). Messages, sizes and times are real.\n");
    printf("The peer listens on %s\n", fakeapi_url(api));
    fakeapi_tinker_talk talk;
    fakeapi_tinker_talk_init(&talk, fakeapi_port(api));
    talk.watch = show_exchange;
    bool ok = converse(api, &talk);
    ok = ok && show_log(api);
    if (ok) {
        puts(
            "\nNext:\n"
            "     make test     everything that is claimed, tested\n"
            "     make check    every gate: sanitizers, allocation failures, fuzz corpora\n"
            "     README.md     what tinkc is, and where things are");
    }
    fakeapi_tinker_talk_dispose(&talk);
    fakeapi_stop(&api);
    return ok ? 0 : 1;
}
