package meminfra_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // for crowds

	"github.com/meminfra/memory-layer/meminfra"
	"github.com/meminfra/memory-layer/meminfra/storage"
	"github.com/meminfra/memory-layer/meminfra/storage/sqlite"
)

// BenchmarkPartitions compares a user's searches in a database that holds him
// alone with those of the hot users among PARTITIONS (by default 2,000), one in a
// hundred, taking turns: ratio is what counts.
func BenchmarkPartitions(b *testing.B) {
	users, err := strconv.Atoi(os.Getenv("PARTITIONS"))
	if err != nil {
		users = 2_000
	}
	hot := max(1, users/100)
	for _, s := range []struct {
		name string
		open func(*testing.B) (storage.Store, *crowd)
	}{{"sqlite", sqliteCrowd}, {"postgres", postgresCrowd}} {
		b.Run(fmt.Sprintf("store=%s/partitions=%d/hot=%d", s.name, users, hot), func(b *testing.B) {
			alone, _, settle := populate(b, s.open, 0, 0)
			settle()
			began := time.Now()
			many, searchable, settle := populate(b, s.open, users-hot, hot)
			settle()
			b.Logf("filled in %.0f s", time.Since(began).Seconds())
			asking := make([]func(int) time.Duration, hot)
			for i := range asking {
				asking[i] = askingOf(b, many, fmt.Sprint("hot", i))
				asking[i](0) // loads it
			}
			askAlone := askingOf(b, alone, "hot")
			askAlone(0)
			searchable()
			var apart, among []time.Duration
			for i := 0; b.Loop(); i++ {
				apart = append(apart, askAlone(i))
				among = append(among, asking[i%hot](i))
			}
			slices.Sort(apart)
			slices.Sort(among)
			for _, p := range []int{10, 50} {
				of := func(took []time.Duration) float64 { return float64(took[len(took)*p/100].Nanoseconds()) / 1e3 }
				b.ReportMetric(of(apart), fmt.Sprintf("alone-p%d-µs", p))
				b.ReportMetric(of(among), fmt.Sprintf("hot-p%d-µs", p))
				if p == 50 {
					b.ReportMetric(of(among)/of(apart), "ratio")
				}
			}
		})
	}
}

// populate opens a database with a user of 100 messages, "hot", and one of a
// single message, "cold", added as ever, and copies of both. Searchable checks
// that a copy is a user like any other; settle does what a server does by itself
// some time after so much was written.
func populate(b *testing.B, open func(*testing.B) (storage.Store, *crowd), cold, hot int) (ml *meminfra.MemoryLayer, searchable, settle func()) {
	store, crowd := open(b)
	ml = newLayer(b, store, randomIDs, withEmbedder(newShelf(384, questions())), func(o *meminfra.Options) {
		o.Now, o.Extractor = nil, builtIn(b)
	})
	messages := chatter(100)
	addAll(b, ml, "hot", messages, 100)
	addAll(b, ml, "cold", messages[8:9], 1)
	var copies [][3]string
	for _, of := range []struct {
		user string
		n    int
	}{{"cold", cold}, {"hot", hot}} {
		for i := range of.n {
			name := fmt.Sprint(of.user, i)
			copies = append(copies, [3]string{userPartition(name), name, userPartition(of.user)})
		}
	}
	crowd.copy(b, copies)
	searchable = func() {
		for _, user := range []string{"cold", "cold0", fmt.Sprint("cold", cold-1)} {
			res, err := ml.Search(context.Background(), meminfra.SearchRequest{UserID: user, Query: "What am I allergic to?"})
			if err != nil || len(res.Hits) == 0 {
				b.Fatalf("%s: %v, %v", user, res, err)
			}
		}
	}
	return ml, searchable, func() { crowd.do(b, crowd.settle) }
}

// crowd fills a database with copies of partitions, row by row and table by
// table: to add 100,000 users one by one takes hours.
type crowd struct {
	db     *sql.Conn
	tables string // lists the tables that have partitions, a parent before its children
	before string
	settle string
}

