package reconcile

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
)

// now and the days of these tests.
func onDay(n int) time.Time { return time.Date(2025, 6, n, 9, 0, 0, 0, time.UTC) }

var today = onDay(20)

// told makes a statement of the user, said and holding from a day on.
func toldOn(n int, text string, edit ...func(*memory.Item)) Told {
	item := memory.Item{Partition: "p", Kind: memory.KindFact, Text: text, Subject: memory.UserSubject, Polarity: memory.Positive,
		Authority: memory.Authorized, Stated: memory.Validity{From: onDay(n)}}
	for _, f := range edit {
		f(&item)
	}
	return Told{Item: item, Statement: memory.Statement{SentAt: onDay(n), ConversationID: "c", Position: int64(n)}}
}

// near makes a neighbour of it, under handle h.
func nearby(h string, cosine float64, n int, text string, edit ...func(*memory.Item)) Neighbour {
	t := toldOn(n, text, edit...)
	t.Item.ID = "id of " + h
	return Neighbour{Handle: h, Item: t.Item, State: memory.State{Status: memory.StatusActive, Valid: t.Item.Stated}, Founder: t.Statement, Cosine: cosine}
}

func by(a memory.Authority) func(*memory.Item) { return func(i *memory.Item) { i.Authority = a } }
func negative(i *memory.Item)                  { i.Polarity = memory.Negative }
func relation(p string) func(*memory.Item)     { return func(i *memory.Item) { i.Predicate = p } }
func valued(v string) func(*memory.Item)       { return func(i *memory.Item) { i.ValueID = v } }
func about(name string) func(*memory.Item) {
	return func(i *memory.Item) { i.Subject = memory.Subject{Type: "person", Name: name} }
}
func until(n int) func(*memory.Item) { return func(i *memory.Item) { i.Stated.To = onDay(n) } }

// ops reads "UPDATE 0", "DELETE 0", "ADD", one of them with a text after a colon.
func ops(list ...string) []Proposal {
	out := []Proposal{}
	for _, s := range list {
		head, text, _ := strings.Cut(s, ": ")
		op, handle, _ := strings.Cut(head, " ")
		out = append(out, Proposal{Operation: op, Handle: handle, Text: text})
	}
	return out
}

// brief renders a verdict: action, reason, target, what becomes of it, guards.
func (v Verdict) brief() string {
	s := fmt.Sprintf("%s %s", v.Action, v.Reason)
	if v.Target >= 0 {
		s += fmt.Sprintf(" on %d", v.Target)
	}
	if v.Closed != nil {
		s += fmt.Sprintf(" closes %s %d", v.Closed.Status, v.Closed.Valid.To.Day())
	}
	if v.Status == memory.StatusSuperseded {
		s += fmt.Sprintf(" held %d-%d", v.Valid.From.Day(), v.Valid.To.Day())
	}
	if v.Conflict != "" {
		s += " against"
	}
	if v.Text != "" {
		s += " %" + v.Text
	}
	return strings.TrimSpace(s + " " + strings.Join(v.Guards, ","))
}

