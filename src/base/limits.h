/* Every size, depth and count limit, with its unit in the name. A buffer, a parser or a
 * table that is not bounded by one of these (or by an argument) is a defect. */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#define TK_KIB ((size_t)1024)
#define TK_MIB (TK_KIB * 1024)
#define TK_GIB (TK_MIB * 1024)

#define TK_ERR_MESSAGE_BYTES 320 /* one line; longer text is cut */
#define TK_ERR_PATH_BYTES    128 /* "data[3].loss_fn_inputs.weights" */
#define TK_ERR_ID_BYTES      256 /* a server's request id */

#define TK_ARENA_BLOCK_BYTES (16 * TK_KIB) /* first block of an arena */
#define TK_ARENA_MAX_BYTES   (2 * TK_GIB)  /* default cap of one arena */

#define TK_JSON_MAX_DEPTH 128
#define TK_JSON_MAX_BYTES (512 * TK_MIB)

#define TK_BODY_MAX_BYTES   TK_GIB /* one request or response body, decompressed */
#define TK_TENSOR_MAX_DIMS  32
#define TK_STRING_MAX_BYTES (64 * TK_MIB)   /* one string inside a message */
#define TK_TENSOR_MAP_MAX   128             /* named tensors of one datum */
#define TK_NUM_MAP_MAX      4096            /* loss_fn_config, metrics */
#define TK_DATUMS_MAX       (1024 * TK_KIB) /* datums of one request or result */
#define TK_PB_MAX_DEPTH     100  /* nested protobuf groups, protobuf's own limit */
#define TK_STOPS_MAX        1024 /* stop strings of one sample request */
#define TK_STOPS_BYTES      (16 * TK_KIB) /* all of them together */
#define TK_STOP_TOKENS_MAX  (64 * TK_KIB) /* stop tokens of one sample request */
#define TK_TOPK_MAX_K       4096          /* columns of a top-k matrix */
#define TK_TOPK_MAX_CELLS   (16 * TK_MIB) /* its rows times its columns */

#define TK_SERIES_MAX        256 /* metrics of the program's own in one meter */
#define TK_SERIES_NAME_BYTES 64  /* name of one */

#define TK_ANSWER_SMALL_BYTES  TK_MIB        /* most responses, decompressed */
#define TK_ANSWER_LIST_BYTES   (8 * TK_MIB)  /* one page of a list, or a JSON result */
#define TK_ANSWER_REPORT_BYTES (32 * TK_MIB) /* audit log of a day, usage events */

#define TK_ANSWER_ARENA_RATIO       8 /* parsed to text, beyond the slack: more is a bomb */
#define TK_ANSWER_ARENA_SLACK_BYTES (2 * TK_MIB)
#define TK_ANSWER_ARENA_LIST_BYTES  (50 * TK_MIB)  /* one page of a list, parsed */
#define TK_ANSWER_ARENA_BYTES       (256 * TK_MIB) /* any response, parsed */

#define TK_OPTIONS_MAX_BYTES 4096         /* an options struct of a future version */
#define TK_LOG_LINE_BYTES    1024         /* one line with its NUL; longer ones are cut */
#define TK_LOG_TEXT_BYTES    (8 * TK_KIB) /* of a line before secrets are masked */

#define TK_REDACT_SECRETS_MAX      64 /* registered secrets of one context */
#define TK_REDACT_SECRET_MIN_BYTES 4
#define TK_REDACT_SECRET_MAX_BYTES (4 * TK_KIB) /* a JWT with many claims */

#define TK_WALK_MAX_RUNS        10000 /* where checkpoints are listed run by run */
#define TK_WALK_MAX_CHECKPOINTS 1000000

#define TK_UNPACK_MAX_BYTES   (1024 * TK_GIB) /* files of one archive */
#define TK_UNPACK_MAX_FILES   100000
#define TK_UNPACK_MAX_DEPTH   32
#define TK_UNPACK_PATH_BYTES  4096 /* of a member */
#define TK_UNPACK_RATIO       100 /* files to archive, beyond the slack: more is a bomb */
#define TK_UNPACK_SLACK_BYTES (64 * TK_MIB)

