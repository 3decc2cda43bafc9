-- Partitions, conversations, episodes and what is derived from them.
-- Every primary key and unique index starts with the partition, and no key or
-- reference crosses partitions, so the schema can be distributed by it.
-- Times are microseconds since 1970 UTC; enums are words; ids are text.

CREATE TABLE partition (
    partition   TEXT NOT NULL PRIMARY KEY,
    tenant      TEXT NOT NULL,
    kind        TEXT NOT NULL,
    name        TEXT NOT NULL,
    change      INTEGER NOT NULL DEFAULT 0,
    seq         INTEGER NOT NULL DEFAULT 0,
    erased      INTEGER NOT NULL DEFAULT 0,
    ledger_seq  INTEGER NOT NULL DEFAULT 0,
    ledger_head BLOB,
    created_at  INTEGER NOT NULL
);

CREATE TABLE conversation (
    partition    TEXT NOT NULL,
    conversation TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    summary      TEXT NOT NULL DEFAULT '', -- rolling, derived: shown to extractors, never searched
    summary_seq  INTEGER NOT NULL DEFAULT 0, -- the last episode it covers
    PRIMARY KEY (partition, conversation)
);

CREATE TABLE episode (
    partition    TEXT NOT NULL,
    episode      TEXT NOT NULL,
    conversation TEXT NOT NULL,
    session      TEXT NOT NULL,
    message_id   TEXT NOT NULL,
    seq          INTEGER NOT NULL,
    change       INTEGER NOT NULL,
    role         TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'system', 'tool', 'document')),
    speaker      TEXT NOT NULL DEFAULT '',
    source       TEXT NOT NULL DEFAULT '',
    agent        TEXT NOT NULL DEFAULT '',
    user_id      TEXT NOT NULL DEFAULT '', -- who added it
    content      TEXT NOT NULL,
    sha256       BLOB NOT NULL,
    sent_at      INTEGER NOT NULL,
    sent_offset  INTEGER NOT NULL DEFAULT 0,
    estimated    INTEGER NOT NULL DEFAULT FALSE,
    recorded_at  INTEGER NOT NULL,
    metadata     TEXT NOT NULL DEFAULT '',
    expires_at   INTEGER,
    salt         BLOB NOT NULL,
    PRIMARY KEY (partition, episode)
);
CREATE INDEX episode_expiry ON episode (partition, expires_at) WHERE expires_at IS NOT NULL;
CREATE UNIQUE INDEX episode_message ON episode (partition, conversation, message_id);
CREATE UNIQUE INDEX episode_seq ON episode (partition, seq);
CREATE INDEX episode_conversation ON episode (partition, conversation, seq);
CREATE INDEX episode_change ON episode (partition, change);
CREATE INDEX episode_sent ON episode (partition, conversation, sent_at, session);

CREATE TABLE extraction (
    partition   TEXT NOT NULL,
    episode     TEXT NOT NULL,
    extractor   TEXT NOT NULL,
    status      TEXT NOT NULL CHECK (status IN ('pending', 'done', 'empty', 'failed')),
    attempts    INTEGER NOT NULL DEFAULT 0,
    unread      INTEGER NOT NULL DEFAULT 0, -- of the attempts, those that could not read this message
    lease_until INTEGER,
    error       TEXT NOT NULL DEFAULT '',
    updated_at  INTEGER NOT NULL,
    PRIMARY KEY (partition, episode, extractor),
    FOREIGN KEY (partition, episode) REFERENCES episode (partition, episode)
);
CREATE INDEX extraction_open ON extraction (partition, extractor, episode) WHERE status IN ('pending', 'failed');

CREATE TABLE embedding (
    partition  TEXT NOT NULL,
    owner_kind TEXT NOT NULL CHECK (owner_kind IN ('episode', 'item')),
    owner      TEXT NOT NULL,
    part       INTEGER NOT NULL DEFAULT 0,
    model      TEXT NOT NULL,
    dim        INTEGER NOT NULL,
    vector     BLOB NOT NULL, -- float32, little endian
    change     INTEGER NOT NULL,
    PRIMARY KEY (partition, owner_kind, owner, part, model)
);
CREATE INDEX embedding_change ON embedding (partition, model, change);

CREATE TABLE idempotency (
    partition TEXT NOT NULL,
    key       TEXT NOT NULL,
    body      BLOB NOT NULL, -- SHA-256 of the request
    result    TEXT NOT NULL,  -- ids only
    at        INTEGER NOT NULL,
    PRIMARY KEY (partition, key)
);
