package model

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/predicates"
)

// reading turns the proposals of all windows into candidates.
type reading struct {
	reg      *predicates.Registry
	in       *extract.Input
	found    []found
	rejected []extract.Rejection
	count    int                       // proposals seen
	windows  int                       // read
	unread   map[string]extract.Unread // by episode
	inARow   int                       // messages that could not be read, since one could
	last     error                     // why the last of them could not
}

// found is a candidate and where it comes from.
type found struct {
	extract.Candidate
	window, message int // by their place
}

// skip notes that the messages of a window were not read. What was asked about
// in vain outweighs what was not asked.
func (r *reading) skip(w *window, u extract.Unread) {
	for i := range w.segments {
		u.EpisodeID = w.segments[i].message.Episode.ID
		if old, known := r.unread[u.EpisodeID]; !known || old.Untried {
			r.unread[u.EpisodeID] = u
		}
	}
	if !u.Untried {
		r.inARow++
		r.last = u.Err
	}
}

// take reads the proposals of one window.
func (r *reading) take(w *window, list []proposalJSON) {
	r.inARow = 0
	for _, raw := range list {
		p, reason := readProposal(raw)
		s := w.find(p.Message)
		var c extract.Candidate
		switch {
		case reason != "":
		case s == nil:
			reason = "unknown_message"
		default:
			c, reason = r.candidate(&p, s)
			if reason == "" {
				reason = w.needed(&c, p.Needs)
			}
		}
		if reason != "" {
			r.reject(s, p.Predicate, reason)
		} else if f := (found{c, r.windows, r.place(s)}); !r.isRepeated(&f, s) {
			r.found = append(r.found, f)
		}
		r.count++
	}
	r.windows++
}

// reject records a refusal. A predicate that is none of the vocabulary could be
// any text, and is left out.
func (r *reading) reject(s *segment, predicate, reason string) {
	x := extract.Rejection{Candidate: r.count, Reason: reason}
	if name, ok := r.reg.Canonical(predicate); ok {
		x.Predicate = name
	}
	if s != nil {
		x.EpisodeID, x.MessageID = s.message.Episode.ID, s.message.MessageID
	}
	r.rejected = append(r.rejected, x)
}

func (r *reading) place(s *segment) int {
	for i := range r.in.Target {
		if &r.in.Target[i] == s.message {
			return i
		}
	}
	return len(r.in.Target)
}

// candidate checks one proposal; reason is "" if it stands.
func (r *reading) candidate(p *proposal, s *segment) (c extract.Candidate, reason string) {
	c = extract.Candidate{
		Kind: memory.Kind(p.Kind), Text: strings.TrimSpace(p.Text), Predicate: strings.TrimSpace(p.Predicate),
		Value: strings.TrimSpace(string(p.Value)), Polarity: memory.Positive, Confidence: 0.5, Importance: 0.5,
		EpisodeID: s.message.Episode.ID, Quote: p.Quote, Start: -1,
	}
	if reason := checkWords(p); reason != "" {
		return c, reason
	}
	if p.Polarity == "negative" {
		c.Polarity = memory.Negative
	}
	for _, n := range []struct{ from, to *float64 }{{p.Confidence, &c.Confidence}, {p.Importance, &c.Importance}} {
		if n.from == nil {
			continue
		}
		if *n.from < 0 || *n.from > 1 {
			return c, "out_of_range"
		}
		*n.to = *n.from
	}
	if start, _, ok := extract.FindQuote(s.text(), p.Quote, -1); ok {
		c.Start = s.start + start
	}
	if c.Subject, reason = r.subject(p, s); reason != "" {
		return c, reason
	}
	if reason := r.time(&c, p, s); reason != "" {
		return c, reason
	}
	r.settleKind(&c, s)
	return c, ""
}

// needed adds the further quotes that a candidate rests on, of messages of the
// window. What a tool or a document must complete is nobody's preference.
func (w *window) needed(c *extract.Candidate, list []need) (reason string) {
	for _, n := range list {
		s := w.find(n.Message)
		switch {
		case s == nil:
			return "needs_unknown_message"
		case memory.IsBlank(n.Quote):
			return "needed_no_quote"
		}
		part := extract.Part{EpisodeID: s.message.Episode.ID, Quote: n.Quote, Start: -1}
		if start, _, ok := extract.FindQuote(s.text(), n.Quote, -1); ok {
			part.Start = s.start + start
		}
		c.Needs = append(c.Needs, part)
		if s.message.Role.Authority() == memory.Unendorsed && c.Kind != memory.KindEvent && c.Kind != memory.KindExperience {
			c.Kind = memory.KindFact
		}
	}
	return ""
}

