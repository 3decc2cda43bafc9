// Package storagetest is the conformance suite of the stores: what package
// storage promises, proved on any adapter by one call.
//
//	func TestConformance(t *testing.T) {
//		storagetest.Exercise(t, func(t *testing.T) storage.Store { return open(t) })
//	}
//
// Each test opens a store of its own on an empty, migrated database.
package storagetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/storage"
)

// Ability names a way in which stores are allowed to differ.
type Ability string

// OneWriter: the store admits one writer at a time, whatever its partition.
const OneWriter Ability = "one writer"

// test is one promise. It may be run in parallel with others.
type test struct {
	name string
	run  func(t *testing.T, s storage.Store)
	not  Ability // stores with this ability are not held to it
}

// Exercise proves a store. open must return a store on an empty database and
// arrange for its closing; abilities are the differences the store declares.
func Exercise(t *testing.T, open func(t *testing.T) storage.Store, abilities ...Ability) {
	topics := []struct {
		name  string
		tests []test
	}{
		{"Episodes", episodeTests}, {"Items", itemTests}, {"Changes", changeTests}, {"Embeddings", embeddingTests}, {"Grants", grantTests},
		{"Ledger", ledgerTests}, {"Snapshots", snapshotTests}, {"Traces", traceTests}, {"Usage", usageTests}, {"Gate", gateTests}, {"Commits", commitTests}, {"Erasing", eraseTests},
	}
	for _, topic := range topics {
		t.Run(topic.name, func(t *testing.T) {
			for _, test := range topic.tests {
				t.Run(test.name, func(t *testing.T) {
					if test.not != "" && slices.Contains(abilities, test.not) {
						t.Skipf("not for a store with %s", test.not)
					}
					test.run(t, open(t))
				})
			}
		})
	}
}

// ada and bob own a partition each.
var (
	ada = memory.Partition{Tenant: memory.DefaultTenant, Kind: memory.PartitionUser, Name: "ada"}
	bob = memory.Partition{Tenant: memory.DefaultTenant, Kind: memory.PartitionUser, Name: "bob"}
)

// at is a moment n seconds and n microseconds into the suite's year.
func at(n int) time.Time {
	return time.Date(2026, 3, 1, 12, 0, n, n*1000, time.UTC)
}

// commit runs fn in a commit that must succeed.
func commit(t testing.TB, s storage.Store, p memory.Partition, fn func(tx storage.Tx) error) {
	t.Helper()
	if err := s.Update(t.Context(), p, fn); err != nil {
		t.Fatalf("commit: %v", err)
	}
}

// head reads a partition's head; the zero Head if there is none.
func head(t testing.TB, s storage.Store, p memory.Partition) storage.Head {
	t.Helper()
	heads, err := s.Heads(t.Context(), p.ID())
	check(t, err)
	return heads[p.ID()]
}

// changes reads all of a partition's index rows, with vectors of model "m".
func changes(t testing.TB, s storage.Store, p memory.Partition, since int64) storage.Changes {
	t.Helper()
	c, err := s.Changes(t.Context(), storage.ChangesParams{Partition: p.ID(), Since: since, Model: "m"})
	check(t, err)
	slices.SortFunc(c.Embeddings, func(a, b memory.Embedding) int { return strings.Compare(vectorOwner(a), vectorOwner(b)) })
	return c
}

// leanEpisodes are episodes as Changes has them.
func leanEpisodes(list []memory.Episode) (lean []memory.Episode) {
	for _, e := range list {
		e.MessageID, e.Hash, e.Salt, e.SentOffset, e.Estimated = "", [32]byte{}, nil, 0, false
		lean = append(lean, e)
	}
	return lean
}

// leanItem is an item as Changes has it.
func leanItem(m memory.Item) memory.Item {
	m.Vague, m.Supersedes, m.Root, m.Contributor, m.Decision, m.Salt = memory.Vague{}, "", "", "", "", nil
	m.Value, m.Confidence, m.Shareable = "", 0, false
	m.Scope.TeamID, m.Scope.Visibility = "", ""
	return m
}

// leanStates are states as Changes has them.
func leanStates(list ...memory.State) []memory.State {
	for i := range list {
		list[i].HoldsSlot, list[i].Cause, list[i].Reason, list[i].Decision, list[i].Salt = false, "", "", "", nil
	}
	return list
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t testing.TB, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("%s: error %v, want %v", what, got, want)
	}
}

// same compares deeply, taking no slice for an empty one and instants for times.
func same(t testing.TB, what string, got, want any) {
	t.Helper()
	g, w := normal(reflect.ValueOf(got)), normal(reflect.ValueOf(want))
	if !reflect.DeepEqual(g.Interface(), w.Interface()) {
		t.Fatalf("%s:\n got %s\nwant %s", what, brief(got), brief(want))
	}
}

// brief keeps a megabyte of content out of a failure's message.
func brief(v any) string {
	s := fmt.Sprintf("%+v", v)
	if len(s) > 4000 {
		return s[:4000] + fmt.Sprintf("... (%d bytes)", len(s))
	}
	return s
}

// normal copies v with empty slices and maps as nil and times in UTC.
func normal(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		out.Set(reflect.ValueOf(memory.Time(v.Interface().(time.Time))))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			out.Field(i).Set(normal(v.Field(i)))
		}
	case v.Kind() == reflect.Slice && v.Len() > 0:
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(normal(v.Index(i)))
		}
	case v.Kind() == reflect.Slice, v.Kind() == reflect.Map && v.Len() == 0:
	default:
		out.Set(v)
	}
	return out
}

