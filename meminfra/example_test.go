package meminfra_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/ledger"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/memtest"
	"github.com/meminfra/memory-layer/meminfra/storage/sqlite"
)

// Open a store, add what was said, ask. No key, no container, no network.
func Example() {
	ctx := context.Background()
	file, remove := tempFile()
	defer remove()
	store, err := sqlite.Open(ctx, file)
	check(err)
	defer store.Close()
	ml, err := meminfra.New(store, nil)
	check(err)
	_, err = ml.Add(ctx, meminfra.AddRequest{UserID: "ada", ConversationID: "c1",
		Messages: []meminfra.Message{{Content: "I prefer PostgreSQL for backend projects."}}})
	check(err)
	found, err := ml.Search(ctx, meminfra.SearchRequest{UserID: "ada", Query: "Which database do I prefer?"})
	check(err)
	fmt.Println(found.Hits[0].Text)
	// Output: I prefer PostgreSQL for backend projects
}

// Nil options are the built-in extractor and embedder; a field of Options
// replaces one part.
func ExampleNew() {
	file, remove := tempFile()
	defer remove()
	store, err := sqlite.Open(context.Background(), file)
	check(err)
	defer store.Close()
	ml, err := meminfra.New(store, &meminfra.Options{Tenant: "acme", IndexBudget: 64 << 20})
	check(err)
	defer ml.Close()
	res, err := ml.Search(context.Background(), meminfra.SearchRequest{UserID: "nobody yet", Query: "anything?"})
	fmt.Println(len(res.Hits), err)
	// Output: 0 <nil>
}

// Each decision is told with its reason. Messages with an id can be added
// again: what is known is not remembered twice.
func ExampleMemoryLayer_Add() {
	ml, done := exampleLayer()
	defer done()
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	req := meminfra.AddRequest{UserID: "ada", ConversationID: "c1", Messages: []meminfra.Message{
		{ID: "1", Content: "I use PostgreSQL.", SentAt: at},
		{ID: "2", Content: "I use Postgres.", SentAt: at.Add(time.Hour)},
		{ID: "3", Content: "I switched to SQLite.", SentAt: at.Add(2 * time.Hour)},
		{ID: "4", Content: "I no longer use SQLite.", SentAt: at.Add(3 * time.Hour)},
	}}
	for range 2 {
		res, err := ml.Add(context.Background(), req)
		check(err)
		for _, a := range res.Actions {
			fmt.Println(a.Action, a.Predicate, a.Value, a.Reason)
		}
		fmt.Println("known before:", res.Episodes[0].Known)
	}
	// Output:
	// ADD database_preference PostgreSQL new_fact
	// NOOP database_preference PostgreSQL same_value
	// SUPERSEDE database_preference SQLite newer_value
	// RETRACT database_preference SQLite negated
	// known before: false
	// known before: true
}

// Filters are hard constraints: here, what held at a moment of the past.
func ExampleMemoryLayer_Search() {
	ml, done := exampleLayer()
	defer done()
	addExample(ml)
	for _, at := range []time.Time{{}, time.Date(2024, 7, 1, 0, 0, 0, 0, time.UTC)} {
		res, err := ml.Search(context.Background(), meminfra.SearchRequest{UserID: "ada", Query: "Where do I live?",
			Filters: meminfra.Filters{Kind: memory.KindFact, ValidAt: at}, Limit: 1})
		check(err)
		hit := res.Hits[0]
		fmt.Printf("%s, since %s, because: %q\n", hit.Value, hit.ValidFrom.Format(time.DateOnly), hit.Evidence[0].Quote)
	}
	// Output:
	// Porto, since 2025-05-01, because: "I moved to Porto"
	// Lisbon, since 2024-05-01, because: "I live in Lisbon"
}

// Get returns an item or an episode, and only to its user.
func ExampleMemoryLayer_Get() {
	ml, done := exampleLayer()
	defer done()
	id := addExample(ml)[1]
	for _, user := range []string{"ada", "bo"} {
		rec, err := ml.Get(context.Background(), meminfra.GetRequest{UserID: user, ID: id})
		if errors.Is(err, meminfra.ErrNotFound) {
			fmt.Println("not found")
			continue
		}
		fmt.Println(rec.Kind, rec.Predicate, rec.Value, rec.Status, rec.Authority)
	}
	// Output:
	// fact location Porto active authorized
	// not found
}

