DROP TABLE item_origin;
DROP TABLE item_derivation;
DROP TABLE conflict;
DROP TABLE evidence;
DROP TABLE item_state;
DROP TABLE item;
DROP TABLE decision;
