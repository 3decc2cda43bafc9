package memory

import "time"

// Statement is one assertion or negation of a controlled fact: the input of the
// fold in package reconcile. It is read off a full witness and its episode.
type Statement struct {
	ID        string // stable identity of the witness: the same words are one statement
	ValueID   string
	Polarity  Polarity
	Authority Authority
	Valid     Validity // From is always known; To only if the end was said

	// Among statements of one authority the latest rules, compared by
	// Valid.From, then these three in order.
	SentAt         time.Time
	ConversationID string
	Position       int64 // of the message in its conversation, and of the words in it
}
