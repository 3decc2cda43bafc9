-- Items, their states over system time, evidence, conflicts, decisions.
-- Items and decisions are never changed; of a state only system_to is set, once.

CREATE TABLE decision (
    partition   TEXT NOT NULL,
    decision    TEXT NOT NULL,
    change      INTEGER NOT NULL,
    operation   TEXT NOT NULL,
    action      TEXT NOT NULL CHECK (action IN ('ADD', 'NOOP', 'SUPERSEDE', 'RETRACT')),
    item        TEXT NOT NULL DEFAULT '',
    superseded  TEXT NOT NULL DEFAULT '',
    episode     TEXT NOT NULL DEFAULT '',
    reason      TEXT NOT NULL,
    inputs      TEXT NOT NULL DEFAULT '', -- canonical JSON list of item ids
    guards      TEXT NOT NULL DEFAULT '', -- canonical JSON list of names
    extractor   TEXT NOT NULL DEFAULT '',
    model       TEXT NOT NULL DEFAULT '',
    prompt_hash TEXT NOT NULL DEFAULT '',
    at          INTEGER NOT NULL,
    salt        BLOB NOT NULL,
    PRIMARY KEY (partition, decision)
);
CREATE INDEX decision_item ON decision (partition, item);
CREATE INDEX decision_episode ON decision (partition, episode);

