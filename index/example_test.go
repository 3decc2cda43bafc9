package index_test

import (
	"context"
	"fmt"

	"github.com/meminfra/memory-layer/index"
)

// The rows come from SQL; here from a slice.
func ExampleManager() {
	rows := []index.Row{
		{Attr: index.Attr{Key: index.Key{Owner: index.Episode, ID: "e1"}, Seq: 1, UserID: "ada"}, Text: "I moved to Oslo", Vector: []float32{1, 0}},
		{Attr: index.Attr{Key: index.Key{Owner: index.Episode, ID: "e2"}, Seq: 2, UserID: "bob"}, Text: "Oslo is cold", Vector: []float32{0, 1}},
	}
	load := func(_ context.Context, _ string, since int64, _ *index.Early) (index.Delta, error) {
		return index.Delta{Change: 2, Model: "m", Dim: 2, Rows: rows[since:]}, nil
	}
	m := index.New(load, engines, nil)
	p, err := m.Get(context.Background(), "partition", 2)
	if err != nil {
		panic(err)
	}
	_ = p.View(func(v *index.View) error {
		admitted := v.Admit(func(a *index.Attr) bool { return a.UserID == "ada" })
		for _, h := range v.SearchWords("moving to Oslo", admitted, 10) {
			fmt.Println(v.Attr(h.Row).ID)
		}
		return nil
	})
	// Output: e1
}
