-- Items, their states over system time, evidence, conflicts, decisions.
-- Items and decisions are never changed; of a state only system_to is set, once.

CREATE TABLE decision (
    partition   text COLLATE "C" NOT NULL,
    decision    text COLLATE "C" NOT NULL,
    change      bigint NOT NULL,
    operation   text COLLATE "C" NOT NULL,
    action      text COLLATE "C" NOT NULL CHECK (action IN ('ADD', 'NOOP', 'SUPERSEDE', 'RETRACT')),
    item        text COLLATE "C" NOT NULL DEFAULT '',
    superseded  text COLLATE "C" NOT NULL DEFAULT '',
    episode     text COLLATE "C" NOT NULL DEFAULT '',
    reason      text COLLATE "C" NOT NULL,
    inputs      text COLLATE "C" NOT NULL DEFAULT '', -- canonical JSON list of item ids
    guards      text COLLATE "C" NOT NULL DEFAULT '', -- canonical JSON list of names
    extractor   text COLLATE "C" NOT NULL DEFAULT '',
    model       text COLLATE "C" NOT NULL DEFAULT '',
    prompt_hash text COLLATE "C" NOT NULL DEFAULT '',
    at          bigint NOT NULL,
    salt        bytea NOT NULL,
    PRIMARY KEY (partition, decision)
);
ALTER TABLE decision ALTER COLUMN partition SET STATISTICS 0; -- see episode
CREATE INDEX decision_item ON decision (partition, item);
CREATE INDEX decision_episode ON decision (partition, episode);

