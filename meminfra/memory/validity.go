package memory

import "time"

// Validity is a half-open interval of world time [From, To). A zero From is an
// unknown start, a zero To an open end.
type Validity struct {
	From, To time.Time
}

// Contains reports whether t lies in the interval.
func (v Validity) Contains(t time.Time) bool {
	return (v.From.IsZero() || !t.Before(v.From)) && (v.To.IsZero() || t.Before(v.To))
}

// Empty reports whether no moment lies in the interval.
func (v Validity) Empty() bool {
	return !v.From.IsZero() && !v.To.IsZero() && !v.From.Before(v.To)
}

// Emptied returns the empty interval at the start of v, or at its end if the
// start is unknown: that of a claim that is kept and never believed.
func (v Validity) Emptied() Validity {
	at := v.From
	if at.IsZero() {
		at = v.To
	}
	if at.IsZero() {
		at = time.Unix(0, 0).UTC()
	}
	return Validity{From: at, To: at}
}

// Equal compares instants, not locations.
func (v Validity) Equal(w Validity) bool {
	return v.From.Equal(w.From) && v.To.Equal(w.To)
}

// Vague keeps a time that was said imprecisely: the earliest and latest moment
// it can mean, and the words used. Nothing raises its precision.
type Vague struct {
	Earliest, Latest time.Time
	Words            string
}

// IsZero reports whether no vague time was said.
func (v Vague) IsZero() bool { return v.Words == "" && v.Earliest.IsZero() && v.Latest.IsZero() }

// Time rounds t to what both stores keep: UTC microseconds.
func Time(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// Micros is the stored form of a time: microseconds since 1970, UTC.
func Micros(t time.Time) int64 { return t.UnixMicro() }

// FromMicros is the inverse of Micros.
func FromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }

// Expired reports whether something with that expiry is gone at t; a zero
// expiry is never.
func Expired(expiresAt, t time.Time) bool { return !expiresAt.IsZero() && !t.Before(expiresAt) }