func TestManage(t *testing.T) {
	buddy := nearby("0", 0.8, 1, "The user has a dog named Buddy.")
	scout := toldOn(10, "The user adopted a dog named Scout.")
	lyon := nearby("0", 0.6, 1, "The user's office is in Lyon.")
	porto := toldOn(10, "The user's office moved to Porto.")
	uuid := "0198c2a1-7f33-7c11-9d3e-5a1b2c3d4e5f"
	replaced := "SUPERSEDE newer_value on 0 closes superseded 10"
	tests := []struct {
		name string
		told Told
		near Neighbour
		ops  []Proposal
		want string
	}{
		// papers.md section 2.
		{"T1 without a text", scout, buddy, ops("DELETE 0", "ADD"),
			replaced + " %The user has a dog named Buddy. The user adopted a dog named Scout. delete_add"},
		{"T1 with a text", scout, buddy, ops("DELETE 0", "ADD", "UPDATE 0: The user has dogs named Buddy and Scout."),
			replaced + " %The user has dogs named Buddy and Scout. several_operations,delete_add"},
		{"T1, text on the add", scout, buddy, ops("DELETE 0", "ADD : The user has dogs named Buddy and Scout."),
			replaced + " %The user has dogs named Buddy and Scout. delete_add"},
		{"T1, text on the delete", scout, buddy, ops("DELETE 0: The user has dogs named Buddy and Scout.", "ADD"),
			replaced + " %The user has dogs named Buddy and Scout. delete_add"},
		{"T1, a text that drops Scout", scout, buddy, ops("DELETE 0: The user has a dog named Buddy.", "ADD"),
			replaced + " %The user has a dog named Buddy. The user adopted a dog named Scout. delete_add,merge_drops"},
		{"T1 as an update", scout, buddy, ops("UPDATE 0: The user has dogs named Buddy and Scout."), replaced + " %The user has dogs named Buddy and Scout."},
		{"T2", scout, nearby("0", 0.4, 1, "The user's address is 5 Elm Street."), ops("DELETE 0", "ADD"), "ADD new_fact no_negation"},
		{"T3", porto, lyon, ops("UPDATE 7"), "ADD new_fact unknown_handle"},
		{"T4 none", toldOn(10, "The user's office is in Lyon!"), nearby("0", 0.9, 1, "In Lyon is the user's office."), ops("none 0"), "NOOP same_value on 0"},
		{"T4 lower case", toldOn(10, "The user's office is in Lyon!"), nearby("0", 0.9, 1, "In Lyon is the user's office."), ops("noop 0"), "NOOP same_value on 0"},
		// Handles and tokens. Case A02.
		{"a real id", porto, lyon, ops("DELETE " + uuid), "ADD new_fact id_for_handle"},
		{"the id of the neighbour", porto, lyon, []Proposal{{Operation: "UPDATE", Handle: "id of 0"}}, "ADD new_fact unknown_handle"},
		{"no handle", porto, lyon, ops("UPDATE"), "ADD new_fact missing_handle"},
		{"another spelling of a handle", porto, lyon, ops("UPDATE 00"), "ADD new_fact unknown_handle"},
		{"unknown word", porto, lyon, ops("REPLACE 0"), "ADD new_fact unknown_operation"},
		{"malformed", porto, lyon, []Proposal{{Malformed: true, Operation: "DELETE", Handle: "0"}}, "ADD new_fact malformed"},
		{"nothing", porto, lyon, nil, "ADD new_fact no_operation"},
		{"add", porto, lyon, ops("add"), "ADD new_fact"},
		{"add with a handle", porto, lyon, ops("ADD 0"), "ADD new_fact"},
		{"supersede", porto, lyon, ops("supersede 0"), replaced},
		{"twice", porto, lyon, ops("UPDATE 0", "UPDATE 0"), replaced},
		{"update and delete of one", porto, lyon, ops("UPDATE 0", "DELETE 0"), replaced + " several_operations"},
		{"noop beside an add", porto, lyon, ops("NOOP 0", "ADD"), "ADD new_fact several_operations"},
		{"bare delete", porto, lyon, ops("DELETE 0"), replaced + " bare_delete"},
		// What no statement may touch.
		{"controlled", porto, nearby("0", 0.9, 1, "x", func(i *memory.Item) { i.FactKey = "k" }), ops("UPDATE 0"), "ADD new_fact controlled_fact"},
		{"another partition", porto, nearby("0", 0.9, 1, "x", func(i *memory.Item) { i.Partition = "q" }), ops("DELETE 0"), "ADD new_fact other_owner"},
		{"another member", porto, nearby("0", 0.9, 1, "x", func(i *memory.Item) { i.Scope.UserID = "bo" }), ops("DELETE 0"), "ADD new_fact on 0 against other_owner"},
		{"another subject", porto, nearby("0", 0.9, 1, "Bo's office is in Lyon.", about("bo")), ops("UPDATE 0"), "ADD new_fact other_subject"},
		{"another relation", toldOn(10, "x", relation("office")), nearby("0", 0.9, 1, "y", relation("home")), ops("UPDATE 0"), "ADD new_fact other_relation"},
		{"a relation unnamed", toldOn(10, "x", relation("office")), nearby("0", 0.9, 1, "y"), ops("UPDATE 0"), replaced},
		{"over", porto, nearby("0", 0.9, 1, "x", until(5)), ops("UPDATE 0"), "ADD new_fact not_current"},
		{"weaker", toldOn(10, "x", by(memory.Unendorsed)), nearby("0", 0.9, 1, "y", by(memory.Attested)), ops("UPDATE 0"),
			"ADD weaker_conflict on 0 against weaker_authority"},
		{"weaker denial", toldOn(10, "x", by(memory.Attested), negative), nearby("0", 0.9, 1, "y"), ops("DELETE 0"),
			"ADD weaker_conflict on 0 against weaker_authority"},
		{"stronger", toldOn(10, "x"), nearby("0", 0.9, 1, "y", by(memory.Unendorsed)), ops("UPDATE 0"), replaced},
		// Event time. Case A06.
		{"told late", toldOn(1, "The user works at the library."), nearby("0", 0.9, 10, "The user works at the harbour office."), ops("UPDATE 0"),
			"ADD older_value on 0 held 1-10 event_time"},
		{"told late, to be deleted", toldOn(1, "x"), nearby("0", 0.9, 10, "y"), ops("DELETE 0", "ADD"), "ADD older_value on 0 held 1-10 delete_add,event_time"},
		{"told late, over before", toldOn(1, "x", until(5)), nearby("0", 0.9, 10, "y"), ops("UPDATE 0"), "ADD new_fact over_already"},
		{"told late, both hold", toldOn(1, scout.Item.Text), nearby("0", 0.8, 10, buddy.Item.Text), ops("UPDATE 0: The user has dogs named Buddy and Scout."),
			"ADD new_fact event_time"},
		{"told first of one moment", Told{Item: porto.Item, Statement: memory.Statement{SentAt: onDay(9)}}, nearby("0", 0.9, 10, "x"), ops("UPDATE 0"),
			"ADD told_earlier on 0 held 10-10 event_time"},
		{"from tomorrow on", toldOn(21, "x"), nearby("0", 0.9, 1, "y"), ops("UPDATE 0"), "SUPERSEDE starts_later on 0 closes active 21"},
		{"undated past", toldOn(10, "x", func(i *memory.Item) { i.Stated = memory.Validity{To: onDay(10)} }), lyon, ops("UPDATE 0"), "ADD new_fact over_already"},
		// Denials.
		{"retract", toldOn(10, "The user gave up the cello.", negative), nearby("0", 0.5, 1, "The user learns the cello."), ops("retract 0"),
			"RETRACT negated on 0 closes ended 10"},
		{"retract with an add", toldOn(10, "x", negative), nearby("0", 0.9, 1, "y"), ops("DELETE 0", "ADD"), "RETRACT negated on 0 closes ended 10"},
		{"retract of a denial", toldOn(10, "x", negative), nearby("0", 0.9, 1, "y", negative), ops("DELETE 0"), "ADD new_fact not_opposed"},
		{"retract told late", toldOn(1, "x", negative), nearby("0", 0.9, 10, "y"), ops("DELETE 0"), "ADD negation_recorded event_time"},
		// NOOP. Case A07.
		{"another number", toldOn(10, "It is on 8 March in hall 4."), nearby("0", 0.99, 1, "It is on 3 March in hall 4."), ops("NOOP 0"), "ADD new_fact figures_differ"},
		{"another value", toldOn(10, "likes coffee", valued("coffee")), nearby("0", 0.9, 1, "likes tea", valued("tea")), ops("NOOP 0"), "ADD new_fact value_differs"},
		{"hardly alike", toldOn(10, "likes coffee"), nearby("0", 0.7, 1, "likes tea"), ops("NOOP 0"), "ADD new_fact not_alike"},
		{"denied", toldOn(10, "likes coffee", negative), nearby("0", 0.9, 1, "likes coffee"), ops("NOOP 0"), "ADD new_fact figures_differ"},
		{"echo", toldOn(10, "likes coffee much", by(memory.Attested)), nearby("0", 0.9, 1, "likes coffee"), ops("NOOP 0"), "NOOP weaker_echo on 0"},
		{"stronger witness", toldOn(10, "likes coffee much"), nearby("0", 0.9, 1, "likes coffee", by(memory.Attested)), ops("NOOP 0"),
			"SUPERSEDE stronger_witness on 0 closes superseded 10 stronger_witness"},
		// Merged texts.
		{"a name made up", scout, buddy, ops("UPDATE 0: The user has dogs named Buddy, Scout and Rex."), replaced + " merge_adds"},
		{"the new one dropped", scout, buddy, ops("UPDATE 0: The user has a dog named Buddy."), replaced + " merge_drops"},
		{"another text altogether", scout, buddy, ops("UPDATE 0: Scout and Buddy approved transfers to anybody whatsoever."), replaced + " merge_strays"},
		{"the statement in other words", scout, buddy, ops("UPDATE 0: A dog named Scout was adopted."), replaced},
		{"of a weaker part", scout, nearby("0", 0.8, 1, buddy.Item.Text, by(memory.Attested)), ops("UPDATE 0: The user has dogs named Buddy and Scout."),
			"ADD new_fact merge_weakens"},
		{"of a denial", scout, nearby("0", 0.8, 1, "The user has no dog named Buddy.", negative), ops("UPDATE 0: The user has dogs named Buddy and Scout."),
			replaced + " merge_opposed"},
		{"too long to join", scout, nearby("0", 0.8, 1, strings.Repeat("The user has a dog. ", 60)), ops("DELETE 0", "ADD"), "ADD new_fact delete_add,merge_too_long"},
	}
	for _, tt := range tests {
		got := Manage(tt.told, []Neighbour{tt.near}, tt.ops, today)
		if got.brief() != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got.brief(), tt.want)
		}
	}
}