// newEpisode is an episode with every field set, in the commit's partition.
func newEpisode(tx storage.Tx, id, conversation, messageID string) memory.Episode {
	seq := tx.NextSeq(1)
	return memory.Episode{
		Partition: tx.Head().Partition, ID: id, ConversationID: conversation, SessionID: conversation + "/s1",
		MessageID: messageID, Seq: seq, Change: tx.Head().Change, Role: memory.RoleTool, Speaker: "Ada L.",
		Source: "calendar", AgentID: "agent-1", UserID: "u/1", Content: "content of " + id, Hash: [32]byte{1, 2, 31: 3},
		SentAt: at(int(seq)), SentOffset: -5 * 3600, Estimated: true, RecordedAt: at(100 + int(seq)),
		Metadata: memory.Metadata{"k": "v", "n": 1.5}, ExpiresAt: at(200 + int(seq)), Salt: []byte{9, 0, 255},
	}
}

// putEpisodes commits episodes e1 to en of conversation c1, messages m1 to mn.
func putEpisodes(t testing.TB, s storage.Store, p memory.Partition, n int) []memory.Episode {
	t.Helper()
	var list []memory.Episode
	commit(t, s, p, func(tx storage.Tx) error {
		list = nil
		for i := 1; i <= n; i++ {
			list = append(list, newEpisode(tx, fmt.Sprintf("e%d", i), "c1", fmt.Sprintf("m%d", i)))
		}
		return tx.InsertEpisodes(t.Context(), list)
	})
	return list
}

// newDecision is a decision with every field set.
func newDecision(tx storage.Tx, id string) memory.Decision {
	return memory.Decision{
		Partition: tx.Head().Partition, ID: id, Change: tx.Head().Change, Operation: "add", Action: memory.ActionSupersede,
		ItemID: "i2", SupersededID: "i1", EpisodeID: "e1", Reason: "newer", Inputs: []string{"i9", "i1"},
		Guards: []string{"same subject", `"quoted"`}, Extractor: "patterns/1", Model: "none", PromptHash: "ab12",
		At: at(7), Salt: []byte{1},
	}
}

// newItem is an item with every field set but FactKey.
func newItem(tx storage.Tx, id, decision string) memory.Item {
	seq := tx.NextSeq(1)
	return memory.Item{
		Partition: tx.Head().Partition, ID: id, Seq: seq, Change: tx.Head().Change, Kind: memory.KindPreference,
		Text: "Ada prefers " + id + " ☕", Subject: memory.Subject{Type: "person", Name: "ada"}, Predicate: "prefers",
		Value: "Café", ValueID: "café", TextKey: "ada prefers " + id, Polarity: memory.Negative,
		Authority: memory.Attested, Scope: memory.Scope{UserID: "u/1", AgentID: "a", TeamID: "t", Visibility: memory.VisibilityTeam},
		Stated: memory.Validity{From: at(1), To: at(2)}, Vague: memory.Vague{Earliest: at(3), Latest: at(4), Words: "last spring"},
		ExpiresAt: at(5), Supersedes: "i0", Root: id, Importance: 0.1, Confidence: 1.0 / 3, Shareable: true,
		Contributor: "hmac", Metadata: memory.Metadata{"a": []any{"x", nil, true}}, RecordedAt: at(6), Decision: decision,
		Salt: []byte{7},
	}
}

// newState is a state with every field set that is open and holds no slot.
func newState(tx storage.Tx, item memory.Item, n int) memory.State {
	return memory.State{
		Partition: tx.Head().Partition, ItemID: item.ID, N: n, FactKey: item.FactKey, Change: tx.Head().Change,
		Status: memory.StatusActive, Valid: memory.Validity{From: at(11)}, Cause: "i7", Reason: "said so",
		SystemFrom: at(13), Decision: item.Decision, Salt: []byte{8},
	}
}

// putItem commits one item with its decision and an open first state, both
// shaped by shape.
func putItem(t testing.TB, s storage.Store, p memory.Partition, id string, shape func(*memory.Item, *memory.State)) (memory.Item, memory.State) {
	t.Helper()
	var item memory.Item
	var state memory.State
	commit(t, s, p, func(tx storage.Tx) (err error) {
		item, state, err = insertItem(t.Context(), tx, id, shape)
		return err
	})
	return item, state
}

func insertItem(ctx context.Context, tx storage.Tx, id string, shape func(*memory.Item, *memory.State)) (memory.Item, memory.State, error) {
	item := newItem(tx, id, "d-"+id)
	state := newState(tx, item, 1)
	if shape != nil {
		shape(&item, &state)
		state.FactKey = item.FactKey
	}
	err := errors.Join(
		tx.InsertDecisions(ctx, []memory.Decision{newDecision(tx, item.Decision)}),
		tx.InsertItems(ctx, []memory.Item{item}),
		tx.InsertStates(ctx, []memory.State{state}))
	return item, state, err
}

// stored is an item as it is read back: its text key is a hash in the store.
func stored(item memory.Item) memory.Item {
	item.TextKey = ""
	return item
}

// ids lists what each row is called.
func ids[T any](rows []T, id func(T) string) []string {
	var list []string
	for _, r := range rows {
		list = append(list, id(r))
	}
	return list
}

func episodeID(e memory.Episode) string    { return e.ID }
func recordID(r storage.ItemRecord) string { return r.ID }
func statesID(s storage.ItemStates) string { return s.ID }
func grantID(g memory.Grant) string        { return g.ID }
func vectorOwner(e memory.Embedding) string {
	return fmt.Sprint(e.OwnerKind, " ", e.OwnerID, " ", e.Part)
}
func sessionID(s storage.SessionSpan) string { return s.SessionID }
