"""Structs and callbacks of the C library, as ctypes sees them.

Written by scripts/gen-python.py from include/tinkc/*.h. Do not edit."""

# fmt: off

from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_float,
                    c_int, c_int32, c_int64, c_size_t, c_uint, c_uint64, c_void_p)



class tinkc_chat_options(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("add_generation_prompt", c_bool), ("continue_final", c_bool), ("strict",
                c_bool), ("now_us", c_int64)]


class tinkc_chat_part(Structure):
    __slots__ = ()
    _fields_ = [("begin", c_size_t), ("end", c_size_t), ("message", c_int64), ("role", c_char_p),
                ("is_content", c_bool), ("is_trained", c_bool)]

tinkc_weigh_fn = CFUNCTYPE(c_float, POINTER(tinkc_chat_part), c_void_p)


class tinkc_train_options(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("loss_on", c_int), ("weigh", tinkc_weigh_fn), ("user", c_void_p),
                ("chat", POINTER(tinkc_chat_options))]


class tinkc_config_option(Structure):
    __slots__ = ()
    _fields_ = [("name", c_char_p), ("type", c_char_p), ("fallback", c_char_p), ("help", c_char_p)]


class tinkc_progress(Structure):
    __slots__ = ()
    _fields_ = [("received", c_uint64), ("total", c_int64), ("written", c_uint64), ("files", c_size_t),
                ("file", c_char_p), ("connections", c_int)]

tinkc_progress_fn = CFUNCTYPE(c_bool, POINTER(tinkc_progress), c_void_p)


class tinkc_download_options(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("overwrite", c_bool), ("max_bytes", c_uint64), ("max_files", c_uint64),
                ("max_retries", c_int), ("retry_ms", c_int64), ("sha256", c_char_p), ("fn",
                tinkc_progress_fn), ("user", c_void_p)]


class tinkc_wait(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("stage", c_int), ("age_ms", c_int64), ("stage_ms", c_int64),
                ("silent_ms", c_int64), ("attempts", c_int), ("last_status", c_int), ("queue_state", c_int),
                ("operation", c_char * 32), ("reason", c_char * 160), ("request_id", c_char * 96)]


class tinkc_pair(Structure):
    __slots__ = ()
    _fields_ = [("name", c_char_p), ("value", c_char_p)]


class tinkc_context(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("traceparent", c_char_p), ("tracestate", c_char_p), ("tags",
                POINTER(tinkc_pair)), ("tags_n", c_size_t), ("timeout_ms", c_int64), ("deadline_ms", c_int64),
                ("headers", POINTER(tinkc_pair)), ("headers_n", c_size_t)]


class tinkc_hook(Structure):
    __slots__ = ()
    _fields_ = [("event", c_int), ("kind", c_int), ("span", c_uint64), ("parent", c_uint64), ("name",
                c_char_p), ("time_ns", c_int64), ("duration_ns", c_int64), ("code", c_int), ("http_status",
                c_int), ("attempt", c_int), ("bytes_out", c_int64), ("bytes_in", c_int64), ("delay_ms",
                c_int64), ("reason", c_char_p), ("queue_state", c_int), ("token_kind", c_int), ("tokens",
                c_int64), ("context", POINTER(tinkc_context))]


class tinkc_reading(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("kind", c_int), ("name", c_char_p), ("label", c_char_p), ("label_value",
                c_char_p), ("help", c_char_p), ("value", c_double), ("count", c_int64), ("min", c_double),
                ("max", c_double), ("p50", c_double), ("p90", c_double), ("p99", c_double)]


class tinkc_sampling_params(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("max_tokens", c_int64), ("has_seed", c_bool), ("seed", c_uint64),
                ("temperature", c_double), ("top_k", c_int64), ("top_p", c_double), ("stop", c_char_p),
                ("stop_texts", POINTER(c_char_p)), ("stop_texts_n", c_size_t), ("stop_tokens", c_void_p),
                ("stop_tokens_n", c_size_t)]


class tinkc_sample_options(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("num_samples", c_int64), ("prompt_logprobs", c_int),
                ("topk_prompt_logprobs", c_int64), ("deadline_ms", c_int64), ("topk_sample_logprobs",
                c_int64), ("target_prompt_logprobs", c_void_p), ("prompt_alt_tokens_k", c_int64),
                ("prompt_logprobs_last_n", c_int64), ("record_stability_info", c_bool)]