func TestManageUsedHandle(t *testing.T) {
	n := nearby("0", 0.9, 1, "x")
	n.Used = true
	if got := Manage(toldOn(10, "y"), []Neighbour{n}, ops("UPDATE 0"), today).brief(); got != "ADD new_fact handle_used" {
		t.Error(got)
	}
}

func TestBetween(t *testing.T) {
	version := func(status memory.Status, from, to int) Version {
		v := Version{State: memory.State{Status: status, Valid: memory.Validity{From: onDay(from)}}}
		if to > 0 {
			v.State.Valid.To = onDay(to)
		}
		return v
	}
	line := []Version{version(memory.StatusSuperseded, 2, 6), version(memory.StatusSuperseded, 6, 10), version(memory.StatusActive, 10, 0),
		version(memory.StatusSuperseded, 5, 5), version(memory.StatusWithdrawn, 1, 0)}
	for from, want := range map[int]struct{ to, cut, left int }{1: {2, -1, 0}, 4: {6, 0, 4}, 8: {10, 1, 8}} {
		fitted, cut, left := Between(memory.Validity{From: onDay(from), To: onDay(10)}, line)
		if fitted.To.Day() != want.to || cut != want.cut || cut >= 0 && left.To.Day() != want.left {
			t.Errorf("from %d: %v, cut %d, left %v", from, fitted, cut, left)
		}
	}
}

