-- The record of one run. `events` is the run; every other table is a projection, telemetry or material.
-- `scoring` names the pass of scoring that a row belongs to; empty, it belongs to the episode itself.
CREATE TABLE run (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE episodes (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    scenario TEXT NOT NULL,
    category TEXT NOT NULL,
    cast_name TEXT NOT NULL,
    seed INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    status TEXT NOT NULL DEFAULT 'planned',
    reason TEXT,
    fault TEXT,
    detail TEXT,
    fingerprint TEXT,
    scored TEXT,
    steps INTEGER NOT NULL DEFAULT 0,
    model_calls INTEGER NOT NULL DEFAULT 0,
    prompt_tokens INTEGER NOT NULL DEFAULT 0,
    completion_tokens INTEGER NOT NULL DEFAULT 0,
    models TEXT NOT NULL DEFAULT '{}',
    scoring_models TEXT NOT NULL DEFAULT '{}',
    started_at REAL,
    seconds REAL,
    making INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    episode INTEGER NOT NULL,
    scoring TEXT NOT NULL,
    key BLOB NOT NULL,
    type TEXT NOT NULL,
    data BLOB NOT NULL
);
CREATE UNIQUE INDEX events_by_key ON events (episode, scoring, key);
CREATE TABLE telemetry (
    seq INTEGER PRIMARY KEY,
    episode INTEGER NOT NULL,
    scoring TEXT NOT NULL,
    key BLOB NOT NULL,
    type TEXT NOT NULL,
    data BLOB NOT NULL
);
CREATE INDEX telemetry_by_key ON telemetry (episode, scoring, key);
CREATE TABLE intents (
    episode INTEGER NOT NULL,
    key BLOB NOT NULL,
    request TEXT NOT NULL,
    PRIMARY KEY (episode, key)
) WITHOUT ROWID;
-- What people have answered, from when they said it; the event that holds it comes when the episode goes on.
CREATE TABLE answers (
    episode INTEGER NOT NULL,
    key BLOB NOT NULL,
    request TEXT NOT NULL,
    answer TEXT NOT NULL,
    PRIMARY KEY (episode, key)
) WITHOUT ROWID;
CREATE TABLE blobs (sha256 TEXT PRIMARY KEY, media_type TEXT NOT NULL, data BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE scores (
    scoring TEXT NOT NULL,
    episode INTEGER NOT NULL,
    place INTEGER NOT NULL,
    name TEXT NOT NULL,
    value REAL,
    n INTEGER NOT NULL,
    unit TEXT NOT NULL,
    how TEXT NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (scoring, episode, place)
) WITHOUT ROWID;
