DROP TABLE erasure;
DROP TABLE usage;
DROP TABLE confirmation;
DROP TABLE credit;
DROP TABLE feedback;
DROP TABLE trace;
DROP TABLE access_grant;
DROP TABLE ledger;
