package main

import (
	"strings"
	"testing"
)

// indexDoc is the document of index status and reindex.
type indexDoc struct {
	Partition string `json:"partition"`
	Loaded    bool   `json:"loaded"`
	Current   bool   `json:"current"`
	Rows      int    `json:"rows"`
	Vectors   int    `json:"vectors"`
	Bytes     int64  `json:"bytes"`
	Watermark int64  `json:"watermark"`
	Change    int64  `json:"change"`
}

func TestIndexStatus(t *testing.T) {
	onStores(t, func(t *testing.T, c *cli) {
		c.ok("add", "--user", "ada", "I live in Lisbon.")
		var loaded, asked, built indexDoc
		c.document(&loaded, "index", "status", "--user", "ada", "--json")
		if !loaded.Loaded || !loaded.Current || loaded.Rows != 2 || loaded.Vectors != 2 || loaded.Bytes == 0 || loaded.Watermark != loaded.Change {
			t.Errorf("loaded: %+v", loaded)
		}
		c.document(&asked, "index", "status", "--user", "ada", "--no-load", "--json")
		if asked != (indexDoc{Partition: loaded.Partition, Change: loaded.Change}) {
			t.Errorf("not loaded: %+v", asked)
		}
		if c.document(&built, "reindex", "--user", "ada", "--json"); built.Rows != 2 || !built.Current {
			t.Errorf("built: %+v", built)
		}
		for _, want := range []string{"rows", "2 of hashed", ", current"} {
			if out := c.ok("index", "status", "--user", "ada"); !strings.Contains(out, want) {
				t.Errorf("want %q in %q", want, out)
			}
		}
		if out := c.ok("index", "status", "--user", "ada", "--no-load"); !strings.Contains(out, "not loaded") {
			t.Errorf("not loaded: %q", out)
		}
		if out := c.ok("reindex", "--user", "nobody"); !strings.Contains(out, "nothing was ever remembered") {
			t.Errorf("nobody's: %q", out)
		}
		c.fails(exitUsage, "user", "index", "status")
	})
}
