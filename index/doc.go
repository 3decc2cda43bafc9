// Package index is the derived index of one partition: all attributes that can
// be filtered, a word engine and a vector engine, in memory.
//
// SQL is the truth. Everything here is derived from it, knows by its watermark
// how far it has read, and comes back by loading the rows again: a delta with a
// larger change number, or all of them. A stale index can cost recall for a
// moment; whoever uses it re-checks each hit against SQL.
//
// Vectors are most of what there is to keep, and a search looks at few of them. So
// a load of many rows has each vector encoded and keeps its codes alone. What a
// search then lacks it names; a Manager reads those vectors again by key, brings
// them, and asks once more. All others it brings in the background. Searches find
// the same meanwhile, at the price of some reading.
//
// Access comes before scoring. Callers compute the admitted set with
// View.Admit and hand it to every search. Results, scores, order, counts and
// all statistics (document frequencies and lengths included) are those of an
// index that holds the admitted rows only.
//
// The engines are below this folder and import it: bm25 for words, exact for
// vectors, hnsw for vectors where there are very many. The suites that prove an
// engine are in indextest; bench, a module of its own, sets them beside other
// libraries.
//
// Source: design sections 6 and 7.
package index
