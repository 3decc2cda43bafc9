DROP TABLE erasure;
DROP TABLE usage;
DROP TABLE feedback;
DROP TABLE trace_item;
DROP TABLE trace;
DROP TABLE access_grant;
DROP TABLE ledger;