// checkWords checks the members that are one of a few words, and those that
// must say something.
func checkWords(p *proposal) string {
	switch memory.Kind(p.Kind) {
	case memory.KindFact, memory.KindPreference, memory.KindEvent, memory.KindExperience:
	default:
		return "unknown_kind"
	}
	switch {
	case p.Polarity != "positive" && p.Polarity != "negative" && p.Polarity != "":
		return "unknown_polarity"
	case memory.IsBlank(p.Text):
		return "no_text"
	case memory.IsBlank(p.Quote):
		return "no_quote"
	}
	return ""
}

// settleKind takes the kind from the vocabulary where it has one. What a tool or
// a document says is never anybody's preference.
func (r *reading) settleKind(c *extract.Candidate, s *segment) {
	if _, known := r.reg.Lookup(c.Predicate); known {
		c.Kind = ""
	}
	if s.message.Role.Authority() == memory.Unendorsed {
		if c.Kind != memory.KindEvent && c.Kind != memory.KindExperience {
			c.Kind = memory.KindFact
		}
	}
}

// subject says whom a proposal is about. "speaker" is whoever wrote the message,
// which the message tells and not the model.
func (r *reading) subject(p *proposal, s *segment) (memory.Subject, string) {
	subject := memory.Subject{Type: p.SubjectType, Name: memory.FoldName(p.SubjectName)}
	switch p.SubjectType {
	case "speaker":
		if s.message.Speaks.Type == "" {
			return subject, "no_speaker" // an assistant, a tool, a document is no subject
		}
		return s.message.Speaks, ""
	case "user":
		subject = memory.UserSubject
	case "person":
		if r.isUser(subject.Name) {
			subject = memory.UserSubject
		}
	case "project", "organisation", "pet":
	default:
		return subject, "unknown_subject_type"
	}
	switch {
	case subject == memory.UserSubject && r.saidOfThemselves(p, s):
		return subject, "other_speaker"
	case subject != memory.UserSubject && subject.Name == "":
		return subject, "no_subject_name"
	}
	return subject, ""
}

func (r *reading) isUser(name string) bool {
	return name != "" && (name == memory.FoldName(r.in.UserName) || name == memory.FoldName(r.in.UserID) || name == "user" || name == "the user")
}

var firstPerson = map[string]bool{"i": true, "i'm": true, "i've": true, "i'd": true, "i'll": true, "my": true, "me": true,
	"mine": true, "myself": true}

// saidOfThemselves reports that somebody else than the user says it in the first
// person, without the user's name: then it is not about the user, whatever the
// model says. English only. Source: case A03.
func (r *reading) saidOfThemselves(p *proposal, s *segment) bool {
	if s.message.Role != memory.RoleUser || s.message.Speaks == memory.UserSubject {
		return false
	}
	own := false
	name := memory.FoldName(r.in.UserName)
	for _, w := range strings.FieldsFunc(strings.ReplaceAll(memory.FoldName(p.Quote), "’", "'"), func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '\''
	}) {
		if name != "" && strings.TrimSuffix(w, "'s") == name {
			return false
		}
		own = own || firstPerson[w]
	}
	return own
}

// isRepeated reports a candidate of the stretch that two windows showed, which
// the earlier one gave already. Two of one window are two memories, unless they
// are the same in all.
func (r *reading) isRepeated(f *found, s *segment) bool {
	for i := range r.found {
		old := &r.found[i]
		if old.EpisodeID != f.EpisodeID || old.Subject != f.Subject || old.Polarity != f.Polarity ||
			old.Predicate != f.Predicate || memory.FoldName(old.Value) != memory.FoldName(f.Value) {
			continue
		}
		same := memory.NormalText(old.Quote) == memory.NormalText(f.Quote)
		if old.window == f.window {
			if same && memory.NormalText(old.Text) == memory.NormalText(f.Text) {
				return true
			}
			continue
		}
		if s.parts > 1 && (same || overlap(&old.Candidate, &f.Candidate)) {
			return true
		}
	}
	return false
}

// overlap reports that the quotes share a stretch of the message.
func overlap(a, b *extract.Candidate) bool {
	return a.Start >= 0 && b.Start >= 0 && a.Start < b.Start+len(b.Quote) && b.Start < a.Start+len(a.Quote)
}

// finish returns the candidates in message order, then by their place in it. Of
// a message that was not read whole nothing is taken.
func (r *reading) finish() ([]extract.Candidate, []extract.Rejection, []extract.Unread) {
	slices.SortStableFunc(r.found, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.message, b.message), cmp.Compare(a.Start, b.Start))
	})
	isUnread := func(episode string) bool { _, ok := r.unread[episode]; return ok }
	var list []extract.Candidate
	for i := range r.found {
		if c := &r.found[i].Candidate; !isUnread(c.EpisodeID) {
			list = append(list, *c)
		}
	}
	r.rejected = slices.DeleteFunc(r.rejected, func(x extract.Rejection) bool { return isUnread(x.EpisodeID) })
	var unread []extract.Unread
	for i := range r.in.Target {
		if u, ok := r.unread[r.in.Target[i].Episode.ID]; ok {
			unread = append(unread, u)
		}
	}
	return list, r.rejected, unread
}