#define TK_DATA_RECORD_BYTES (16 * TK_MIB) /* one line, item or row of training data */
#define TK_DATA_PLAIN_BYTES  TK_MIB        /* most of a plain text that is read at once */
#define TK_DATA_INPUT_BYTES  (64 * TK_GIB) /* one file, unpacked */
#define TK_DATA_RATIO        200 /* unpacked to packed, beyond the slack: more is a bomb */
#define TK_DATA_SLACK_BYTES  (64 * TK_MIB)
#define TK_DATA_FILES_MAX    (64 * TK_KIB) /* named or matched on one command line */
#define TK_DATA_COLUMNS_MAX  1024          /* of a CSV file */
#define TK_DATA_TURNS_MAX    (64 * TK_KIB) /* messages of one conversation */
#define TK_DATA_ROWS_MAX     (16 * TK_MIB) /* examples to train on */
#define TK_DATA_TOKEN_BYTES  (64 * TK_GIB) /* their tokens, packed */

#define TK_MAP_MAX_ENTRIES (64 * 1024 * 1024)

#define TK_TOK_FILE_MAX_BYTES    (256 * TK_MIB) /* one tokenizer.json */
#define TK_TOK_TEXT_MAX_BYTES    TK_GIB         /* of one encode */
#define TK_TOK_MAX_TOKENS        (4 * 1024 * TK_KIB)
#define TK_TOK_CONFIG_MAX_BYTES  (16 * TK_MIB) /* one tokenizer_config.json */
#define TK_TOK_ADDED_MAX_BYTES   4096          /* the text of one added token */
#define TK_TOK_PATTERN_MAX_BYTES (64 * TK_KIB) /* one split pattern */
#define TK_TOK_SPLIT_MAX_BYTES   (2 * TK_GIB)  /* read to find a tiktoken file's merges */
#define TK_TOK_CACHE_MAX         32            /* tokenizers that stay loaded */

#define TK_JINJA_SOURCE_MAX_BYTES (2 * TK_MIB)         /* one chat template */
#define TK_JINJA_TREE_MAX_BYTES   (256 * TK_MIB)       /* its syntax tree */
#define TK_JINJA_MAX_NAMES        1024                 /* used in one scope */
#define TK_JINJA_MAX_COMPARED     (32 * 1024 * TK_KIB) /* names, while it is parsed */
#define TK_JINJA_MAX_NESTING      100  /* of expressions, and of blocks, in a template */
#define TK_JINJA_MAX_DEPTH        1000 /* of evaluation; a macro call takes about eight */
#define TK_JINJA_MAX_STEPS        (64 * 1024 * TK_KIB) /* nodes, items, 16-byte texts */
#define TK_JINJA_MAX_MEMORY_BYTES (512 * TK_MIB)       /* values of one render */
#define TK_JINJA_MAX_OUTPUT_BYTES (256 * TK_MIB)
#define TK_JINJA_MAX_RANGE        100000 /* as jinja2's sandbox */
#define TK_CHAT_MAX_VARS          4096   /* of one conversation, beside its messages */
#define TK_CHAT_SEARCH_MAX_BYTES  (4 * TK_GIB) /* for the texts of a conversation */

#define TK_HD_HEADER_BYTES     (16 * TK_KIB) /* request line and headers, and buffers */
#define TK_HD_BODY_LIGHT_BYTES TK_MIB        /* request body of most routes */
#define TK_HD_PROMPT_BYTES     (4 * TK_KIB)  /* of a body that is handled at once */
#define TK_HD_STREAM_BYTES     (4 * TK_MIB)  /* of a stream whose reader is slow */
#define TK_HD_QUERY_MAX        16            /* parameters of a URL */

#define TK_CA_HELD_BYTES   (4 * TK_MIB)  /* of an answer, that may become a tool call */
#define TK_CA_SPACE_BYTES  (4 * TK_KIB)  /* of white space that waits for what follows */
#define TK_CA_HEADER_BYTES 1024          /* header of a harmony message */
#define TK_CA_NAME_BYTES   256           /* name of a tool, id or key in a call */
#define TK_CA_CALLS_MAX    1024          /* tool calls of one answer */
#define TK_CA_OUTPUT_BYTES (64 * TK_MIB) /* text, and reasoning, of one answer */