func (c *crowd) do(b *testing.B, query string, args ...any) {
	b.Helper()
	if _, err := c.db.ExecContext(context.Background(), query, args...); err != nil {
		b.Fatal(err)
	}
}

func (c *crowd) strings(b *testing.B, query string) (list []string) {
	b.Helper()
	rows, err := c.db.QueryContext(context.Background(), query)
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			b.Fatal(err)
		}
		list = append(list, s)
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	return list
}

// copy makes copies, each given by its partition, its user's name and the
// partition to copy.
func (c *crowd) copy(b *testing.B, copies [][3]string) {
	b.Helper()
	if len(copies) == 0 {
		return
	}
	slices.SortFunc(copies, func(x, y [3]string) int { return strings.Compare(x[0], y[0]) }) // as an index wants them
	c.do(b, c.before)
	c.do(b, `CREATE TEMPORARY TABLE copies (id TEXT, called TEXT, original TEXT)`)
	c.do(b, `BEGIN`)
	for some := range slices.Chunk(copies, 1000) {
		var values strings.Builder
		for i, x := range some { // ids and names made here
			fmt.Fprintf(&values, "%s('%s','%s','%s')", strings.Repeat(",", min(i, 1)), x[0], x[1], x[2])
		}
		c.do(b, `INSERT INTO copies VALUES `+values.String())
	}
	for _, table := range c.strings(b, c.tables) {
		name, columns, _ := strings.Cut(table, " ")
		var own []string
		for column := range strings.SplitSeq(columns, ",") {
			switch {
			case column == `"partition"`:
				own = append(own, "c.id")
			case name == "partition" && column == `"name"`:
				own = append(own, "c.called")
			case column == `"user_id"`: // whose words they are: of another they would be shared memory
				own = append(own, "CASE t.user_id WHEN '' THEN '' ELSE c.called END")
			default:
				own = append(own, "t."+column)
			}
		}
		c.do(b, `INSERT INTO `+name+` (`+columns+`) SELECT `+strings.Join(own, ",")+
			` FROM copies c JOIN `+name+` t ON t.partition = c.original ORDER BY c.id`)
	}
	c.do(b, `COMMIT`)
}

// onCrowds runs a benchmark on each store, to be filled and settled.
func onCrowds(b *testing.B, run func(b *testing.B, store storage.Store, c *crowd)) {
	on := func(open func(*testing.B) (storage.Store, *crowd)) func(*testing.B) {
		return func(b *testing.B) {
			store, c := open(b)
			run(b, store, c)
		}
	}
	b.Run("store=sqlite", on(sqliteCrowd))
	b.Run("store=postgres", on(postgresCrowd))
}

func newCrowd(b *testing.B, driver, dsn string, c crowd) *crowd {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	if c.db, err = db.Conn(b.Context()); err != nil {
		b.Fatal(err)
	}
	return &c
}

func sqliteCrowd(b *testing.B) (storage.Store, *crowd) {
	path := filepath.Join(b.TempDir(), "memory.db")
	store, err := sqlite.Open(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { store.Close() })
	return store, newCrowd(b, "sqlite", path, crowd{
		tables: `SELECT m.name || ' ' || group_concat('"' || i.name || '"') FROM sqlite_master m, pragma_table_info(m.name) i
WHERE m.type = 'table' GROUP BY m.name HAVING max(i.name = 'partition')`,
		before: `PRAGMA foreign_keys = 0; PRAGMA cache_size = -200000; PRAGMA temp_store = memory`,
		settle: `PRAGMA wal_checkpoint(TRUNCATE)`,
	})
}

func postgresCrowd(b *testing.B) (storage.Store, *crowd) {
	url := migratedPostgres(b)
	return openPostgresAt(b, url), newCrowd(b, "pgx", url, crowd{
		tables: `SELECT table_name || ' ' || string_agg('"' || column_name || '"', ',') FROM information_schema.columns
WHERE table_schema = current_schema() GROUP BY table_name HAVING bool_or(column_name = 'partition')`,
		before: `SET session_replication_role = replica; SET synchronous_commit = off`,
		settle: `VACUUM ANALYZE`,
	})
}
