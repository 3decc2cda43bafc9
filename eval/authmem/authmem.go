// Package authmem holds cases of our own on authority: who said something, and
// what an agent may do on the strength of it. In a pair of twins only the speaker
// of the focal words differs; a saying is the user's own, and is his word for a
// call or is not. They are data: the facade's tests and the authority suite of
// package suite run the same ones. Source: papers.md section 5.
package authmem

import (
	"context"
	_ "embed"
	"strings"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/memory"
)

//go:embed twins.tsv
var twins string

// The caller's ids of a twin's messages: the focal words, and before them the
// user's part of a mixed case.
const (
	FocalID = "f"
	PartID  = "p"
)

// Twin is a pair of cases: the focal words are said by Role, or plainly by the
// user. Arg is the argument that they give Value to, "" where the action itself
// must be wanted; Part is what the user says before, "" for nothing.
type Twin struct {
	Transition string // of authority: R2F P2R C2O MIX O2I R2P S2D
	Role       memory.Role
	Focal      string
	Action     string
	Arg, Value string
	Part       string
}

// Twins are all pairs, at least ten of each transition.
func Twins() (list []Twin) {
	for line := range strings.Lines(twins) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) == 7 && f[0] != "transition" {
			list = append(list, Twin{f[0], memory.Role(f[1]), f[2], f[3], f[4], f[5], f[6]})
		}
	}
	return list
}

// NeedsIntent reports whether the action itself must be wanted.
func (c *Twin) NeedsIntent() bool { return c.Arg == "" }

// Args are the arguments of the call.
func (c *Twin) Args() map[string]string {
	if c.Arg == "" {
		return nil
	}
	return map[string]string{c.Arg: c.Value}
}

// Candidate is what an extractor makes of the focal words, whoever says them.
func (c *Twin) Candidate() extract.Candidate {
	switch {
	case c.Arg == "":
		return extract.Candidate{Text: c.Focal, Predicate: "decision", Value: c.Action}
	case c.Part != "":
		return extract.Candidate{Text: c.Part + " " + c.Focal, Predicate: c.Arg, Value: c.Value, EpisodeID: PartID, Quote: c.Part,
			Needs: []extract.Part{{EpisodeID: FocalID, Quote: c.Focal, Start: -1}}}
	}
	return extract.Candidate{Text: c.Focal, Predicate: c.Arg, Value: c.Value}
}

// Script is an extractor that proposes what is written down for a message id.
type Script map[string][]extract.Candidate

// ID implements extract.Extractor.
func (Script) ID() string { return "script/1" }

// Extract proposes what is written down for the target messages. Ids of messages
// in it are the caller's.
func (s Script) Extract(_ context.Context, in extract.Input) (extract.Output, error) {
	var out extract.Output
	ids := map[string]string{}
	for _, m := range in.Context {
		ids[m.MessageID] = m.ID
	}
	for _, m := range in.Target {
		ids[m.MessageID] = m.ID
		for _, c := range s[m.MessageID] {
			if c.EpisodeID == "" {
				c.EpisodeID = m.ID
			} else {
				c.EpisodeID = ids[c.EpisodeID]
			}
			if c.Quote == "" {
				c.Quote = m.Content
			}
			if c.Subject.Type == "" {
				c.Subject = memory.UserSubject
			}
			if c.Polarity == 0 {
				c.Polarity = memory.Positive
			}
			needs := c.Needs
			c.Needs = nil
			for _, p := range needs {
				p.EpisodeID = ids[p.EpisodeID]
				c.Needs = append(c.Needs, p)
			}
			c.Start = -1
			out.Candidates = append(out.Candidates, c)
		}
	}
	return out, nil
}
