package meminfra

import (
	"slices"
	"strconv"
	"strings"

	"github.com/meminfra/memory-layer/meminfra/extract"
	"github.com/meminfra/memory-layer/meminfra/memory"
	"github.com/meminfra/memory-layer/meminfra/recall"
)

// claim is a candidate that was checked: its quote found, its words canonical,
// its authority taken from who said it.
type claim struct {
	item     memory.Item       // all but what reconciling gives it
	evidence memory.Evidence   // likewise
	parts    []memory.Evidence // what else is needed to state it; none if evidence does
	episode  *memory.Episode
	decision string // id of the decision about it
	// operation is what brought the claim: add or edit.
	operation string
	candidate int  // place in the extractor's output
	managed   bool // the manager was asked about it
}

// statementID names a piece of evidence: the words of a message that it quotes.
func statementID(e *memory.Evidence, valueID string) string {
	var b strings.Builder
	b.Grow(len(e.EpisodeID) + len(valueID) + 24)
	b.WriteString(e.EpisodeID)
	for _, n := range []int{e.Start, e.End, int(e.Polarity)} {
		b.WriteByte(':')
		b.WriteString(strconv.Itoa(n))
	}
	b.WriteByte(':')
	b.WriteString(valueID)
	return b.String()
}

// testimony is the claim's witness.
func (c *claim) testimony() testimony { return compose(c.evidence, c.parts) }

// statement reads the claim's statement off its evidence.
func (c *claim) statement() memory.Statement {
	w := c.testimony()
	return memory.Statement{
		ID:             w.id(c.item.ValueID),
		ValueID:        c.item.ValueID,
		Polarity:       c.evidence.Polarity,
		Authority:      w.authority(),
		Valid:          c.evidence.Stated,
		SentAt:         c.episode.SentAt,
		ConversationID: c.episode.ConversationID,
		Position:       position(c.episode.Seq, c.evidence.Start),
	}
}

// position orders statements by message and then by place in it; a message is
// shorter than 2^21 bytes.
func position(seq int64, start int) int64 { return seq<<21 | int64(start) }

// check turns the extractor's candidates into claims, in order, and rejects
// those that do not hold. One bad candidate is rejected alone.
func (a *addition) check(found extract.Output, waiting map[string]*memory.Episode) []claim {
	claims := make([]claim, 0, len(found.Candidates))
	for i := range found.Candidates {
		c := &found.Candidates[i]
		episode := waiting[c.EpisodeID]
		if episode == nil && a.isTarget(c.EpisodeID) {
			continue // another call has finished this message meanwhile
		}
		cl, reason := a.claim(c, episode)
		if reason != "" {
			r := Rejection{EpisodeID: c.EpisodeID, Predicate: c.Predicate, Reason: reason}
			if episode != nil {
				r.MessageID = episode.MessageID
			}
			a.result.Rejections = append(a.result.Rejections, r)
			continue
		}
		cl.candidate = i
		claims = append(claims, cl)
	}
	return claims
}

func (a *addition) isTarget(episodeID string) bool {
	for i := range a.target {
		if a.target[i].ID == episodeID {
			return true
		}
	}
	return false
}

// claim checks one candidate; reason is "" if it stands.
func (a *addition) claim(c *extract.Candidate, episode *memory.Episode) (_ claim, reason string) {
	if episode == nil {
		return claim{}, "quotes_no_target_message"
	}
	start, end, reason := a.quote(c, episode)
	if reason != "" {
		return claim{}, reason
	}
	if a.isRecalled(c, episode, start, end) {
		return claim{}, reasonRecalled
	}
	if c.Polarity != memory.Positive && c.Polarity != memory.Negative {
		return claim{}, "no_polarity"
	}
	item, reason := a.item(c, episode)
	if reason != "" {
		return claim{}, reason
	}
	item.Stated = stated(c, episode)
	if item.Stated.Empty() {
		return claim{}, "ends_before_it_begins"
	}
	cl := claim{item: item, episode: episode, operation: "add", evidence: a.evidence(c, episode, start, end)}
	if cl.parts, reason = a.needed(c, &cl); reason != "" {
		return claim{}, reason
	}
	if a.saysNothing(c, &cl) {
		return claim{}, "quote_says_nothing"
	}
	cl.item.Authority = cl.testimony().authority()
	cl.item.TextKey = textKey(cl.item)
	cl.item.Origins = a.origins(&cl)
	if a.shared() && a.isPreference(&cl.item, cl.evidence.Quote) {
		return claim{}, reasonPreference
	}
	return cl, ""
}

