// Command bench measures the engines of package index beside others: same data,
// same run, one thread, processor time. See README.md.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	var (
		peers  = flag.String("peers", "", "the program made from peers.cc; none: Go engines only")
		sizes  = flag.String("sizes", "1000x384,10000x384,100000x384,10000x1536", "vectors x dimensions, comma separated; none: no vectors")
		texts  = flag.String("texts", "1000,10000,100000", "numbers of texts; none: no words")
		rounds = flag.Int("rounds", 5, "rounds; every engine runs in each, and the middle one counts")
		only   = flag.String("only", "", "comma separated names of engines")
	)
	flag.Parse()
	if err := run(*peers, fields(*sizes), fields(*texts), fields(*only), *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func fields(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

func run(peers string, sizes, texts, only []string, rounds int) error {
	for _, s := range sizes {
		var n, dim int
		if _, err := fmt.Sscanf(s, "%dx%d", &n, &dim); err != nil {
			return fmt.Errorf("size %q: %w", s, err)
		}
		if err := benchVectors(n, dim, peers, only, rounds); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	for _, s := range texts {
		var n int
		if _, err := fmt.Sscan(s, &n); err != nil {
			return fmt.Errorf("texts %q: %w", s, err)
		}
		if err := benchWords(n, rounds); err != nil {
			return fmt.Errorf("%s texts: %w", s, err)
		}
	}
	return benchEvidence(os.Getenv("LOCOMO_DATA"))
}
