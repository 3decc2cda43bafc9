package memory

import "time"

// Usage is what one operation used of one model in one day, for one partition.
// It is kept for budgets and bills: no ledger covers it, and it goes with the
// partition's other rows.
type Usage struct {
	Partition    string
	Day          time.Time // midnight UTC
	Operation    string    // "extract", "answer", "embed", ...
	Model        string
	Calls        int64
	InputTokens  int64
	OutputTokens int64
}

// Day is the day of a moment, as Usage counts it: midnight UTC.
func Day(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }
