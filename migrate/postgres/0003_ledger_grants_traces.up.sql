-- The ledger chain of each partition, access grants (in the tenant-directory
-- partition), traces and the feedback on them, and what models were used.

CREATE TABLE ledger (
    partition text COLLATE "C" NOT NULL,
    seq       bigint NOT NULL,
    operation text COLLATE "C" NOT NULL,
    objects   text COLLATE "C" NOT NULL, -- canonical JSON: kind, id, salted digest
    at        bigint NOT NULL,
    alg       text COLLATE "C" NOT NULL,
    key_id    text COLLATE "C" NOT NULL DEFAULT '',
    prev      bytea NOT NULL,
    hash      bytea NOT NULL,
    PRIMARY KEY (partition, seq)
);
CREATE INDEX ledger_at ON ledger (partition, at);

CREATE TABLE access_grant (
    partition   text COLLATE "C" NOT NULL,
    access_grant text COLLATE "C" NOT NULL,
    kind        text COLLATE "C" NOT NULL CHECK (kind IN ('user_agent', 'agent_resource', 'team_member')),
    left_id     text COLLATE "C" NOT NULL,
    right_id    text COLLATE "C" NOT NULL,
    team_partition text COLLATE "C" NOT NULL DEFAULT '', -- of the team in left_id, made from it
    revoked     boolean NOT NULL,
    at          bigint NOT NULL,
    by_id       text COLLATE "C" NOT NULL DEFAULT '',
    change      bigint NOT NULL,
    salt        bytea NOT NULL,
    PRIMARY KEY (partition, access_grant)
);
CREATE INDEX access_grant_left ON access_grant (partition, kind, left_id, right_id, at);
CREATE INDEX access_grant_right ON access_grant (partition, kind, right_id, left_id, at);

CREATE TABLE trace (
    partition   text COLLATE "C" NOT NULL,
    trace       text COLLATE "C" NOT NULL,
    kind        text COLLATE "C" NOT NULL,
    query       text COLLATE "C" NOT NULL,
    route       text COLLATE "C" NOT NULL DEFAULT '',
    intent      text COLLATE "C" NOT NULL DEFAULT '',
    degraded    text COLLATE "C" NOT NULL DEFAULT '', -- canonical JSON list
    model       text COLLATE "C" NOT NULL DEFAULT '',
    prompt_hash text COLLATE "C" NOT NULL DEFAULT '',
    rungs       text COLLATE "C" NOT NULL DEFAULT '', -- canonical JSON list
    items       text COLLATE "C" NOT NULL DEFAULT '[]', -- JSON list of what it showed: one row, since every search writes one
    handed      bytea NOT NULL DEFAULT '', -- keys of the sentences handed out, 8 bytes each
    at          bigint NOT NULL,
    PRIMARY KEY (partition, trace)
);
CREATE INDEX trace_at ON trace (partition, at);

CREATE TABLE feedback (
    partition text COLLATE "C" NOT NULL,
    feedback  text COLLATE "C" NOT NULL,
    trace     text COLLATE "C" NOT NULL,
    reward    double precision NOT NULL CHECK (reward >= -1 AND reward <= 1),
    key       text COLLATE "C" NOT NULL DEFAULT '',
    at        bigint NOT NULL,
    change    bigint NOT NULL,
    salt      bytea NOT NULL,
    PRIMARY KEY (partition, feedback)
);
CREATE UNIQUE INDEX feedback_once ON feedback (partition, trace, key) WHERE key <> '';

-- Which items a reward was given for. What counts for and against an item is
-- summed from these rows.
CREATE TABLE credit (
    partition text COLLATE "C" NOT NULL,
    feedback  text COLLATE "C" NOT NULL,
    item      text COLLATE "C" NOT NULL,
    reward    double precision NOT NULL,
    change    bigint NOT NULL,
    PRIMARY KEY (partition, feedback, item),
    FOREIGN KEY (partition, feedback) REFERENCES feedback (partition, feedback),
    FOREIGN KEY (partition, item) REFERENCES item (partition, item)
);
CREATE INDEX credit_item ON credit (partition, item);
CREATE INDEX credit_change ON credit (partition, change);

-- What a user is asked to confirm: a token lets one call pass once. Neither the
-- token nor the call is kept, only their hashes.
CREATE TABLE confirmation (
    partition    text COLLATE "C" NOT NULL,
    confirmation text COLLATE "C" NOT NULL,
    token_hash   bytea NOT NULL,
    call_hash    bytea NOT NULL,
    at           bigint NOT NULL,
    expires_at   bigint NOT NULL,
    used_at      bigint,
    PRIMARY KEY (partition, confirmation)
);
CREATE INDEX confirmation_expiry ON confirmation (partition, expires_at);

CREATE TABLE usage (
    partition     text COLLATE "C" NOT NULL,
    day           bigint NOT NULL, -- midnight
    operation     text COLLATE "C" NOT NULL,
    model         text COLLATE "C" NOT NULL,
    calls         bigint NOT NULL DEFAULT 0,
    input_tokens  bigint NOT NULL DEFAULT 0,
    output_tokens bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (partition, day, operation, model)
);

-- Erasures whose rows are gone and whose traces in the database's files are
-- not yet. mark is the store's own: what tells it that they have gone, too.
CREATE TABLE erasure (
    partition text COLLATE "C" NOT NULL,
    erasure   text COLLATE "C" NOT NULL,
    at        bigint NOT NULL,
    mark      text COLLATE "C" NOT NULL DEFAULT '',
    PRIMARY KEY (partition, erasure)
);
