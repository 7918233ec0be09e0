/* The prefix cache: what a sample takes from published pages when it starts, and what it
 * leaves there when it ends or gives way. Full pages are shared; of the page after them, as
 * many positions are copied as the tokens agree in. A position's keys and values depend on
 * the tokens up to it and on the weights only, so they are the bits that the sample would
 * compute; so is a log-probability that a page knows. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "engine/eng_sample_int.h"

bool eng_sample_add_page(eng_sample *sample, eng_page *page)
{
    if (sample->n_pages == sample->pages_capacity) {
        size_t capacity = TK_MAX((size_t)8, 2 * sample->pages_capacity);
        eng_page **grown = tk_realloc_array(sample->pages, capacity, sizeof(*grown));
        if (grown == NULL) {
            return false;
        }
        sample->pages = grown;
        sample->pages_capacity = capacity;
    }
    sample->pages[sample->n_pages++] = page;
    return true;
}

/* `n` tokens of a page, the ones before which are the sample's. */
static eng_page_key key_of(const eng_sample_job *job, const eng_sample *sample,
                           size_t page, size_t n, int32_t *tokens)
{
    for (size_t i = 0; i < n; i++) {
        tokens[i] = eng_sample_token_at(job, sample, page * ENG_KV_BLOCK + i);
    }
    uint64_t parent = page > 0 ? sample->pages[page - 1]->serial : 0;
    return (eng_page_key){job->weights, parent, tokens, n};
}

/* ---- at the start ---- */

/* The prompt's log-probabilities are asked for, and nothing else that needs logits: what
 * pages know of them is taken from there. */
static bool wants_logprobs(const eng_sample_job *job)
{
    const eng_sample_scores *s = &job->scores;
    return !job->forked && s->prompt_logprobs != NULL && s->topk == 0 &&
           s->targets == NULL && s->alt == 0;
}

/* Positions that need not be computed. One at least must be; and those before a position
 * that is scored, because logits come from them. */
static size_t most_positions(const eng_sample_job *job, const eng_sample *sample)
{
    size_t most = eng_sample_length(job, sample) - 1;
    bool any = job->forked || wants_logprobs(job);
    return any ? most : TK_MIN(most, job->scores.first - 1);
}

/* Of the first n positions of the sample's next page, those up to the first one whose
 * log-probability is wanted and not known. Writes down the known ones. */
static size_t take_logprobs(const eng_sample_job *job, const eng_sample *sample,
                            const eng_page *page, size_t n)
{
    size_t i = 0;
    if (!wants_logprobs(job)) {
        return n;
    }
    for (; i < n; i++) {
        bool scored = sample->done + i >= job->scores.first;
        if (scored && isnan(page->logprobs[i])) {
            break;
        }
        if (scored) {
            job->scores.prompt_logprobs[sample->done + i] = page->logprobs[i];
        }
    }
    return i;
}

static void share_pages(eng_sampler *sampler, const eng_sample_job *job,
                        eng_sample *sample, size_t most)
{
    int32_t tokens[ENG_KV_BLOCK];
    while (sample->done + ENG_KV_BLOCK <= most) {
        eng_page_key key = key_of(job, sample, sample->n_pages, ENG_KV_BLOCK, tokens);
        eng_page *page = eng_pages_find(&sampler->pages, &key);
        if (page == NULL) {
            return;
        }
        if (take_logprobs(job, sample, page, ENG_KV_BLOCK) < ENG_KV_BLOCK ||
            !eng_sample_add_page(sample, page)) {
            eng_pages_release(&sampler->pages, page);
            return; /* computing it again needs no luck */
        }
        sample->done += ENG_KV_BLOCK;
    }
}

/* Copies what is of use of n positions. The log-probability of the first position that is
 * computed has to be known, too: it does not come from what is computed. */
static void copy_page(eng_sampler *sampler, const eng_sample_job *job, eng_sample *sample,
                      const eng_page *from, size_t n)
{
    const eng_config *c = sampler->pages.config;
    n = take_logprobs(job, sample, from, n);
    if (wants_logprobs(job) && sample->done + n >= job->scores.first) {
        n -= n > 0;
    }
    n = TK_MIN(n, (size_t)ENG_KV_BLOCK - 1); /* the page is the one that is written */
    eng_page *page = n > 0 ? eng_pages_take(&sampler->pages) : NULL;
    if (page == NULL) {
        return;
    }
    if (!eng_sample_add_page(sample, page)) {
        eng_pages_release(&sampler->pages, page);
        return;
    }
    for (size_t l = 0; l < c->layers; l++) {
        eng_kv_copy(eng_page_block(page, c, l), eng_page_block(from, c, l), c, n);
    }
    memcpy(page->logprobs, from->logprobs, n * sizeof(*page->logprobs));
    sample->done += n;
}