CREATE TABLE item (
    partition      TEXT NOT NULL,
    item           TEXT NOT NULL,
    seq            INTEGER NOT NULL,
    change         INTEGER NOT NULL,
    kind           TEXT NOT NULL CHECK (kind IN ('fact', 'preference', 'event', 'experience', 'summary')),
    text           TEXT NOT NULL,
    text_hash      BLOB NOT NULL, -- SHA-256 of the normalised text
    subject_type   TEXT NOT NULL DEFAULT '',
    subject_name   TEXT NOT NULL DEFAULT '',
    predicate      TEXT NOT NULL DEFAULT '',
    value          TEXT NOT NULL DEFAULT '',
    value_id       TEXT NOT NULL DEFAULT '',
    fact_key       TEXT NOT NULL DEFAULT '',
    fact_key_hash  BLOB, -- NULL for open-world items
    polarity       INTEGER NOT NULL CHECK (polarity IN (-1, 1)),
    authority      TEXT NOT NULL CHECK (authority IN ('authorized', 'attested', 'unendorsed')),
    user_id        TEXT NOT NULL DEFAULT '',
    agent          TEXT NOT NULL DEFAULT '',
    team           TEXT NOT NULL DEFAULT '',
    visibility     TEXT NOT NULL CHECK (visibility IN ('private', 'team', 'public')),
    stated_from    INTEGER,
    stated_to      INTEGER,
    vague_earliest INTEGER,
    vague_latest   INTEGER,
    vague_words    TEXT NOT NULL DEFAULT '',
    expires_at     INTEGER,
    supersedes     TEXT NOT NULL DEFAULT '',
    root           TEXT NOT NULL,
    importance     REAL NOT NULL DEFAULT 0,
    confidence     REAL NOT NULL DEFAULT 0,
    shareable      INTEGER NOT NULL DEFAULT FALSE,
    contributor    TEXT NOT NULL DEFAULT '', -- HMAC, never an id
    metadata       TEXT NOT NULL DEFAULT '',
    recorded_at    INTEGER NOT NULL,
    decision       TEXT NOT NULL,
    salt           BLOB NOT NULL,
    PRIMARY KEY (partition, item),
    FOREIGN KEY (partition, decision) REFERENCES decision (partition, decision)
);
CREATE UNIQUE INDEX item_seq ON item (partition, seq);
CREATE INDEX item_change ON item (partition, change);
CREATE INDEX item_fact ON item (partition, fact_key_hash);
CREATE INDEX item_text ON item (partition, text_hash);
CREATE INDEX item_value ON item (partition, value_id) WHERE value_id <> '';
CREATE INDEX item_root ON item (partition, root);
CREATE INDEX item_expiry ON item (partition, expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE item_state (
    partition     TEXT NOT NULL,
    item          TEXT NOT NULL,
    n             INTEGER NOT NULL,
    fact_key_hash BLOB,
    change        INTEGER NOT NULL,
    status        TEXT NOT NULL CHECK (status IN ('active', 'superseded', 'ended', 'withdrawn', 'archived')),
    valid_from    INTEGER,
    valid_to      INTEGER,
    holds_slot    INTEGER NOT NULL DEFAULT FALSE,
    cause         TEXT NOT NULL DEFAULT '',
    reason        TEXT NOT NULL DEFAULT '',
    system_from   INTEGER NOT NULL,
    system_to     INTEGER,
    decision      TEXT NOT NULL,
    salt          BLOB NOT NULL,
    PRIMARY KEY (partition, item, n),
    FOREIGN KEY (partition, item) REFERENCES item (partition, item),
    FOREIGN KEY (partition, decision) REFERENCES decision (partition, decision)
);
CREATE INDEX item_state_change ON item_state (partition, change);
CREATE UNIQUE INDEX item_state_present ON item_state (partition, item) WHERE system_to IS NULL;
CREATE UNIQUE INDEX item_state_holder ON item_state (partition, fact_key_hash)
    WHERE holds_slot AND system_to IS NULL AND valid_to IS NULL;

CREATE TABLE evidence (
    partition    TEXT NOT NULL,
    item         TEXT NOT NULL,
    n            INTEGER NOT NULL,
    change       INTEGER NOT NULL,
    episode      TEXT NOT NULL,
    quote        TEXT NOT NULL,
    start_byte   INTEGER NOT NULL,
    end_byte     INTEGER NOT NULL,
    full_witness INTEGER NOT NULL,
    lead         INTEGER NOT NULL DEFAULT 0, -- of a needed part: n of the first part
    polarity     INTEGER NOT NULL CHECK (polarity IN (-1, 1)),
    authority    TEXT NOT NULL CHECK (authority IN ('authorized', 'attested', 'unendorsed')),
    stated_from  INTEGER,
    stated_to    INTEGER,
    at           INTEGER NOT NULL,
    salt         BLOB NOT NULL,
    PRIMARY KEY (partition, item, n),
    FOREIGN KEY (partition, item) REFERENCES item (partition, item),
    FOREIGN KEY (partition, episode) REFERENCES episode (partition, episode)
);
CREATE UNIQUE INDEX evidence_once ON evidence (partition, item, lead, episode, start_byte, end_byte, polarity);
CREATE INDEX evidence_episode ON evidence (partition, episode);
CREATE INDEX evidence_change ON evidence (partition, change);

CREATE TABLE conflict (
    partition TEXT NOT NULL,
    item      TEXT NOT NULL,
    other     TEXT NOT NULL,
    reason    TEXT NOT NULL,
    decision  TEXT NOT NULL,
    at        INTEGER NOT NULL,
    change    INTEGER NOT NULL,
    salt      BLOB NOT NULL,
    PRIMARY KEY (partition, item, other),
    FOREIGN KEY (partition, item) REFERENCES item (partition, item),
    FOREIGN KEY (partition, other) REFERENCES item (partition, item)
);
CREATE INDEX conflict_other ON conflict (partition, other);

CREATE TABLE item_derivation (
    partition TEXT NOT NULL,
    item      TEXT NOT NULL,
    source    TEXT NOT NULL,
    PRIMARY KEY (partition, item, source),
    FOREIGN KEY (partition, item) REFERENCES item (partition, item),
    FOREIGN KEY (partition, source) REFERENCES item (partition, item)
);
CREATE INDEX item_derivation_source ON item_derivation (partition, source);

CREATE TABLE item_origin (
    partition TEXT NOT NULL,
    item      TEXT NOT NULL,
    kind      TEXT NOT NULL CHECK (kind IN ('agent', 'resource')),
    name      TEXT NOT NULL,
    PRIMARY KEY (partition, item, kind, name),
    FOREIGN KEY (partition, item) REFERENCES item (partition, item)
);
