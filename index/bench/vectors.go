package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"

	coder "github.com/coder/hnsw"
	chromem "github.com/philippgille/chromem-go"

	"github.com/meminfra/memory-layer/index"
	"github.com/meminfra/memory-layer/index/exact"
	"github.com/meminfra/memory-layer/index/hnsw"
	"github.com/meminfra/memory-layer/index/indextest"
)

const (
	k       = 10
	queries = 200
)

// data is what all engines see.
type data struct {
	n, dim        int
	base, queries [][]float32
	truth         [][]index.Hit
	dir           string // holds base and queries as files
}

// engine is one contestant.
type engine struct {
	name    string
	efforts []int // settings to try, in order; one of 0 for none
	build   func(d *data) (running, error)
}

// running is an engine with its data in.
type running struct {
	seconds float64 // of processor time to build
	bytes   int64
	// ask runs all queries at an effort.
	ask  func(effort int) (nanos []float64, rows [][]int, err error)
	stop func() error
}

var ladder = []int{10, 12, 14, 16, 18, 20, 24, 28, 32, 40, 48, 56, 64, 80, 100, 120, 160, 200, 240, 320}

func engines(peers string) []engine {
	list := []engine{
		{"meminfra-exact", []int{0}, func(d *data) (running, error) {
			return ours(d, func() index.VectorEngine { return exact.New(d.dim, d.n) })
		}},
		{"meminfra-hnsw", ladder, func(d *data) (running, error) {
			return ours(d, func() index.VectorEngine { return hnsw.New(d.dim, d.n, &hnsw.Options{Threshold: -1}) })
		}},
		{"meminfra-hnsw-default", []int{0}, func(d *data) (running, error) {
			return ours(d, func() index.VectorEngine { return hnsw.New(d.dim, d.n, &hnsw.Options{Threshold: -1}) })
		}},
	}
	if peers != "" {
		for _, name := range []string{"hnswlib-flat", "hnswlib", "faiss-flat", "faiss-hnsw"} {
			efforts := ladder
			if name == "hnswlib-flat" || name == "faiss-flat" {
				efforts = []int{0}
			}
			list = append(list, engine{name, efforts, func(d *data) (running, error) { return native(peers, name, d) }})
		}
	}
	return append(list,
		engine{"chromem-go", []int{0}, chromemEngine},
		engine{"coder/hnsw", []int{20, 100, 400}, coderEngine})
}

