package reconcile

import "testing"

func TestOpenSame(t *testing.T) {
	if !OpenSame("The rehearsal is on 3 March.", "the  rehearsal is on 3 march") {
		t.Error("case, white space and the full stop make no other proposition")
	}
	if OpenSame("The rehearsal is on 3 March.", "The rehearsal is on 8 March.") {
		t.Error("another date is another proposition")
	}
}