class tinkc_sample_target(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("sampling_session_id", c_char_p), ("model_path", c_char_p),
                ("base_model", c_char_p)]


class tinkc_sample_retry(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("retry", c_bool), ("detect_stuck", c_bool), ("progress_timeout_ms",
                c_int64), ("delay_base_ms", c_int64), ("delay_max_ms", c_int64), ("jitter", c_double),
                ("resubmits", c_int64)]


class tinkc_adam_params(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("learning_rate", c_double), ("beta1", c_double), ("beta2", c_double),
                ("eps", c_double), ("weight_decay", c_double), ("grad_clip_norm", c_double)]


class tinkc_optimizer_config(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("type", c_int), ("version", c_int64), ("json", c_char_p)]


class tinkc_dimuon_params(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("learning_rate", c_double), ("grad_clip_norm", c_double), ("beta1",
                c_double)]


class tinkc_optim_params(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("type", c_int), ("adam", POINTER(tinkc_adam_params)), ("dimuon",
                POINTER(tinkc_dimuon_params)), ("json", c_char_p)]


class tinkc_lora_config(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("rank", c_int64), ("has_seed", c_bool), ("seed", c_uint64),
                ("train_unembed", c_bool), ("train_mlp", c_bool), ("train_attn", c_bool), ("metadata",
                POINTER(tinkc_pair)), ("metadata_n", c_size_t), ("optimizer",
                POINTER(tinkc_optimizer_config))]


class tinkc_number(Structure):
    __slots__ = ()
    _fields_ = [("name", c_char_p), ("value", c_double)]


class tinkc_pull_progress(Structure):
    __slots__ = ()
    _fields_ = [("done", c_uint64), ("total", c_int64), ("file", c_char_p), ("files", c_size_t), ("files_n",
                c_size_t)]

tinkc_pull_fn = CFUNCTYPE(c_bool, POINTER(tinkc_pull_progress), c_void_p)


class tinkc_pull_options(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("revision", c_char_p), ("directory", c_char_p), ("cache_dir", c_char_p),
                ("hub_url", c_char_p), ("hub_token", c_char_p), ("max_retries", c_int), ("retry_ms", c_int64),
                ("fn", tinkc_pull_fn), ("user", c_void_p)]


class tinkc_push_progress(Structure):
    __slots__ = ()
    _fields_ = [("stage", c_int), ("done", c_uint64), ("total", c_int64), ("file", c_char_p)]

tinkc_push_fn = CFUNCTYPE(c_bool, POINTER(tinkc_push_progress), c_void_p)


class tinkc_push_options(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("repo", c_char_p), ("is_public", c_bool), ("revision", c_char_p),
                ("commit_message", c_char_p), ("create_pr", c_bool), ("allow", POINTER(c_char_p)), ("allow_n",
                c_size_t), ("ignore", POINTER(c_char_p)), ("ignore_n", c_size_t), ("no_model_card", c_bool),
                ("hub_url", c_char_p), ("hub_token", c_char_p), ("temp_dir", c_char_p), ("max_retries",
                c_int), ("fn", tinkc_push_fn), ("user", c_void_p)]


class tinkc_pushed(Structure):
    __slots__ = ()
    _fields_ = [("repo", c_char_p), ("revision", c_char_p), ("commit_url", c_char_p), ("pr_url", c_char_p),
                ("files", c_size_t), ("uploaded", c_uint64)]

tinkc_read_fn = CFUNCTYPE(c_size_t, c_void_p, c_size_t, c_uint64, c_void_p)


class tinkc_part(Structure):
    __slots__ = ()
    _fields_ = [("name", c_char_p), ("filename", c_char_p), ("content_type", c_char_p), ("data", c_void_p),
                ("data_n", c_size_t), ("path", c_char_p), ("read", tinkc_read_fn), ("read_user", c_void_p),
                ("read_n", c_uint64)]