func benchVectors(n, dim int, peers string, only []string, rounds int) error {
	d, err := makeData(n, dim)
	if err != nil {
		return err
	}
	defer os.RemoveAll(d.dir)
	fmt.Printf("\n%d x %d, %d queries, top %d, processor time of one thread\n", n, dim, queries, k)
	fmt.Printf("%-24s %9s %8s %9s %9s %8s %9s\n", "engine", "build s", "effort", "p50 us", "p95 us", "recall", "bytes/vec")
	var names []engine
	var all []running
	for _, e := range engines(peers) {
		if len(only) > 0 && !slices.Contains(only, e.name) {
			continue
		}
		r, err := e.build(d)
		if err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		names, all = append(names, e), append(all, r)
	}
	settled := make([]int, len(all))
	results := make([][]figures, len(all))
	for i, e := range names {
		var f figures
		if settled[i], f, err = settle(d, e, all[i]); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		results[i] = []figures{f}
	}
	for range rounds {
		for i := range names {
			const slow = 2e6 // ns; once says enough
			if results[i][0].p50 > slow {
				continue
			}
			f, err := measure(d, all[i], settled[i])
			if err != nil {
				return fmt.Errorf("%s: %w", names[i].name, err)
			}
			results[i] = append(results[i], f)
		}
	}
	for i, e := range names {
		f := middle(results[i])
		fmt.Printf("%-24s %9.3f %8d %9.1f %9.1f %8.4f %9d\n", e.name, all[i].seconds, settled[i],
			f.p50/1e3, f.p95/1e3, f.recall, all[i].bytes/int64(n))
		if err := all[i].stop(); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	return nil
}

// settle returns the least effort that reaches a recall of 0.99, else the last,
// and its figures.
func settle(d *data, e engine, r running) (effort int, f figures, err error) {
	for _, effort = range e.efforts {
		if f, err = measure(d, r, effort); err != nil || f.recall >= 0.99 {
			break
		}
	}
	return effort, f, err
}

type figures struct{ p50, p95, recall float64 }

func measure(d *data, r running, effort int) (figures, error) {
	nanos, rows, err := r.ask(effort)
	if err != nil {
		return figures{}, err
	}
	slices.Sort(nanos)
	f := figures{p50: nanos[len(nanos)/2], p95: nanos[len(nanos)*95/100]}
	for i, want := range d.truth {
		found := 0
		for _, h := range want {
			if slices.Contains(rows[i], h.Row) {
				found++
			}
		}
		f.recall += float64(found) / float64(len(want)*len(d.truth))
	}
	return f, nil
}

// middle takes the median of each figure.
func middle(list []figures) figures {
	pick := func(f func(figures) float64) float64 {
		v := make([]float64, len(list))
		for i := range list {
			v[i] = f(list[i])
		}
		slices.Sort(v)
		return v[len(v)/2]
	}
	return figures{
		p50:    pick(func(f figures) float64 { return f.p50 }),
		p95:    pick(func(f figures) float64 { return f.p95 }),
		recall: pick(func(f figures) float64 { return f.recall }),
	}
}

func makeData(n, dim int) (*data, error) {
	d := &data{n: n, dim: dim, base: indextest.Clustered(n, dim, 1), queries: indextest.Clustered(queries, dim, 2)}
	for _, q := range d.queries {
		d.truth = append(d.truth, indextest.Nearest(d.base, q, nil, k))
	}
	var err error
	if d.dir, err = os.MkdirTemp("", "bench-index"); err != nil {
		return nil, err
	}
	if err = writeVectors(filepath.Join(d.dir, "base"), d.base); err != nil {
		return nil, err
	}
	return d, writeVectors(filepath.Join(d.dir, "queries"), d.queries)
}

func writeVectors(path string, list [][]float32) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	for _, v := range list {
		if err := binary.Write(w, binary.LittleEndian, v); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// inGo measures an engine in this process by a clock: fill brings the data in, and search
// returns the rows that a query finds.
func inGo(d *data, clock func() int64, fill func() error, search func(q []float32, effort int) ([]int, error)) (running, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, start := heap(), clock()
	if err := fill(); err != nil {
		return running{}, err
	}
	r := running{seconds: float64(clock()-start) / 1e9, bytes: heap() - before, stop: func() error { return nil }}
	r.ask = func(effort int) ([]float64, [][]int, error) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		nanos, rows := make([]float64, queries), make([][]int, queries)
		for i, q := range d.queries {
			start := clock()
			found, err := search(q, effort)
			nanos[i] = float64(clock() - start)
			if err != nil {
				return nil, nil, err
			}
			rows[i] = found
		}
		return nanos, rows, nil
	}
	return r, nil
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// ours runs an engine of this module.
func ours(d *data, open func() index.VectorEngine) (running, error) {
	var x index.VectorEngine
	fill := func() error {
		x = open()
		for row, v := range d.base {
			if err := x.Set(row, v); err != nil {
				return err
			}
		}
		if p, ok := x.(index.Preparer); ok {
			p.Prepare(d.n)
		}
		return nil
	}
	return inGo(d, threadNanos, fill, func(q []float32, effort int) ([]int, error) {
		if h, ok := x.(*hnsw.Index); ok {
			h.SetEffort(effort)
		}
		hits, err := x.Search(q, nil, k)
		rows := make([]int, len(hits))
		for i, h := range hits {
			rows[i] = h.Row
		}
		return rows, err
	})
}

func chromemEngine(d *data) (running, error) {
	ctx := context.Background()
	var c *chromem.Collection
	fill := func() (err error) {
		if c, err = chromem.NewDB().CreateCollection("bench", nil, nil); err != nil {
			return err
		}
		docs := make([]chromem.Document, d.n)
		for i, v := range d.base {
			docs[i] = chromem.Document{ID: strconv.Itoa(i), Embedding: v}
		}
		return c.AddDocuments(ctx, docs, 1)
	}
	return inGo(d, processNanos, fill, func(q []float32, _ int) ([]int, error) {
		found, err := c.QueryEmbedding(ctx, q, k, nil, nil)
		rows := make([]int, len(found))
		for i, f := range found {
			rows[i], _ = strconv.Atoi(f.ID)
		}
		return rows, err
	})
}

func coderEngine(d *data) (running, error) {
	var g *coder.Graph[int]
	fill := func() error {
		g = coder.NewGraph[int]()
		g.M = 16
		for i, v := range d.base {
			g.Add(coder.MakeNode(i, v))
		}
		return nil
	}
	return inGo(d, threadNanos, fill, func(q []float32, effort int) ([]int, error) {
		g.EfSearch = effort
		found := g.Search(q, k)
		rows := make([]int, len(found))
		for i, f := range found {
			rows[i] = f.Key
		}
		return rows, nil
	})
}

// native runs an engine of peers.cc in its own process.
func native(program, name string, d *data) (running, error) {
	cmd := exec.Command(program, name, filepath.Join(d.dir, "base"), filepath.Join(d.dir, "queries"),
		strconv.Itoa(d.n), strconv.Itoa(d.dim), strconv.Itoa(queries))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return running{}, err
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return running{}, err
	}
	if err := cmd.Start(); err != nil {
		return running{}, err
	}
	out := bufio.NewReader(pipe)
	var r running
	if _, err := fmt.Fscanf(out, "built %f %d\n", &r.seconds, &r.bytes); err != nil {
		return running{}, err
	}
	r.ask = func(effort int) ([]float64, [][]int, error) { return askNative(in, out, effort) }
	r.stop = func() error {
		if err := in.Close(); err != nil {
			return err
		}
		return cmd.Wait()
	}
	return r, nil
}

func askNative(in io.Writer, out io.Reader, effort int) ([]float64, [][]int, error) {
	if _, err := fmt.Fprintln(in, effort); err != nil {
		return nil, nil, err
	}
	nanos, rows := make([]float64, queries), make([][]int, queries)
	for i := range nanos {
		rows[i] = make([]int, k)
		into := []any{&nanos[i]}
		for j := range rows[i] {
			into = append(into, &rows[i][j])
		}
		if _, err := fmt.Fscan(out, into...); err != nil {
			return nil, nil, err
		}
	}
	return nanos, rows, nil
}