#define TK_SRV_BODY_SAMPLE_BYTES (32 * TK_MIB)  /* of asample */
#define TK_SRV_BODY_TRAIN_BYTES  (256 * TK_MIB) /* of forward_backward, as it comes */
#define TK_SRV_ID_BYTES          256            /* an id or key that a client sends */
#define TK_SRV_BODY_UPLOAD_BYTES (256 * TK_MIB) /* one file of an upload */
#define TK_SRV_UPLOADS_MAX       16             /* that are not finished */
#define TK_SRV_NAME_BYTES        255            /* name of a checkpoint */
#define TK_SRV_METADATA_BYTES    (16 * TK_KIB)  /* user_metadata of a checkpoint */
#define TK_SRV_LABEL_BYTES       (8 * TK_MIB)   /* tinkc.json of a checkpoint */
#define TK_SRV_SESSION_DAYS      90          /* a session without checkpoint is listed */
#define TK_SRV_SESSION_ROWS_MAX  (64 * 1024) /* sessions; beyond, old ones go first */
#define TK_SRV_USAGE_DAYS        400         /* usage is kept */
#define TK_SRV_SEARCH_PAGE_BYTES TK_MIB      /* metadata that a search reads at once */
#define TK_SRV_SEARCH_SCAN_BYTES (64 * TK_MIB) /* and in a request; then a cursor */
#define TK_SRV_SEARCH_TERMS_MAX  64            /* pairs of metadata, models, statuses */
#define TK_SRV_SEARCH_NAME_BYTES 256           /* the words for a display name */
#define TK_SRV_SEARCH_TEXT_BYTES (4 * TK_MIB)  /* of its answer; then a cursor */
#define TK_SRV_SESSIONS_MAX      4096          /* that are alive */
#define TK_SRV_MODELS_MAX        256           /* loaded for training */
#define TK_SRV_LOADS_MAX         64            /* base models loaded while it runs */
#define TK_SRV_SAMPLERS_MAX      (16 * 1024)   /* sampling sessions */
#define TK_SRV_JOBS_MAX          1024          /* training requests waiting, per model */
#define TK_SRV_SAMPLES_MAX       8192          /* samples waiting or running */
#define TK_SRV_FUTURES_MAX       (256 * 1024)  /* remembered, with or without result */

#define TK_CA_BODY_BYTES   (32 * TK_MIB)  /* a request of an OpenAI or Anthropic client */
#define TK_CA_ARENA_BYTES  (512 * TK_MIB) /* the same, decoded */
#define TK_CA_DEPTH        64            /* arrays and objects in it; also of arguments */
#define TK_CA_MEMBERS_MAX  128           /* of an object that is read by name */
#define TK_CA_MESSAGES_MAX (64 * TK_KIB) /* messages, and items that give one */
#define TK_CA_TOOLS_MAX    1024          /* functions that are offered to the model */
#define TK_CA_PROMPTS_MAX  1024          /* prompts of one completions request */
#define TK_CA_CHOICES_MAX  128           /* answers to one prompt, as OpenAI has it */
#define TK_CA_ANSWERS_MAX  1024          /* prompts times answers */
#define TK_CA_TOP_MAX      20            /* alternatives at a token, as OpenAI has it */
#define TK_CA_KWARGS_MAX   64            /* variables of chat_template_kwargs */

#define TK_GW_EPISODES_MAX    (64 * 1024)    /* of one gateway */
#define TK_GW_ID_BYTES        256            /* name of an episode */
#define TK_GW_TURNS_MAX       (16 * 1024)    /* of one episode */
#define TK_GW_EPISODE_IDS_MAX (16 * TK_MIB)  /* tokens that it keeps, shared ones once */
#define TK_GW_EPISODE_BYTES   (256 * TK_MIB) /* of one episode in memory */
#define TK_GW_RECORD_BYTES    (256 * TK_MIB) /* one record of the log */
#define TK_GW_RECORDS_MAX     (64 * 1024)    /* of one episode: answers and rewards */
#define TK_GW_METADATA_BYTES  (64 * TK_KIB)  /* of an episode or a turn */
#define TK_GW_MESSAGES_MAX    (16 * 1024)    /* of one request */
#define TK_GW_CANDIDATES_MAX  64             /* turns that a request may continue */
#define TK_GW_RENDERS_MAX     16             /* of one request, to find its turn */
#define TK_GW_SEGMENT_BYTES   (64 * TK_MIB) /* a file of the log; one record may exceed */
#define TK_GW_SEGMENTS_MAX    (64 * 1024)
#define TK_GW_SYNC_MS         20            /* written, not yet synced: at most */
#define TK_GW_MEMORY_BYTES    (64 * TK_MIB) /* episodes in memory, by default */
#define TK_GW_TOKENIZERS_MAX  64            /* whose vocabulary is remembered */
#define TK_GW_REPEATS_MAX     (16 * 1024)   /* requests that are remembered */
#define TK_GW_REPEAT_BYTES    (32 * TK_MIB) /* their answers */
#define TK_GW_REPEAT_WAITERS  64            /* repetitions of one that runs */
#define TK_GW_REPEAT_MS       30000         /* an answer is remembered after its end */
#define TK_GW_RUNNING_MAX     4096          /* requests that are being answered */
#define TK_GW_EXPORT_BYTES    TK_GIB        /* one episode as JSON */

#endif