// List pages through what is current, newest first.
func ExampleMemoryLayer_List() {
	ml, done := exampleLayer()
	defer done()
	addExample(ml)
	req := meminfra.ListRequest{UserID: "ada", Limit: 2}
	for {
		page, err := ml.List(context.Background(), req)
		check(err)
		for _, r := range page.Records {
			fmt.Println(r.Predicate, r.Value)
		}
		if req.Cursor = page.Next; req.Cursor == "" {
			break
		}
		fmt.Println("and on the next page")
	}
	// Output:
	// spoken_language German
	// spoken_language Dutch
	// and on the next page
	// location Porto
}

// History shows all versions of a fact, when each held, and what it became.
func ExampleMemoryLayer_History() {
	ml, done := exampleLayer()
	defer done()
	id := addExample(ml)[1]
	history, err := ml.History(context.Background(), meminfra.HistoryRequest{UserID: "ada", ID: id})
	check(err)
	for _, v := range history.Versions {
		until := "now"
		if v.ValidTo != nil {
			until = v.ValidTo.Format(time.DateOnly)
		}
		why := v.Stages[len(v.Stages)-1].Reason
		fmt.Printf("%s: %s to %s, %s (%s)\n", v.Value, v.ValidFrom.Format(time.DateOnly), until, v.Status, why)
	}
	// Output:
	// Lisbon: 2024-05-01 to 2025-05-01, superseded (newer_value)
	// Porto: 2025-05-01 to now, active (newer_value)
}

func ExampleMemoryLayer_Usage() {
	file, remove := tempFile()
	defer remove()
	store, err := sqlite.Open(context.Background(), file)
	check(err)
	defer store.Close()
	ml, err := meminfra.New(store, &meminfra.Options{Embedder: memtest.NewEmbedder("vectors-1", 8), CallsPerDay: 2})
	check(err)
	addExample(ml) // three calls of Add: the third finds the budget used up
	used, err := ml.Usage(context.Background(), meminfra.UsageRequest{UserID: "ada"})
	check(err)
	for _, line := range used.Lines {
		fmt.Println(line.Operation, line.Model, line.Calls)
	}
	// Output: embed vectors-1 2
}

func ExampleGate_Check() {
	ml, remove := exampleLayer()
	defer remove()
	addExample(ml)
	for _, city := range []string{"Porto", "Lisbon"} {
		res, err := ml.Gate().Check(context.Background(), meminfra.CheckRequest{UserID: "ada", Action: "book_train",
			Args: map[string]string{"from": city}})
		check(err)
		fmt.Println(city, res.Verdict)
	}
	// Output:
	// Porto allow
	// Lisbon missing
}

func ExampleGate_Confirm() {
	ml, remove := exampleLayer()
	defer remove()
	ctx := context.Background()
	_, err := ml.Add(ctx, meminfra.AddRequest{UserID: "ada", ConversationID: "c1", Messages: []meminfra.Message{
		{Role: "tool", Source: "crm", Content: "My email is ada@example.org."}}})
	check(err)
	_, err = ml.Gate().Confirm(ctx, meminfra.ConfirmRequest{UserID: "ada", Action: "send", Args: map[string]string{"to": "ada@example.org"}, Token: "a.guess"})
	fmt.Println(errors.Is(err, meminfra.ErrToken))
	// Output: true
}

func ExampleMemoryLayer_Feedback() {
	ml, remove := exampleLayer()
	defer remove()
	addExample(ml)
	ctx := context.Background()
	found, err := ml.Search(ctx, meminfra.SearchRequest{UserID: "ada", Query: "Where do I live?"})
	check(err)
	res, err := ml.Feedback(ctx, meminfra.FeedbackRequest{UserID: "ada", TraceID: found.TraceID, Reward: 1, IdempotencyKey: "k1"})
	check(err)
	fmt.Println(len(res.Credited) > 0, res.Known)
	// Output: true false
}

// check stands for your error handling.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// exampleLayer is a layer on a new file, and what removes it.
func exampleLayer() (*meminfra.MemoryLayer, func()) {
	file, remove := tempFile()
	store, err := sqlite.Open(context.Background(), file)
	check(err)
	ml, err := meminfra.New(store, nil)
	check(err)
	return ml, func() { store.Close(); remove() }
}