// saysNothing reports a claim none of whose quotes states anything by itself.
func (a *addition) saysNothing(c *extract.Candidate, cl *claim) bool {
	for _, e := range append([]memory.Evidence{cl.evidence}, cl.parts...) {
		said := a.heard(e.EpisodeID)
		if said == nil || !extract.SaysNothing(said.Content, e.Start, e.End, c.Text, c.Value) {
			return false
		}
	}
	return true
}

// evidence is a stretch of an episode that supports a candidate.
func (a *addition) evidence(c *extract.Candidate, episode *memory.Episode, start, end int) memory.Evidence {
	return memory.Evidence{
		Partition: episode.Partition,
		EpisodeID: episode.ID,
		Quote:     episode.Content[start:end],
		Start:     start,
		End:       end,
		Full:      true,
		Polarity:  c.Polarity,
		Authority: episode.Role.Authority(),
		Stated:    stated(c, episode),
		Salt:      newSalt(),
	}
}

// needed verifies what else a candidate needs beside its quote: words of this
// call's messages or of those just before them.
func (a *addition) needed(c *extract.Candidate, cl *claim) (parts []memory.Evidence, reason string) {
	for _, p := range c.Needs {
		episode := a.heard(p.EpisodeID)
		if episode == nil {
			return nil, "needs_unknown_message"
		}
		start, end, reason := a.quote(&extract.Candidate{Quote: p.Quote, Value: c.Value, Start: p.Start}, episode)
		if reason != "" {
			return nil, "needed_" + reason
		}
		e := a.evidence(c, episode, start, end)
		e.Stated = cl.evidence.Stated
		same := func(old memory.Evidence) bool { return statementID(&old, "") == statementID(&e, "") }
		if !same(cl.evidence) && !slices.ContainsFunc(parts, same) {
			parts = append(parts, e)
		}
	}
	return parts, ""
}

// heard finds an episode of this call or just before it.
func (a *addition) heard(id string) *memory.Episode {
	for _, list := range [][]memory.Episode{a.target, a.context} {
		for i := range list {
			if list[i].ID == id {
				return &list[i]
			}
		}
	}
	return nil
}

// quote verifies a candidate's quote in the message that it cites.
func (a *addition) quote(c *extract.Candidate, episode *memory.Episode) (start, end int, reason string) {
	source := a.sources[episode.ID]
	if source == nil {
		source = extract.NewSource(recall.Mask(episode.Content))
		a.sources[episode.ID] = source
	}
	start, end, fault := source.Find(c.Quote, c.Value, c.Start)
	if fault != "" && a.isInBlock(c, episode) {
		fault = reasonRecalled
	}
	if fault == extract.QuoteNotFound && a.isElsewhere(c.Quote, episode.ID) {
		fault = extract.QuoteElsewhere
	}
	return start, end, string(fault)
}

// isElsewhere reports that another message of the call says the very words.
func (a *addition) isElsewhere(quote, episodeID string) bool {
	if memory.IsBlank(quote) {
		return false
	}
	for _, list := range [][]memory.Episode{a.target, a.context} {
		for i := range list {
			if list[i].ID != episodeID && strings.Contains(list[i].Content, quote) {
				return true
			}
		}
	}
	return false
}

// itemText is how a candidate reads as an item: by itself, else as quoted. What
// rests on somebody else's word than the user's names who said it.
func (a *addition) itemText(c *extract.Candidate) string {
	text := memory.CleanText(c.Text)
	if memory.IsBlank(text) {
		text = c.Quote
	}
	return extract.Attributed(a.voices(c), text)
}

