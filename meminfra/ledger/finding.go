package ledger

import (
	"errors"
	"fmt"
)

// What can be wrong with a chain or with a row.
const (
	ReasonGap          = "gap"             // entries are missing before this one, or come twice
	ReasonPrev         = "previous_hash"   // the entry does not continue the one before it
	ReasonHash         = "hash"            // the entry is not what was hashed
	ReasonAlg          = "algorithm"       // an algorithm that no entry is made with
	ReasonKeyMissing   = "key_missing"     // made with a key that was not given
	ReasonKeyDropped   = "key_dropped"     // made without a key, after entries with one
	ReasonUnkeyed      = "unkeyed"         // no entry was made with a key, and one is written with
	ReasonUnreadable   = "unreadable"      // stored in a form that nothing here writes
	ReasonChanged      = "changed"         // the row is not what the entry says
	ReasonMissing      = "missing"         // the row is not there, and was not forgotten
	ReasonUncovered    = "uncovered"       // no entry names the row
	ReasonTwice        = "twice"           // more than one entry names the row
	ReasonForeign      = "foreign"         // the row is of another user, team or scope than its partition
	ReasonStillThere   = "still_there"     // an entry says that the row was forgotten
	ReasonNeverWritten = "never_written"   // forgotten, and no earlier entry names it so
	ReasonContent      = "content_hash"    // an episode's SHA-256 is not its content's
	ReasonLookup       = "lookup_hash"     // a hash under which the row is found is not its own
	ReasonHead         = "head"            // the partition's head is not the last entry
	ReasonNames        = "partition_names" // the partition's names are not those of its id
	ReasonCut          = "cut"             // the chain ends before the checkpoint
	ReasonReplaced     = "replaced"        // the entry is not the one of the checkpoint
)

// Finding is one thing that is wrong. It holds no content.
type Finding struct {
	Seq    int64  `json:"seq"`  // of the entry that names it; 0 for what no entry names
	Kind   string `json:"kind"` // entry, partition, or the kind of the row
	ID     string `json:"id"`   // of the row; for an unknown key, the key's
	Reason string `json:"reason"`
}

// The kinds of findings that are no rows.
const (
	KindEntry     = "entry"
	KindPartition = "partition"
)

func (f Finding) String() string {
	switch {
	case f.Kind == KindEntry && f.ID == "":
		return fmt.Sprintf("entry %d: %s", f.Seq, f.Reason)
	case f.Seq == 0:
		return fmt.Sprintf("%s %s: %s", f.Kind, f.ID, f.Reason)
	}
	return fmt.Sprintf("entry %d: %s %s: %s", f.Seq, f.Kind, f.ID, f.Reason)
}

// ErrTampered: a chain or a row is not as it was written.
var ErrTampered = errors.New("the ledger does not verify")

// TamperError says where; errors.Is takes it for ErrTampered.
type TamperError struct {
	Partition string
	Finding
}

func (e *TamperError) Error() string {
	return fmt.Sprintf("%v: partition %s: %v", ErrTampered, e.Partition, e.Finding)
}

func (e *TamperError) Unwrap() error { return ErrTampered }