class tinkc_raw_request(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("method", c_char_p), ("path", c_char_p), ("query", POINTER(tinkc_pair)),
                ("query_n", c_size_t), ("headers", POINTER(tinkc_pair)), ("headers_n", c_size_t), ("body",
                c_void_p), ("body_n", c_size_t), ("content_type", c_char_p), ("parts", POINTER(tinkc_part)),
                ("parts_n", c_size_t), ("multipart", c_bool), ("timeout_ms", c_int64), ("max_retries", c_int),
                ("any_status", c_bool)]


class tinkc_regularizer(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("kind", c_int), ("name", c_char_p), ("weight", c_double), ("mean",
                c_bool), ("of_probs", c_bool), ("center", c_double), ("ratio", c_double), ("maximize",
                c_bool), ("direction", c_int), ("reference", c_char_p)]


class tinkc_custom_item(Structure):
    __slots__ = ()
    _fields_ = [("logprobs", c_void_p), ("gradient", POINTER(c_float)), ("n", c_size_t), ("inputs", c_void_p)]

tinkc_custom_loss_fn = CFUNCTYPE(c_int, POINTER(c_double), c_void_p, POINTER(tinkc_custom_item), c_size_t, c_void_p)


class tinkc_regularized(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("loss", tinkc_custom_loss_fn), ("user", c_void_p), ("terms",
                POINTER(tinkc_regularizer)), ("terms_n", c_size_t), ("gradient_norms", c_bool)]


class tinkc_checkpoint(Structure):
    __slots__ = ()
    _fields_ = [("id", c_char_p), ("type", c_int), ("path", c_char_p), ("time_us", c_int64), ("size_bytes",
                c_int64), ("is_public", c_bool), ("expires_us", c_int64), ("type_text", c_char_p),
                ("metadata", POINTER(tinkc_pair)), ("metadata_n", c_size_t), ("has_metadata", c_bool),
                ("base_model", c_char_p)]


class tinkc_checkpoints(Structure):
    __slots__ = ()
    _fields_ = [("items", POINTER(tinkc_checkpoint)), ("n", c_size_t), ("total", c_int64), ("next", c_char_p)]


class tinkc_run(Structure):
    __slots__ = ()
    _fields_ = [("id", c_char_p), ("base_model", c_char_p), ("owner", c_char_p), ("is_lora", c_bool),
                ("is_corrupted", c_bool), ("lora_rank", c_int64), ("last_request_us", c_int64),
                ("last_checkpoint", POINTER(tinkc_checkpoint)), ("last_sampler_checkpoint",
                POINTER(tinkc_checkpoint)), ("metadata", POINTER(tinkc_pair)), ("metadata_n", c_size_t),
                ("has_metadata", c_bool)]


class tinkc_runs(Structure):
    __slots__ = ()
    _fields_ = [("items", POINTER(tinkc_run)), ("n", c_size_t), ("total", c_int64)]


class tinkc_archive(Structure):
    __slots__ = ()
    _fields_ = [("url", c_char_p), ("expires_us", c_int64)]


class tinkc_weights_info(Structure):
    __slots__ = ()
    _fields_ = [("base_model", c_char_p), ("is_lora", c_bool), ("lora_rank", c_int64), ("train_unembed",
                c_int), ("train_mlp", c_int), ("train_attn", c_int), ("optimizer", c_int), ("optimizer_name",
                c_char_p)]


class tinkc_sampler_info(Structure):
    __slots__ = ()
    _fields_ = [("id", c_char_p), ("base_model", c_char_p), ("model_path", c_char_p)]


class tinkc_session_info(Structure):
    __slots__ = ()
    _fields_ = [("run_ids", POINTER(c_char_p)), ("run_ids_n", c_size_t), ("sampler_ids", POINTER(c_char_p)),
                ("sampler_ids_n", c_size_t), ("metadata", POINTER(tinkc_pair)), ("metadata_n", c_size_t),
                ("has_metadata", c_bool), ("display_name", c_char_p)]


class tinkc_sessions(Structure):
    __slots__ = ()
    _fields_ = [("ids", POINTER(c_char_p)), ("n", c_size_t)]


class tinkc_whoami(Structure):
    __slots__ = ()
    _fields_ = [("user_urn", c_char_p), ("email", c_char_p), ("org_urn", c_char_p)]