// voices names those of the messages that a candidate needs who have the least
// authority; none if that is the user.
func (a *addition) voices(c *extract.Candidate) []string {
	var list []string
	weakest := memory.Authorized
	hear := func(id string) {
		e := a.heard(id)
		if e == nil || e.Role.Authority() > weakest {
			return
		}
		if e.Role.Authority() < weakest {
			weakest, list = e.Role.Authority(), nil
		}
		if v := extract.Voice(e.Role, e.Source); v != "" && !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	hear(c.EpisodeID)
	for i := range c.Needs {
		hear(c.Needs[i].EpisodeID)
	}
	return list
}

// bareText is what an item says, without whose word it is.
func bareText(item memory.Item) string { return extract.BareText(item) }

// textKey is the identity of what an item says, whoever says it.
func textKey(item memory.Item) string { return extract.TextKey(item) }

// item makes the item that a candidate would become, its words canonical.
func (a *addition) item(c *extract.Candidate, episode *memory.Episode) (_ memory.Item, reason string) {
	subject := memory.Subject{Type: c.Subject.Type, Name: memory.FoldName(c.Subject.Name)}
	if subject.Type == "" {
		return memory.Item{}, "no_subject"
	}
	if a.shared() && subject == memory.UserSubject {
		subject.Name = a.req.UserID // among others, "the user" is nobody
	}
	text := a.itemText(c)
	item := memory.Item{
		Partition:  episode.Partition,
		Kind:       c.Kind,
		Text:       text,
		Subject:    subject,
		Predicate:  c.Predicate,
		Value:      memory.CleanText(c.Value),
		Polarity:   c.Polarity,
		Authority:  episode.Role.Authority(),
		Scope:      a.itemScope(episode.AgentID),
		Vague:      c.Vague,
		Importance: c.Importance,
		Confidence: c.Confidence,
		Metadata:   episode.Metadata,
		ExpiresAt:  episode.ExpiresAt,
		Salt:       newSalt(),
	}
	if len(item.Predicate) > memory.MaxFieldBytes || len(item.Value) > memory.MaxFieldBytes ||
		len(subject.Name) > memory.MaxFieldBytes || len(item.Text) > max(memory.MaxTextBytes, len(c.Quote)) {
		return memory.Item{}, "too_long"
	}
	return item, a.canonicalise(&item)
}

// canonicalise gives the item its canonical predicate, value and fact key. An
// unknown predicate stays open memory with its label and value; a known one
// without a value is no statement.
func (a *addition) canonicalise(item *memory.Item) (reason string) {
	p, known := a.registry.Lookup(item.Predicate)
	if !known {
		item.ValueID = memory.FoldName(item.Value)
		item.Kind = kindOr(item.Kind, memory.KindFact)
		return ""
	}
	item.Predicate = p.Name
	item.Kind = kindOr(item.Kind, memory.Kind(p.Kind))
	shown, id, ok := a.registry.Value(p.Name, item.Value)
	if !ok {
		return "no_value"
	}
	item.Value, item.ValueID = shown, id
	item.FactKey, _ = a.registry.Key(item.Subject.Type, subjectName(item.Subject, a.req.UserID), p.Name, id)
	return ""
}

// subjectName is what a subject is called in a fact key: the user by his id.
func subjectName(s memory.Subject, userID string) string {
	if s == memory.UserSubject {
		return userID
	}
	return s.Name
}

func kindOr(k, other memory.Kind) memory.Kind {
	if k == "" {
		return other
	}
	return k
}

// stated is the interval that a candidate states. The present tense starts when
// it was said; an undated past ended then and its start is unknown.
func stated(c *extract.Candidate, episode *memory.Episode) memory.Validity {
	v := memory.Validity{From: memory.Time(c.Stated.From), To: memory.Time(c.Stated.To)}
	switch {
	case c.Past && v.To.IsZero():
		v.To = episode.SentAt
	case v.From.IsZero() && !c.Past:
		v.From = episode.SentAt
	}
	return v
}
