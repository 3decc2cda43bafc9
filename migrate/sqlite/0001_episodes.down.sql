DROP TABLE idempotency;
DROP TABLE embedding;
DROP TABLE extraction;
DROP TABLE episode;
DROP TABLE conversation;
DROP TABLE partition;