class tinkc_audit_entry(Structure):
    __slots__ = ()
    _fields_ = [("time_us", c_int64), ("event", c_char_p), ("model_id", c_char_p), ("path", c_char_p),
                ("purpose", c_char_p), ("details", c_char_p)]


class tinkc_audit(Structure):
    __slots__ = ()
    _fields_ = [("items", POINTER(tinkc_audit_entry)), ("n", c_size_t)]


class tinkc_billing_event(Structure):
    __slots__ = ()
    _fields_ = [("start_us", c_int64), ("end_us", c_int64), ("base_model", c_char_p), ("user_id", c_char_p),
                ("user_name", c_char_p), ("session_id", c_char_p), ("project_id", c_char_p), ("kind", c_int),
                ("token_count", c_int64), ("is_cached", c_bool), ("count", c_int64), ("gigabyte_hours",
                c_double), ("kind_text", c_char_p), ("cost_usd", c_double), ("usd_per_million_tokens",
                c_double), ("usd_per_gigabyte_month", c_double)]


class tinkc_billing_session(Structure):
    __slots__ = ()
    _fields_ = [("session_id", c_char_p), ("metadata", POINTER(tinkc_pair)), ("metadata_n", c_size_t),
                ("has_metadata", c_bool)]


class tinkc_billing(Structure):
    __slots__ = ()
    _fields_ = [("items", POINTER(tinkc_billing_event)), ("n", c_size_t), ("sessions",
                POINTER(tinkc_billing_session)), ("sessions_n", c_size_t), ("cost_data_through_us", c_int64)]


class tinkc_list_options(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("limit", c_int64), ("offset", c_int64), ("scope", c_int), ("project_id",
                c_char_p)]


class tinkc_pager_options(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("page", c_int64), ("limit", c_int64), ("offset", c_int64), ("scope",
                c_int), ("project_id", c_char_p)]


class tinkc_rl_advantage_options(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("baseline", c_int), ("scale", c_bool)]


class tinkc_rl_batch_options(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("group_size", c_size_t), ("max_episodes", c_size_t), ("max_tokens",
                c_size_t), ("max_lag", c_int64), ("advantages", POINTER(tinkc_rl_advantage_options)),
                ("repeat_shared", c_bool)]


class tinkc_rl_episode(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("task", c_uint64), ("index", c_uint64), ("version", c_int64), ("reward",
                c_double), ("failed", c_bool)]


class tinkc_rl_counts(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("episodes", c_size_t), ("failed", c_size_t), ("stale", c_size_t),
                ("groups", c_size_t), ("groups_kept", c_size_t), ("groups_equal", c_size_t), ("groups_small",
                c_size_t), ("datums", c_size_t), ("tokens", c_size_t), ("tokens_sampled", c_size_t),
                ("tokens_trained", c_size_t), ("turns", c_size_t), ("turns_max", c_size_t), ("length_max",
                c_size_t), ("reward_mean", c_double), ("reward_std", c_double), ("reward_min", c_double),
                ("reward_max", c_double)]


class tinkc_rl_datums(Structure):
    __slots__ = ()
    _fields_ = [("items", POINTER(c_void_p)), ("n", c_size_t)]


class tinkc_rl_gap(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("clip_low", c_double), ("clip_high", c_double), ("tokens", c_size_t),
                ("kl", c_double), ("k3", c_double), ("abs_mean", c_double), ("abs_max", c_double), ("entropy",
                c_double), ("clipped", c_double)]


class tinkc_rl_report(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("step", c_int64), ("counts", POINTER(tinkc_rl_counts)), ("gap",
                POINTER(tinkc_rl_gap)), ("loss", c_double), ("rate", c_double), ("seconds", c_double),
                ("more", POINTER(tinkc_number)), ("more_n", c_size_t)]


class tinkc_rl_dpo_pairs(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("beta", c_double), ("logprobs", c_void_p), ("reference", c_void_p),
                ("pairs", c_size_t)]


class tinkc_rl_dpo_result(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("loss", c_double), ("accuracy", c_double), ("margin", c_double),
                ("chosen_reward", c_double), ("rejected_reward", c_double)]


class tinkc_rl_dpo_options(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("beta", c_double), ("reference", c_void_p)]


