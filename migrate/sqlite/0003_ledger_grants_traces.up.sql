-- The ledger chain of each partition, access grants (in the tenant-directory
-- partition), traces and the feedback on them, and what models were used.

CREATE TABLE ledger (
    partition TEXT NOT NULL,
    seq       INTEGER NOT NULL,
    operation TEXT NOT NULL,
    objects   TEXT NOT NULL, -- canonical JSON: kind, id, salted digest
    at        INTEGER NOT NULL,
    alg       TEXT NOT NULL,
    key_id    TEXT NOT NULL DEFAULT '',
    prev      BLOB NOT NULL,
    hash      BLOB NOT NULL,
    PRIMARY KEY (partition, seq)
);
CREATE INDEX ledger_at ON ledger (partition, at);

CREATE TABLE access_grant (
    partition   TEXT NOT NULL,
    access_grant TEXT NOT NULL,
    kind        TEXT NOT NULL CHECK (kind IN ('user_agent', 'agent_resource', 'team_member')),
    left_id     TEXT NOT NULL,
    right_id    TEXT NOT NULL,
    team_partition TEXT NOT NULL DEFAULT '', -- of the team in left_id, made from it
    revoked     INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    by_id       TEXT NOT NULL DEFAULT '',
    change      INTEGER NOT NULL,
    salt        BLOB NOT NULL,
    PRIMARY KEY (partition, access_grant)
);
CREATE INDEX access_grant_left ON access_grant (partition, kind, left_id, right_id, at);
CREATE INDEX access_grant_right ON access_grant (partition, kind, right_id, left_id, at);

CREATE TABLE trace (
    partition   TEXT NOT NULL,
    trace       TEXT NOT NULL,
    kind        TEXT NOT NULL,
    query       TEXT NOT NULL,
    route       TEXT NOT NULL DEFAULT '',
    intent      TEXT NOT NULL DEFAULT '',
    degraded    TEXT NOT NULL DEFAULT '', -- canonical JSON list
    model       TEXT NOT NULL DEFAULT '',
    prompt_hash TEXT NOT NULL DEFAULT '',
    rungs       TEXT NOT NULL DEFAULT '', -- canonical JSON list
    items       TEXT NOT NULL DEFAULT '[]', -- JSON list of what it showed: one row, since every search writes one
    handed      BLOB NOT NULL DEFAULT x'', -- keys of the sentences handed out, 8 bytes each
    at          INTEGER NOT NULL,
    PRIMARY KEY (partition, trace)
);
CREATE INDEX trace_at ON trace (partition, at);

CREATE TABLE feedback (
    partition TEXT NOT NULL,
    feedback  TEXT NOT NULL,
    trace     TEXT NOT NULL,
    reward    REAL NOT NULL CHECK (reward >= -1 AND reward <= 1),
    key       TEXT NOT NULL DEFAULT '',
    at        INTEGER NOT NULL,
    change    INTEGER NOT NULL,
    salt      BLOB NOT NULL,
    PRIMARY KEY (partition, feedback)
);
CREATE UNIQUE INDEX feedback_once ON feedback (partition, trace, key) WHERE key <> '';

-- Which items a reward was given for. What counts for and against an item is
-- summed from these rows.
CREATE TABLE credit (
    partition TEXT NOT NULL,
    feedback  TEXT NOT NULL,
    item      TEXT NOT NULL,
    reward    REAL NOT NULL,
    change    INTEGER NOT NULL,
    PRIMARY KEY (partition, feedback, item),
    FOREIGN KEY (partition, feedback) REFERENCES feedback (partition, feedback),
    FOREIGN KEY (partition, item) REFERENCES item (partition, item)
);
CREATE INDEX credit_item ON credit (partition, item);
CREATE INDEX credit_change ON credit (partition, change);

-- What a user is asked to confirm: a token lets one call pass once. Neither the
-- token nor the call is kept, only their hashes.
CREATE TABLE confirmation (
    partition    TEXT NOT NULL,
    confirmation TEXT NOT NULL,
    token_hash   BLOB NOT NULL,
    call_hash    BLOB NOT NULL,
    at           INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    used_at      INTEGER,
    PRIMARY KEY (partition, confirmation)
);
CREATE INDEX confirmation_expiry ON confirmation (partition, expires_at);

CREATE TABLE usage (
    partition     TEXT NOT NULL,
    day           INTEGER NOT NULL, -- midnight
    operation     TEXT NOT NULL,
    model         TEXT NOT NULL,
    calls         INTEGER NOT NULL DEFAULT 0,
    input_tokens  INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (partition, day, operation, model)
);

-- Erasures whose rows are gone and whose traces in the database's files are
-- not yet. mark is the store's own: what tells it that they have gone, too.
CREATE TABLE erasure (
    partition TEXT NOT NULL,
    erasure   TEXT NOT NULL,
    at        INTEGER NOT NULL,
    mark      TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (partition, erasure)
);
