// Package patterns is the built-in extractor: it finds statements of the
// registry's forms in what users say, without a model, a key or a network.
//
// It does not guess. A sentence counts only if a clause begins with the speaker
// ("I", "my") or a known participant's name and goes on as one of the forms;
// questions, hypotheticals, quoted and reported speech, code and other people's
// facts are left alone. What it misses, a model may find later.
//
// Four gates stand before a form, each of which may only take away:
//
//	lines.go  which lines the speaker says: no code, logs, mail, chats, letters
//	frame.go  whose text the rest is: translations, parts to play, labels before
//	          a colon, games, denials
//	guard.go  what stands before or after the clause: conditions, reporting,
//	          hedges, joint subjects, phrases that limit it
//	shapes.go what a value may be, and names.go what a name may be
//
// # Statement forms
//
// A form is a template (see predicates.Expand) in the first person and present
// tense: "I live in {value}". The extractor conjugates the verb, and knows
// negation ("I don't live in", "I no longer live in", "I stopped living in"),
// past, perfect and future, so one template stands for all of them. A sign
// before it says how the statement lies in time:
//
//	  I live in {value}     a state: holds while the verb does
//	* I play {value}        a habit: a state, but having done it once is none
//	+ I move to {value}     a beginning: holds from then on
//	- I quit {value}        an end: holds no longer
//	~ I fly to {value}      a plan: holds until its time is over
//	! I like {value}        only if negated, and then it holds ("I don't like")
//	= I am born on {value}  holds whatever the tense
//
// Slots are {value}; {old}, what the value replaces; {subject}, a project's
// name; {category} of a keyed predicate; {_}, anything; and the name of another
// predicate, which gets a candidate of its own: "I work at {value} as
// {job_title}". {value:known} demands one of the predicate's terms or heads;
// the other constraints are listed in shapes.go.
package patterns

import (
	"context"
	"slices"
	"strings"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/predicates"
)

// ID names the extractor and its version.
const ID = "patterns/1"

// Confidence is what the extractor gives to every candidate: its measured
// precision on the labelled sentences is above it.
const Confidence = 0.9

// Importance is the same for all: patterns cannot tell what matters.
const Importance = 0.5

// Extractor finds statements of a registry's forms. It is safe for use by
// several goroutines.
type Extractor struct {
	reg   *predicates.Registry
	forms *formIndex
}

// New compiles the statement forms of a registry. An error names the predicate
// and template that cannot be compiled.
func New(reg *predicates.Registry) (*Extractor, error) {
	forms, err := compile(reg)
	if err != nil {
		return nil, err
	}
	return &Extractor{reg: reg, forms: forms}, nil
}

// ID returns "patterns/1".
func (e *Extractor) ID() string { return ID }

// Extract returns the candidates of the target's user messages, in message
// order and in order of their place in it. It fails only if ctx is done.
func (e *Extractor) Extract(ctx context.Context, in extract.Input) (extract.Output, error) {
	var out extract.Output
	names := participants(in)
	for i := range in.Target {
		if err := ctx.Err(); err != nil {
			return extract.Output{}, err
		}
		m := &in.Target[i]
		if m.Role != memory.RoleUser || m.Speaks.Type == "" {
			continue
		}
		r := reader{e: e, m: m, names: names}
		out.Candidates = append(out.Candidates, r.read()...)
	}
	return out, nil
}

// participants maps the folded names of who takes part to their subjects.
func participants(in extract.Input) map[string]memory.Subject {
	names := map[string]memory.Subject{}
	for _, list := range [][]extract.Message{in.Context, in.Target} {
		for i := range list {
			if m := &list[i]; m.Speaker != "" && m.Role == memory.RoleUser {
				name := memory.FoldName(m.Speaker)
				names[name] = memory.Subject{Type: "person", Name: name}
				if m.Speaks.Type != "" {
					names[name] = m.Speaks
				}
			}
		}
	}
	if name := memory.FoldName(in.UserName); name != "" {
		names[name] = memory.UserSubject
	}
	delete(names, "")
	return names
}

// reader reads one message.
type reader struct {
	e     *Extractor
	m     *extract.Message
	names map[string]memory.Subject
	lower bool   // written without capitals
	greet bool   // opens with a greeting
	want  string // the predicate whose value is being read
	found []extract.Candidate
}

func (r *reader) read() []extract.Candidate {
	list := sentences(r.m.Content, r.speaks)
	if len(list) == 0 || unserious(list) || aboutText(list) {
		return nil
	}
	r.lower = withoutCapitals(list)
	r.greet = greetings[list[0].tokens[0].text]
	foreign, before := -1, 0 // the paragraph that is not the speaker's; what was found before the last sentence
	for _, s := range list {
		switch {
		case setsScene(s.tokens):
			return r.once() // what follows is a text to work on or a part to play
		case s.paragraph == foreign:
			continue
		case r.closes(s.tokens):
			return nil
		case denies(s.tokens):
			r.found = r.found[:before]
		}
		before = len(r.found)
		own := r.ownPart(s.tokens)
		if own < len(s.tokens) {
			foreign, s.tokens, s.question = s.paragraph, s.tokens[:own], false
			if distantAt(s.tokens) < own {
				return r.once() // "Bob wrote on Tuesday:"
			}
		}
		if !sarcastic(s.tokens) {
			r.sentence(s)
		}
	}
	return r.once()
}

// speaks reports whether a name is the speaker's.
func (r *reader) speaks(name string) bool {
	who, ok := r.names[memory.FoldName(name)]
	return ok && who == r.m.Speaks
}

func withoutCapitals(list []sentence) bool {
	for _, s := range list {
		for _, t := range s.tokens {
			if t.capital {
				return false
			}
		}
	}
	return true
}

// once drops what is said again with nothing about the same fact in between:
// it is one statement. "Oslo. No, Rome. No, Oslo" are three.
func (r *reader) once() []extract.Candidate {
	last := map[string]extract.Candidate{} // by fact key
	return slices.DeleteFunc(r.found, func(c extract.Candidate) bool {
		_, id, _ := r.e.reg.Value(c.Predicate, c.Value)
		key, ok := r.e.reg.Key(c.Subject.Type, "@"+c.Subject.Name, c.Predicate, id) // the user's name is ""
		was, again := last[key]
		last[key] = c
		return ok && again && was.Value == c.Value && was.Polarity == c.Polarity && was.Stated == c.Stated && was.Past == c.Past
	})
}

// quote is the stretch of the message from token a up to token b.
func (r *reader) quote(ts []token, a, b int) (string, int) {
	start, end := ts[a].start, ts[b-1].end
	return r.m.Content[start:end], start
}

// text is the content of the tokens [a, b).
func (r *reader) text(ts []token, a, b int) string {
	if a >= b {
		return ""
	}
	return strings.TrimSpace(r.m.Content[ts[a].start:ts[b-1].end])
}