static void copy_alike(eng_sampler *sampler, const eng_sample_job *job,
                       eng_sample *sample, size_t most)
{
    int32_t tokens[ENG_KV_BLOCK];
    size_t left = most - sample->done + wants_logprobs(job); /* the next one's is used */
    size_t n = TK_MIN((size_t)ENG_KV_BLOCK, left);
    eng_page_key key = key_of(job, sample, sample->n_pages, n, tokens);
    eng_page *like = eng_pages_find_alike(&sampler->pages, &key, &n);
    if (like != NULL) {
        copy_page(sampler, job, sample, like, n);
        eng_pages_release(&sampler->pages, like);
    }
}

/* Gives the last page up when nothing knows the log-probability of the position after it,
 * and copies it without its last position. */
static void step_back(eng_sampler *sampler, const eng_sample_job *job, eng_sample *sample)
{
    if (!wants_logprobs(job) || sample->done < job->scores.first ||
        !isnan(job->scores.prompt_logprobs[sample->done])) {
        return;
    }
    eng_page *last = sample->pages[--sample->n_pages];
    sample->done -= ENG_KV_BLOCK;
    copy_page(sampler, job, sample, last, ENG_KV_BLOCK);
    eng_pages_release(&sampler->pages, last);
}

void eng_sample_find_prefix(eng_sampler *sampler, eng_sample_job *job, eng_sample *sample)
{
    size_t most = most_positions(job, sample);
    share_pages(sampler, job, sample, most);
    copy_alike(sampler, job, sample, most);
    step_back(sampler, job, sample);
    sample->published = sample->done / ENG_KV_BLOCK;
    if (!job->started) {
        job->hit_tokens = sample->done;
        job->started = true;
    }
}

/* ---- at the end ---- */

/* The weights may have been changed meanwhile. */
static bool may_publish(const eng_sample_job *job)
{
    return job->adapter == NULL || job->adapter->identity == job->weights;
}

/* What is known of a position by now, as a prompt gets it: at T = 1. */
static float logprob_at(const eng_sample_job *job, const eng_sample *sample, size_t pos)
{
    const eng_draw_options *o = &job->options;
    if (pos < job->n_prompt) {
        const float *scored = job->scores.prompt_logprobs;
        return scored != NULL ? scored[pos] : NAN;
    }
    bool raw = o->raw_logprobs || eng_draw_is_greedy(o->temperature) ||
               !(o->temperature < 1 || o->temperature > 1);
    return raw ? sample->logprobs[pos - job->n_prompt] : NAN;
}

static void put_logprobs(const eng_sample_job *job, const eng_sample *sample, size_t at,
                         size_t n)
{
    eng_page *page = sample->pages[at];
    for (size_t i = 0; i < n; i++) {
        if (isnan(page->logprobs[i])) {
            page->logprobs[i] = logprob_at(job, sample, at * ENG_KV_BLOCK + i);
        }
    }
}

void eng_sample_publish(eng_sampler *sampler, const eng_sample_job *job,
                        eng_sample *sample)
{
    int32_t tokens[ENG_KV_BLOCK];
    if (!may_publish(job)) {
        return;
    }
    for (; (sample->published + 1) * ENG_KV_BLOCK <= sample->done; sample->published++) {
        eng_page_key key = key_of(job, sample, sample->published, ENG_KV_BLOCK, tokens);
        eng_page **page = &sample->pages[sample->published];
        put_logprobs(job, sample, sample->published, ENG_KV_BLOCK);
        *page = eng_pages_publish(&sampler->pages, *page, &key);
    }
}

/* The page that is written is kept with what it has, when all before it are published. */
static void keep_last(eng_sampler *sampler, const eng_sample_job *job, eng_sample *sample)
{
    int32_t tokens[ENG_KV_BLOCK];
    size_t at = sample->done / ENG_KV_BLOCK, n = sample->done % ENG_KV_BLOCK;
    if (n == 0 || at + 1 != sample->n_pages || sample->published != at ||
        sample->pages[at]->refs != 1 || job->err.code != TINKC_OK || !may_publish(job)) {
        return;
    }
    eng_page_key key = key_of(job, sample, at, n, tokens);
    put_logprobs(job, sample, at, n);
    eng_pages_keep(&sampler->pages, sample->pages[at], &key);
    sample->n_pages--;
}

/* Last page first: it is also the first to be given up by the cache, whose chains are
 * useless without their beginning. */
void eng_sample_drop_pages(eng_sampler *sampler, const eng_sample_job *job,
                           eng_sample *sample)
{
    keep_last(sampler, job, sample);
    while (sample->n_pages > 0) {
        eng_pages_release(&sampler->pages, sample->pages[--sample->n_pages]);
    }
    sample->done = 0;
    sample->published = 0;
}
