/* Reinforcement learning: <tinkc/rl.h>. Computations without a network. Thread: any; a
 * rl_batch one at a time. */
#ifndef TINKC_CPP_RL_HPP
#define TINKC_CPP_RL_HPP

#include <tinkc/cpp/results.hpp>

namespace tinkc
{

/* Returns the seed of a sample: tinkc_rl_seed. */
inline std::uint64_t rl_seed(std::uint64_t of_run, std::uint64_t task,
                             std::uint64_t episode, std::uint64_t turn) noexcept
{
    return tinkc_rl_seed(of_run, task, episode, turn);
}

/* The advantages of a group. */
struct rl_advantages_of_group {
    std::vector<double> values;
    bool differ = false; /* whether there is anything to learn from them */
};

/* Computes the advantages of a group: tinkc_rl_advantages. */
template <template <class> class R = throwing>
R<rl_advantages_of_group> rl_advantages(span<const double> rewards,
                                        const rl_advantage_options &options = {})
{
    rl_advantages_of_group out;
    tinkc_error *err = nullptr;
    out.values.resize(rewards.size());
    tinkc_code code = tinkc_rl_advantages(out.values.data(), &out.differ, rewards.data(),
                                          rewards.size(), &options, &err);
    return detail::finish<R>(code, err, [&] { return std::move(out); });
}

/* What a step is trained on, and what it was made of. */
struct rl_step {
    std::vector<datum> data;
    rl_counts counts;
};

/* Collects the episodes of a step. */
class rl_batch : public detail::handle<tinkc_rl_batch, tinkc_rl_batch_free>
{
  public:
    using handle::handle;

    /* Creates an empty one: tinkc_rl_batch_new. */
    template <template <class> class R = throwing>
    static R<rl_batch> open(const rl_batch_options &options = {})
    {
        return detail::own<R, rl_batch>(
            [&](auto out, auto err) { return tinkc_rl_batch_new(out, &options, err); });
    }
    /* Adds an episode and takes its trajectory over; after a failure it is gone, too:
     * tinkc_rl_batch_add. An empty trajectory: the episode failed. */
    template <template <class> class R = throwing>
    R<void> add(const rl_episode &episode, trajectory steps = {})
    {
        return detail::check<R>([&](auto err) {
            tinkc_trajectory *c = steps.release();
            tinkc_code code = tinkc_rl_batch_add(c_, &episode, &c, err);
            tinkc_trajectory_free(&c);
            return code;
        });
    }
    /* Returns the number of groups that are complete. */
    std::size_t complete() const noexcept { return tinkc_rl_batch_complete(c_); }
    /* Makes the datums of the complete groups: tinkc_rl_batch_take. */
    template <template <class> class R = throwing>
    R<rl_step> take(std::int64_t version = 0)
    {
        tinkc_error *err = nullptr;
        tinkc_rl_datums made = {nullptr, 0};
        rl_step out;
        tinkc_code code = tinkc_rl_batch_take(&made, &out.counts, c_, version, &err);
        return detail::finish<R>(code, err, [&] {
            std::unique_ptr<tinkc_rl_datums, void (*)(tinkc_rl_datums *)> owner(
                &made, tinkc_rl_datums_free);
            out.data.reserve(made.n);
            for (std::size_t i = 0; i < made.n; i++) {
                out.data.emplace_back(made.items[i]);
                made.items[i] = nullptr;
            }
            return std::move(out);
        });
    }
};

/* Compares sampler and trainer: tinkc_rl_gap_compute. `result` is a fwdbwd or a
 * fwdbwd_view, `gap` has the bounds of the ratio. */
template <template <class> class R = throwing, class Result>
R<rl_gap> rl_compare(const Result &result, span<const datum> data, rl_gap gap = {})
{
    tinkc_error *err = nullptr;
    auto all = detail::pointers(data);
    tinkc_code code =
        tinkc_rl_gap_compute(&gap, result.c_ptr(), all.data(), all.size(), &err);
    return detail::finish<R>(code, err, [&] { return gap; });
}

/* Writes the metrics of a step as a line of JSON: tinkc_rl_report_json. */
template <template <class> class R = throwing>
R<std::string> rl_json(const rl_report &report)
{
    return detail::text<R>([&](auto out, auto n, auto err) {
        return tinkc_rl_report_json(out, n, &report, err);
    });
}

/* Computes the log-probability of what each datum is to learn: tinkc_rl_sums. */
template <template <class> class R = throwing, class Result>
R<std::vector<double>> rl_sums(const Result &result, span<const datum> data)
{
    tinkc_error *err = nullptr;
    auto all = detail::pointers(data);
    std::vector<double> out(data.size());
    tinkc_code code =
        tinkc_rl_sums(out.data(), result.c_ptr(), all.data(), all.size(), &err);
    return detail::finish<R>(code, err, [&] { return std::move(out); });
}

/* Computes the loss of pairs of answers, and with `slopes` (2 * pairs of them) its
 * derivatives: tinkc_rl_dpo. */
template <template <class> class R = throwing>
R<rl_dpo_result> rl_dpo(const rl_dpo_pairs &pairs, double *slopes = nullptr)
{
    tinkc_error *err = nullptr;
    rl_dpo_result out;
    tinkc_code code = tinkc_rl_dpo(&out, slopes, &pairs, &err);
    return detail::finish<R>(code, err, [&] { return out; });
}

/* Computes the advantages of on-policy distillation, as many as `student` has; `teacher`
 * has as many: tinkc_rl_distill_advantages. */
template <template <class> class R = throwing>
R<std::vector<float>> rl_distill_advantages(span<const float> student,
                                            span<const float> teacher,
                                            double coefficient = 1)
{
    tinkc_error *err = nullptr;
    std::vector<float> out(student.size());
    if (teacher.size() != student.size()) {
        return detail::fail<R, std::vector<float>>(error(TINKC_E_INVALID, nullptr));
    }
    tinkc_code code = tinkc_rl_distill_advantages(
        out.data(), student.data(), teacher.data(), student.size(), coefficient, &err);
    return detail::finish<R>(code, err, [&] { return std::move(out); });
}

} // namespace tinkc

#endif