// FuzzManage holds the laws of Manage whatever is proposed.
func FuzzManage(f *testing.F) {
	f.Add("UPDATE", "0", "Buddy and Scout", "DELETE", "1", uint8(0), uint8(9))
	f.Add("noop", "1", "", "ADD", "", uint8(77), uint8(200))
	f.Fuzz(func(t *testing.T, op1, h1, text, op2, h2 string, a, b uint8) {
		told := toldOn(int(a%28)+1, "The user adopted Scout on 3 May.", by(memory.Authority(b%3+1)))
		if a&64 != 0 {
			told.Item.Polarity = memory.Negative
		}
		near := []Neighbour{nearby("0", float64(b)/255, int(b%19)+1, "The user has Buddy.", by(memory.Authority(a%3+1))),
			nearby("1", 0.9, 3, "The user adopted Scout in May.", func(i *memory.Item) { i.FactKey = strings.Repeat("k", int(a>>7)) })}
		v := Manage(told, near, []Proposal{{Operation: op1, Handle: h1, Text: text}, {Operation: op2, Handle: h2, Text: text}}, today)
		if v.Closed != nil {
			old := near[v.Target].Item
			if old.FactKey != "" || old.Authority > told.Item.Authority || v.Closed.Valid.From != near[v.Target].State.Valid.From ||
				told.Item.Stated.From.Before(old.Stated.From) || !slices.Contains([]memory.Action{memory.ActionSupersede, memory.ActionRetract}, v.Action) {
				t.Errorf("closes what it may not: %+v", v)
			}
		}
		if v.Action == memory.ActionNoop && !memory.SameFigures(near[v.Target].Item.Text, told.Item.Text) {
			t.Errorf("swallowed: %+v", v)
		}
		if v.Text != "" && !memory.FiguresWithin(v.Text, told.Item.Text, near[v.Target].Item.Text) {
			t.Errorf("made up: %+v", v)
		}
	})
}
