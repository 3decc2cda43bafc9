-- Partitions, conversations, episodes and what is derived from them.
-- Every primary key and unique index starts with the partition, and no key or
-- reference crosses partitions, so the schema can be distributed by it.
-- Times are microseconds since 1970 UTC; enums are words; ids are text.

CREATE TABLE partition (
    partition   text COLLATE "C" NOT NULL PRIMARY KEY,
    tenant      text COLLATE "C" NOT NULL,
    kind        text COLLATE "C" NOT NULL,
    name        text COLLATE "C" NOT NULL,
    change      bigint NOT NULL DEFAULT 0,
    seq         bigint NOT NULL DEFAULT 0,
    erased      bigint NOT NULL DEFAULT 0,
    ledger_seq  bigint NOT NULL DEFAULT 0,
    ledger_head bytea,
    created_at  bigint NOT NULL
);

CREATE TABLE conversation (
    partition    text COLLATE "C" NOT NULL,
    conversation text COLLATE "C" NOT NULL,
    created_at   bigint NOT NULL,
    updated_at   bigint NOT NULL,
    summary      text COLLATE "C" NOT NULL DEFAULT '', -- rolling, derived: shown to extractors, never searched
    summary_seq  bigint NOT NULL DEFAULT 0, -- the last episode it covers
    PRIMARY KEY (partition, conversation)
);

CREATE TABLE episode (
    partition    text COLLATE "C" NOT NULL,
    episode      text COLLATE "C" NOT NULL,
    conversation text COLLATE "C" NOT NULL,
    session      text COLLATE "C" NOT NULL,
    message_id   text COLLATE "C" NOT NULL,
    seq          bigint NOT NULL,
    change       bigint NOT NULL,
    role         text COLLATE "C" NOT NULL CHECK (role IN ('user', 'assistant', 'system', 'tool', 'document')),
    speaker      text COLLATE "C" NOT NULL DEFAULT '',
    source       text COLLATE "C" NOT NULL DEFAULT '',
    agent        text COLLATE "C" NOT NULL DEFAULT '',
    user_id      text COLLATE "C" NOT NULL DEFAULT '', -- who added it
    content      text COLLATE "C" NOT NULL,
    sha256       bytea NOT NULL,
    sent_at      bigint NOT NULL,
    sent_offset  integer NOT NULL DEFAULT 0,
    estimated    boolean NOT NULL DEFAULT FALSE,
    recorded_at  bigint NOT NULL,
    metadata     text COLLATE "C" NOT NULL DEFAULT '',
    expires_at   bigint,
    salt         bytea NOT NULL,
    PRIMARY KEY (partition, episode)
);
-- No statistics of the partition: users differ so much in size that the planner,
-- told of an average or of what a new one had before it was filled, would read a
-- whole partition in any index to find one row of it. Without, it assumes many
-- rows for every partition alike, and so keeps one plan for all of them.
ALTER TABLE episode ALTER COLUMN partition SET STATISTICS 0;
CREATE INDEX episode_expiry ON episode (partition, expires_at) WHERE expires_at IS NOT NULL;
CREATE UNIQUE INDEX episode_message ON episode (partition, conversation, message_id);
CREATE UNIQUE INDEX episode_seq ON episode (partition, seq);
CREATE INDEX episode_conversation ON episode (partition, conversation, seq);
CREATE INDEX episode_change ON episode (partition, change);
CREATE INDEX episode_sent ON episode (partition, conversation, sent_at, session);

CREATE TABLE extraction (
    partition   text COLLATE "C" NOT NULL,
    episode     text COLLATE "C" NOT NULL,
    extractor   text COLLATE "C" NOT NULL,
    status      text COLLATE "C" NOT NULL CHECK (status IN ('pending', 'done', 'empty', 'failed')),
    attempts    integer NOT NULL DEFAULT 0,
    unread      integer NOT NULL DEFAULT 0, -- of the attempts, those that could not read this message
    lease_until bigint,
    error       text COLLATE "C" NOT NULL DEFAULT '',
    updated_at  bigint NOT NULL,
    PRIMARY KEY (partition, episode, extractor),
    FOREIGN KEY (partition, episode) REFERENCES episode (partition, episode)
);
ALTER TABLE extraction ALTER COLUMN partition SET STATISTICS 0;
CREATE INDEX extraction_open ON extraction (partition, extractor, episode) WHERE status IN ('pending', 'failed');

CREATE TABLE embedding (
    partition  text COLLATE "C" NOT NULL,
    owner_kind text COLLATE "C" NOT NULL CHECK (owner_kind IN ('episode', 'item')),
    owner      text COLLATE "C" NOT NULL,
    part       integer NOT NULL DEFAULT 0,
    model      text COLLATE "C" NOT NULL,
    dim        integer NOT NULL,
    vector     bytea NOT NULL, -- float32, little endian
    change     bigint NOT NULL,
    PRIMARY KEY (partition, owner_kind, owner, part, model)
) WITH (toast_tuple_target = 8160); -- up to some 2,000 dimensions lie in the row, to be read with it
CREATE INDEX embedding_change ON embedding (partition, model, change);

CREATE TABLE idempotency (
    partition text COLLATE "C" NOT NULL,
    key       text COLLATE "C" NOT NULL,
    body      bytea NOT NULL, -- SHA-256 of the request
    result    text COLLATE "C" NOT NULL,  -- ids only
    at        bigint NOT NULL,
    PRIMARY KEY (partition, key)
);