// addExample adds three messages and returns the items made of them.
func addExample(ml *meminfra.MemoryLayer) (items []string) {
	at := time.Date(2024, 5, 1, 9, 0, 0, 0, time.UTC)
	for _, msg := range []meminfra.Message{
		{Content: "I live in Lisbon.", SentAt: at},
		{Content: "I moved to Porto.", SentAt: at.AddDate(1, 0, 0)},
		{Content: "I speak Dutch and German.", SentAt: at.AddDate(1, 0, 1)},
	} {
		res, err := ml.Add(context.Background(), meminfra.AddRequest{UserID: "ada", ConversationID: "c1", Messages: []meminfra.Message{msg}})
		check(err)
		for _, a := range res.Actions {
			items = append(items, a.ItemID)
		}
	}
	return items
}

func tempFile() (path string, remove func()) {
	dir, err := os.MkdirTemp("", "meminfra-example-")
	check(err)
	return filepath.Join(dir, "memory.db"), func() { os.RemoveAll(dir) }
}

// A dry run says what would go; the certificate says what went.
func ExampleMemoryLayer_Forget() {
	ml, done := exampleLayer()
	defer done()
	ctx := context.Background()
	_, err := ml.Add(ctx, meminfra.AddRequest{UserID: "ada", ConversationID: "c1",
		Messages: []meminfra.Message{{Content: "I live in Lisbon."}, {Content: "I use PostgreSQL."}}})
	check(err)
	res, err := ml.Forget(ctx, meminfra.ForgetRequest{UserID: "ada", Filters: meminfra.Filters{Predicate: "location"}})
	check(err)
	fmt.Println(len(res.Items), "memory,", len(res.Episodes), "message, residue", res.Residue)
	_, err = ml.Forget(ctx, meminfra.ForgetRequest{UserID: "ada"})
	fmt.Println(err)
	// Output:
	// 1 memory, 1 message, residue none
	// forget: nothing selected to forget
}

// What has expired is seen by nobody; a sweep erases it.
func ExampleMemoryLayer_Sweep() {
	ml, done := exampleLayer()
	defer done()
	ctx := context.Background()
	_, err := ml.Add(ctx, meminfra.AddRequest{UserID: "ada", ConversationID: "c1",
		Messages: []meminfra.Message{{Content: "I live in Lisbon.", ExpiresAt: time.Now().Add(-time.Hour)}}})
	check(err)
	list, err := ml.List(ctx, meminfra.ListRequest{UserID: "ada"})
	check(err)
	res, err := ml.Sweep(ctx, meminfra.SweepRequest{})
	check(err)
	fmt.Println(len(list.Records), "seen,", len(res.Certificates[0].Items), "erased")
	// Output: 0 seen, 1 erased
}

// A checkpoint that is kept elsewhere shows a chain that was cut since.
func ExampleLedger_Verify() {
	ml, done := exampleLayer()
	defer done()
	ctx := context.Background()
	_, err := ml.Add(ctx, meminfra.AddRequest{UserID: "ada", ConversationID: "c1", Messages: []meminfra.Message{{Content: "I prefer PostgreSQL."}}})
	check(err)
	heads, err := ml.Ledger().Checkpoint(ctx)
	check(err)
	res, err := ml.Ledger().Verify(ctx, meminfra.VerifyRequest{UserID: "ada", Checkpoint: heads})
	check(err)
	fmt.Println(res.Partitions[0].Entries, res.Err())
	// Output: 2 <nil>
}

// A key that comes later: Seal goes on with it in what was written without.
func ExampleLedger_Seal() {
	ctx := context.Background()
	file, remove := tempFile()
	defer remove()
	store, err := sqlite.Open(ctx, file)
	check(err)
	defer store.Close()
	before, err := meminfra.New(store, nil)
	check(err)
	_, err = before.Add(ctx, meminfra.AddRequest{UserID: "ada", ConversationID: "c1", Messages: []meminfra.Message{{Content: "I prefer PostgreSQL."}}})
	check(err)
	ml, err := meminfra.New(store, &meminfra.Options{LedgerKey: ledger.NewKey([]byte("a secret"))})
	check(err)
	found, err := ml.Ledger().Verify(ctx, meminfra.VerifyRequest{UserID: "ada"})
	check(err)
	_, err = ml.Ledger().Seal(ctx)
	check(err)
	sealed, err := ml.Ledger().Verify(ctx, meminfra.VerifyRequest{UserID: "ada"})
	check(err)
	fmt.Println(found.Partitions[0].Findings, sealed.Partitions[0].Entries, sealed.Err())
	// Output: [entry 2: unkeyed] 3 <nil>
}

