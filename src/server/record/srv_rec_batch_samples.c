/* Samples of a batch: their text is put together here, once, because a model may not be served
 * any more when somebody reads it. */
#include <math.h>

#include "base/utf8.h"
#include "server/record/srv_rec_int.h"

static double mean_of(const srv_rec_sequence *sequence)
{
    double sum = 0.0;
    for (size_t i = 0; i < sequence->n; i++) {
        sum += (double)sequence->logprobs[i];
    }
    return sequence->n > 0 && isfinite(sum) ? sum / (double)sequence->n : (double)NAN;
}

/* Makes text of bytes, in place. */
static void make_text(char *p, size_t n)
{
    for (size_t i = 0; i < n;) {
        if (p[i] > '\0') { /* ASCII, which is nearly everything */
            i++;
            continue;
        }
        size_t one = tk_utf8_len(p + i, n - i);
        if (one == 0 || p[i] == '\0') {
            p[i] = '?'; /* the ids have the bytes */
        }
        i += one > 0 ? one : 1;
    }
}

/* Appends the text of a sequence, as UTF-8, and cuts it: one token may be long. */
static void put_text(const srv_rec *rec, const srv_rec_sample *sample,
                     const srv_rec_sequence *sequence, tk_buf *out)
{
    size_t begin = out->n;
    if (sample->tok == NULL || rec->config.put_token == NULL) {
        return;
    }
    for (size_t k = 0; k < sequence->n && out->n - begin < SRV_REC_TEXT_BYTES; k++) {
        (void)rec->config.put_token(sample->tok, sequence->ids[k], out);
    }
    if (out->n > begin) {
        make_text(out->p + begin, out->n - begin);
        const tk_str text = {out->p + begin, out->n - begin};
        out->n = begin + tk_utf8_cut(text, SRV_REC_TEXT_BYTES).n;
    }
}

/* Puts the members of a group together, and their texts. */
static void pack(srv_rec *rec, const srv_rec_entry *entry, bool with_texts)
{
    const srv_rec_sample *sample = &entry->as.sample;
    tk_buf *texts = &rec->samples.texts;
    srv_rec_group_clear(&rec->samples);
    for (size_t i = 0; i < sample->n; i++) {
        const srv_rec_sequence *sequence = &sample->sequences[i];
        srv_rec_member member = {.number = (uint32_t)i,
                                 .stopped = sequence->stopped,
                                 .n = (uint32_t)sequence->n,
                                 .ids_at = (uint32_t)(sequence->ids - entry->ids),
                                 .text_at = (uint32_t)texts->n,
                                 .mean = mean_of(sequence)};
        if (with_texts) {
            put_text(rec, sample, sequence, texts);
        }
        member.text_n = (uint32_t)(texts->n - member.text_at);
        srv_rec_member_put(&rec->samples.members, &member);
    }
}

tinkc_code srv_rec_batch_add_samples(srv_rec *rec, srv_rec_entry *entry, tk_err *err)
{
    tk_err no_room = TK_ERR_INIT;
    bool works = atomic_load(&rec->works);
    if (works) {
        pack(rec, entry, true);
        if (rec->samples.texts.failure != TINKC_OK) { /* the ids are worth more */
            pack(rec, entry, false);
        }
    }
    if (!works || srv_rec_group_status(&rec->samples, &no_room) != TINKC_OK) {
        atomic_fetch_add(&rec->dropped, 1);
        return TINKC_OK;
    }
    const srv_rec_group group = {
        .members = tk_buf_str(&rec->samples.members),
        .texts = tk_buf_str(&rec->samples.texts),
        .ids = {(const char *)entry->ids, entry->n_ids * sizeof(*entry->ids)},
        .logprobs = {(const char *)entry->logprobs,
                     entry->n_ids * sizeof(*entry->logprobs)},
    };
    tinkc_code code =
        srv_rec_writer_put_samples(&rec->writer, entry, &group, &entry->group, err);
    atomic_fetch_add(&rec->dropped, code != TINKC_OK);
    return code;
}