CREATE TABLE item (
    partition      text COLLATE "C" NOT NULL,
    item           text COLLATE "C" NOT NULL,
    seq            bigint NOT NULL,
    change         bigint NOT NULL,
    kind           text COLLATE "C" NOT NULL CHECK (kind IN ('fact', 'preference', 'event', 'experience', 'summary')),
    text           text COLLATE "C" NOT NULL,
    text_hash      bytea NOT NULL, -- SHA-256 of the normalised text
    subject_type   text COLLATE "C" NOT NULL DEFAULT '',
    subject_name   text COLLATE "C" NOT NULL DEFAULT '',
    predicate      text COLLATE "C" NOT NULL DEFAULT '',
    value          text COLLATE "C" NOT NULL DEFAULT '',
    value_id       text COLLATE "C" NOT NULL DEFAULT '',
    fact_key       text COLLATE "C" NOT NULL DEFAULT '',
    fact_key_hash  bytea, -- NULL for open-world items
    polarity       integer NOT NULL CHECK (polarity IN (-1, 1)),
    authority      text COLLATE "C" NOT NULL CHECK (authority IN ('authorized', 'attested', 'unendorsed')),
    user_id        text COLLATE "C" NOT NULL DEFAULT '',
    agent          text COLLATE "C" NOT NULL DEFAULT '',
    team           text COLLATE "C" NOT NULL DEFAULT '',
    visibility     text COLLATE "C" NOT NULL CHECK (visibility IN ('private', 'team', 'public')),
    stated_from    bigint,
    stated_to      bigint,
    vague_earliest bigint,
    vague_latest   bigint,
    vague_words    text COLLATE "C" NOT NULL DEFAULT '',
    expires_at     bigint,
    supersedes     text COLLATE "C" NOT NULL DEFAULT '',
    root           text COLLATE "C" NOT NULL,
    importance     double precision NOT NULL DEFAULT 0,
    confidence     double precision NOT NULL DEFAULT 0,
    shareable      boolean NOT NULL DEFAULT FALSE,
    contributor    text COLLATE "C" NOT NULL DEFAULT '', -- HMAC, never an id
    metadata       text COLLATE "C" NOT NULL DEFAULT '',
    recorded_at    bigint NOT NULL,
    decision       text COLLATE "C" NOT NULL,
    salt           bytea NOT NULL,
    PRIMARY KEY (partition, item),
    FOREIGN KEY (partition, decision) REFERENCES decision (partition, decision)
);
ALTER TABLE item ALTER COLUMN partition SET STATISTICS 0;
CREATE UNIQUE INDEX item_seq ON item (partition, seq);
CREATE INDEX item_change ON item (partition, change);
CREATE INDEX item_fact ON item (partition, fact_key_hash);
CREATE INDEX item_text ON item (partition, text_hash);
CREATE INDEX item_value ON item (partition, value_id) WHERE value_id <> '';
CREATE INDEX item_root ON item (partition, root);
CREATE INDEX item_expiry ON item (partition, expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE item_state (
    partition     text COLLATE "C" NOT NULL,
    item          text COLLATE "C" NOT NULL,
    n             integer NOT NULL,
    fact_key_hash bytea,
    change        bigint NOT NULL,
    status        text COLLATE "C" NOT NULL CHECK (status IN ('active', 'superseded', 'ended', 'withdrawn', 'archived')),
    valid_from    bigint,
    valid_to      bigint,
    holds_slot    boolean NOT NULL DEFAULT FALSE,
    cause         text COLLATE "C" NOT NULL DEFAULT '',
    reason        text COLLATE "C" NOT NULL DEFAULT '',
    system_from   bigint NOT NULL,
    system_to     bigint,
    decision      text COLLATE "C" NOT NULL,
    salt          bytea NOT NULL,
    PRIMARY KEY (partition, item, n),
    FOREIGN KEY (partition, item) REFERENCES item (partition, item),
    FOREIGN KEY (partition, decision) REFERENCES decision (partition, decision)
);
ALTER TABLE item_state ALTER COLUMN partition SET STATISTICS 0;
CREATE INDEX item_state_change ON item_state (partition, change);
CREATE UNIQUE INDEX item_state_present ON item_state (partition, item) WHERE system_to IS NULL;
CREATE UNIQUE INDEX item_state_holder ON item_state (partition, fact_key_hash)
    WHERE holds_slot AND system_to IS NULL AND valid_to IS NULL;

CREATE TABLE evidence (
    partition    text COLLATE "C" NOT NULL,
    item         text COLLATE "C" NOT NULL,
    n            integer NOT NULL,
    change       bigint NOT NULL,
    episode      text COLLATE "C" NOT NULL,
    quote        text COLLATE "C" NOT NULL,
    start_byte   integer NOT NULL,
    end_byte     integer NOT NULL,
    full_witness boolean NOT NULL,
    lead         INTEGER NOT NULL DEFAULT 0, -- of a needed part: n of the first part
    polarity     integer NOT NULL CHECK (polarity IN (-1, 1)),
    authority    text COLLATE "C" NOT NULL CHECK (authority IN ('authorized', 'attested', 'unendorsed')),
    stated_from  bigint,
    stated_to    bigint,
    at           bigint NOT NULL,
    salt         bytea NOT NULL,
    PRIMARY KEY (partition, item, n),
    FOREIGN KEY (partition, item) REFERENCES item (partition, item),
    FOREIGN KEY (partition, episode) REFERENCES episode (partition, episode)
);
ALTER TABLE evidence ALTER COLUMN partition SET STATISTICS 0;
CREATE UNIQUE INDEX evidence_once ON evidence (partition, item, lead, episode, start_byte, end_byte, polarity);
CREATE INDEX evidence_episode ON evidence (partition, episode);
CREATE INDEX evidence_change ON evidence (partition, change);

CREATE TABLE conflict (
    partition text COLLATE "C" NOT NULL,
    item      text COLLATE "C" NOT NULL,
    other     text COLLATE "C" NOT NULL,
    reason    text COLLATE "C" NOT NULL,
    decision  text COLLATE "C" NOT NULL,
    at        bigint NOT NULL,
    change    bigint NOT NULL,
    salt      bytea NOT NULL,
    PRIMARY KEY (partition, item, other),
    FOREIGN KEY (partition, item) REFERENCES item (partition, item),
    FOREIGN KEY (partition, other) REFERENCES item (partition, item)
);
ALTER TABLE conflict ALTER COLUMN partition SET STATISTICS 0;
CREATE INDEX conflict_other ON conflict (partition, other);

CREATE TABLE item_derivation (
    partition text COLLATE "C" NOT NULL,
    item      text COLLATE "C" NOT NULL,
    source    text COLLATE "C" NOT NULL,
    PRIMARY KEY (partition, item, source),
    FOREIGN KEY (partition, item) REFERENCES item (partition, item),
    FOREIGN KEY (partition, source) REFERENCES item (partition, item)
);
ALTER TABLE item_derivation ALTER COLUMN partition SET STATISTICS 0;
CREATE INDEX item_derivation_source ON item_derivation (partition, source);

CREATE TABLE item_origin (
    partition text COLLATE "C" NOT NULL,
    item      text COLLATE "C" NOT NULL,
    kind      text COLLATE "C" NOT NULL CHECK (kind IN ('agent', 'resource')),
    name      text COLLATE "C" NOT NULL,
    PRIMARY KEY (partition, item, kind, name),
    FOREIGN KEY (partition, item) REFERENCES item (partition, item)
);
ALTER TABLE item_origin ALTER COLUMN partition SET STATISTICS 0;