// From an answer to the words that it rests on.
func ExampleLedger_Why() {
	ml, done := exampleLayer()
	defer done()
	ctx := context.Background()
	_, err := ml.Add(ctx, meminfra.AddRequest{UserID: "ada", ConversationID: "c1",
		Messages: []meminfra.Message{{Content: "By the way, I live in Porto."}}})
	check(err)
	found, err := ml.Search(ctx, meminfra.SearchRequest{UserID: "ada", Query: "Where do I live?"})
	check(err)
	why, err := ml.Ledger().Why(ctx, meminfra.WhyRequest{UserID: "ada", ID: found.TraceID})
	check(err)
	item := why.Items[0]
	fmt.Println(item.Decisions[0].Reason, item.Decisions[0].Entry, item.Evidence[0].Quote)
	// Output: new_fact 2 By the way, I live in Porto
}

// An export carries a user's memory, with its chain, to another store.
func ExampleLedger_Export() {
	ctx := context.Background()
	from, done := exampleLayer()
	defer done()
	_, err := from.Add(ctx, meminfra.AddRequest{UserID: "ada", ConversationID: "c1", Messages: []meminfra.Message{{Content: "I prefer PostgreSQL."}}})
	check(err)
	var file bytes.Buffer
	_, err = from.Ledger().Export(ctx, meminfra.ExportRequest{UserID: "ada", To: &file})
	check(err)
	to, done := exampleLayer()
	defer done()
	res, err := to.Ledger().Import(ctx, meminfra.ImportRequest{From: &file})
	check(err)
	fmt.Println(res.UserID, res.Entries, res.Rows)
	// Output: ada 2 5
}

// A database that is in order.
func ExampleMemoryLayer_Doctor() {
	ml, done := exampleLayer()
	defer done()
	ctx := context.Background()
	_, err := ml.Add(ctx, meminfra.AddRequest{UserID: "ada", ConversationID: "c1",
		Messages: []meminfra.Message{{Content: "I live in Lisbon."}}})
	check(err)
	res, err := ml.Doctor(ctx, meminfra.DoctorRequest{})
	check(err)
	for _, c := range res.Checks {
		fmt.Print(c.Name, " ", c.OK, "; ")
	}
	// Output: ledger true; vectors true; orphans true; extractions true; erasures true; expired true;
}

// Once an agent is granted to a user, he sees what came through his agents
// alone; a revoked one hides what it had brought.
func ExampleGranter_Grant() {
	ml, done := exampleLayer()
	defer done()
	ctx := context.Background()
	_, err := ml.Add(ctx, meminfra.AddRequest{UserID: "ada", ConversationID: "c1", AgentID: "planner",
		Messages: []meminfra.Message{{Content: "I live in Lisbon."}}})
	check(err)
	_, err = ml.Grants().Grant(ctx, meminfra.GrantRequest{UserID: "ada", AgentID: "planner"})
	check(err)
	_, err = ml.Grants().Revoke(ctx, meminfra.RevokeRequest{UserID: "ada", AgentID: "planner"})
	check(err)
	page, err := ml.List(ctx, meminfra.ListRequest{UserID: "ada"})
	check(err)
	fmt.Println(len(page.Records))
	// Output: 0
}

// A member's memory for the team is found by the others, apart and labelled.
func ExampleGranter_List() {
	ml, done := exampleLayer()
	defer done()
	ctx := context.Background()
	for _, user := range []string{"ada", "bo"} {
		_, err := ml.Grants().Grant(ctx, meminfra.GrantRequest{TeamID: "red", UserID: user})
		check(err)
	}
	members, err := ml.Grants().List(ctx, meminfra.ListGrantsRequest{TeamID: "red"})
	check(err)
	_, err = ml.Add(ctx, meminfra.AddRequest{UserID: "bo", TeamID: "red", ConversationID: "c1",
		Messages: []meminfra.Message{{Content: "I live in Oslo."}}})
	check(err)
	found, err := ml.Search(ctx, meminfra.SearchRequest{UserID: "ada", Query: "Who lives in Oslo?"})
	check(err)
	fmt.Println(len(members.Grants), len(found.Hits), found.Shared[0].By, found.Shared[0].TeamID)
	// Output: 2 0 bo red
}