class tinkc_topk(Structure):
    __slots__ = ()
    _fields_ = [("token_ids", c_void_p), ("logprobs", c_void_p), ("k", c_size_t)]

tinkc_batch_fn = CFUNCTYPE(c_bool, c_size_t, c_void_p, c_void_p, c_void_p)


class tinkc_sample_batch(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("prompts", POINTER(c_void_p)), ("prompts_n", c_size_t), ("params",
                POINTER(tinkc_sampling_params)), ("options", POINTER(tinkc_sample_options)), ("max_in_flight",
                c_size_t), ("fn", tinkc_batch_fn), ("user", c_void_p)]


class tinkc_found_session(Structure):
    __slots__ = ()
    _fields_ = [("id", c_char_p), ("created_us", c_int64), ("owner", c_char_p), ("project_id", c_char_p),
                ("status", c_char_p), ("status_json", c_char_p), ("checkpoints", c_int64), ("display_name",
                c_char_p), ("metadata", POINTER(tinkc_pair)), ("metadata_n", c_size_t), ("has_metadata",
                c_bool), ("checkpoint_bytes", c_int64)]


class tinkc_found_sessions(Structure):
    __slots__ = ()
    _fields_ = [("items", POINTER(tinkc_found_session)), ("n", c_size_t), ("next", c_char_p)]


class tinkc_session_query(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("session_id", c_char_p), ("display_name", c_char_p), ("project_ids",
                POINTER(c_char_p)), ("project_ids_n", c_size_t), ("metadata", POINTER(tinkc_pair)),
                ("metadata_n", c_size_t), ("scope", c_int), ("owners", POINTER(c_char_p)), ("owners_n",
                c_size_t), ("statuses", POINTER(c_char_p)), ("statuses_n", c_size_t), ("limit", c_int64),
                ("cursor", c_char_p)]


class tinkc_checkpoint_query(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("type", c_char_p), ("base_models", POINTER(c_char_p)), ("base_models_n",
                c_size_t), ("project_ids", POINTER(c_char_p)), ("project_ids_n", c_size_t), ("metadata",
                POINTER(tinkc_pair)), ("metadata_n", c_size_t), ("scope", c_int), ("owners",
                POINTER(c_char_p)), ("owners_n", c_size_t), ("limit", c_int64), ("cursor", c_char_p)]


class tinkc_storage_item(Structure):
    __slots__ = ()
    _fields_ = [("project_id", c_char_p), ("user_urn", c_char_p), ("user_email", c_char_p), ("user_name",
                c_char_p), ("checkpoints", c_int64), ("bytes", c_int64), ("gigabytes", c_double),
                ("monthly_cost_usd", c_double)]


class tinkc_storage(Structure):
    __slots__ = ()
    _fields_ = [("items", POINTER(tinkc_storage_item)), ("n", c_size_t), ("usd_per_gigabyte_month", c_double)]


class tinkc_from_state_options(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("with_optimizer", c_bool), ("base_model", c_char_p),
                ("weights_access_token", c_char_p), ("metadata", POINTER(tinkc_pair)), ("metadata_n",
                c_size_t), ("optimizer", POINTER(tinkc_optimizer_config))]


class tinkc_loss_input(Structure):
    __slots__ = ()
    _fields_ = [("name", c_char_p), ("rank", c_int)]


class tinkc_custom_loss(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("inputs", POINTER(tinkc_loss_input)), ("inputs_n",
                c_size_t), ("graph", c_char_p)]


class tinkc_stream_event(Structure):
    __slots__ = ()
    _fields_ = [("kind", c_int), ("token_id", c_int64), ("token", c_char_p), ("index", c_int64), ("logprob",
                c_double), ("finish_reason", c_char_p), ("total_tokens", c_int64), ("is_whole_sample",
                c_bool)]


class tinkc_telemetry_counts(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("is_on", c_bool), ("queued", c_uint64), ("sent", c_uint64), ("dropped",
                c_uint64)]


class tinkc_tokenizer_options(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("directory", c_char_p), ("tokenizer_id", c_char_p), ("revision",
                c_char_p), ("cache_dir", c_char_p), ("hub_url", c_char_p), ("hub_token", c_char_p),
                ("offline", c_bool), ("fn", tinkc_progress_fn), ("user", c_void_p)]


class tinkc_encode_options(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("add_special_tokens", c_bool), ("plain_text", c_bool), ("offsets",
                c_bool)]


class tinkc_text_batch(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("texts", POINTER(c_char_p)), ("lengths", c_void_p), ("texts_n",
                c_size_t), ("threads", c_size_t), ("options", POINTER(tinkc_encode_options))]


class tinkc_decode(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("ids", c_void_p), ("ids_n", c_size_t), ("skip_special", c_bool)]

tinkc_chunk_fn = CFUNCTYPE(None, c_void_p, c_size_t, c_size_t, c_void_p)


class tinkc_fwdbwd_options(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("config", POINTER(tinkc_number)), ("config_n", c_size_t),
                ("max_parallel_chunks", c_size_t), ("on_chunk", tinkc_chunk_fn), ("chunks_in_order", c_bool),
                ("user", c_void_p), ("texts", POINTER(tinkc_pair)), ("texts_n", c_size_t)]


class tinkc_step_options(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("adam", POINTER(tinkc_adam_params)), ("fwdbwd",
                POINTER(tinkc_fwdbwd_options)), ("optim", POINTER(tinkc_optim_params))]


class tinkc_save_options(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("ttl_seconds", c_int64), ("overwrite", c_bool), ("metadata",
                POINTER(tinkc_pair)), ("metadata_n", c_size_t), ("recipients", POINTER(c_char_p)),
                ("recipients_n", c_size_t)]


class tinkc_sequence(Structure):
    __slots__ = ()
    _fields_ = [("tokens", c_void_p), ("mask", c_void_p), ("logprobs", c_void_p), ("n", c_size_t), ("fresh",
                c_size_t), ("turns", c_void_p), ("weights", POINTER(c_char_p)), ("n_turns", c_size_t),
                ("has_reward", c_bool), ("reward", c_double)]


class tinkc_trajectory_options(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("advantages", c_void_p), ("repeat_shared", c_bool)]

tinkc_produce_fn = CFUNCTYPE(c_int, c_void_p, c_size_t, c_size_t, c_void_p)


class tinkc_array(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("elem", c_int), ("data", c_void_p), ("shape", c_void_p), ("ndim",
                c_size_t), ("strides", c_void_p), ("produce", tinkc_produce_fn), ("user", c_void_p), ("dtype",
                c_int), ("flags", c_uint), ("rounded", POINTER(c_size_t))]


class tinkc_sparse(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("dtype", c_int), ("rows", c_int64), ("columns", c_int64), ("values",
                c_void_p), ("n", c_size_t), ("row_starts", c_void_p), ("value_columns", c_void_p)]


class tinkc_rows(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("elem", c_int), ("rows", POINTER(c_void_p)), ("lengths", c_void_p), ("n",
                c_size_t), ("dtype", c_int)]


class tinkc_origin(Structure):
    __slots__ = ()
    _fields_ = [("kind", c_int), ("sequence_id", c_char_p), ("offset", c_int64), ("length", c_int64)]


class tinkc_rollout(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("prompt", c_void_p), ("tokens", c_void_p), ("logprobs", c_void_p), ("n",
                c_size_t), ("advantage", c_double)]


class tinkc_upload_options(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("base_model", c_char_p), ("project_id", c_char_p)]


class tinkc_copy_options(Structure):
    __slots__ = ()
    _fields_ = [("size", c_size_t), ("project_id", c_char_p), ("ttl_seconds", c_int64), ("token", c_char_p)]


class tinkc_file_urls(Structure):
    __slots__ = ()
    _fields_ = [("items", POINTER(tinkc_pair)), ("n", c_size_t), ("expires_us", c_int64)]


tinkc_queue_state_fn = CFUNCTYPE(None, c_int, c_char_p, c_char_p, c_void_p)
tinkc_future_fn = CFUNCTYPE(None, c_void_p, c_void_p)
tinkc_hook_fn = CFUNCTYPE(None, POINTER(tinkc_hook), c_void_p)
tinkc_log_fn = CFUNCTYPE(None, c_int, c_char_p, c_char_p, c_void_p)
tinkc_stream_fn = CFUNCTYPE(c_bool, POINTER(tinkc_stream_event), c_void_p)
